//! What configures a client. A test of `informer-kubeconfig` includes this file.

use informer_kubeconfig::{Cluster, Config, ExecConfig, ExecVersion, Kubeconfig, Url};

/// A kubeconfig: each of its contexts, and the file merged with itself.
pub fn kubeconfig(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Some(kubeconfig) = checked(Kubeconfig::from_yaml(text, "/etc/kube/config")) else {
        return;
    };
    // What is fed here must not choose files of this machine.
    let kubeconfig = kubeconfig.inline_only(true);
    let merged = kubeconfig.clone().merge(kubeconfig.clone());
    assert_eq!(kubeconfig.current_context(), merged.current_context());
    let contexts: Vec<&str> = kubeconfig.contexts().collect();
    assert_eq!(contexts, merged.contexts().collect::<Vec<_>>());
    // A large file may have many contexts; the first few say it all.
    for context in contexts.into_iter().map(Some).take(8).chain([None]) {
        let config = kubeconfig.config(context);
        let again = merged.config(context);
        assert_eq!(
            config.as_ref().map(|config| format!("{config:?}")).ok(),
            again.as_ref().map(|config| format!("{config:?}")).ok()
        );
        if let Some(config) = checked(config) {
            used(&config);
        }
    }
}

/// What a program prints.
pub fn exec_credential(bytes: &[u8]) {
    for version in [ExecVersion::V1, ExecVersion::V1Beta1] {
        let program = ExecConfig::new(version, "get-token");
        let Some(credential) = checked(program.credential(bytes)) else {
            continue;
        };
        assert!(credential.token.is_some() || credential.client_certificate.is_some());
        let _ = format!("{credential:?}");
    }
}

/// The URL of a server.
pub fn server(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Some(cluster) = checked(Cluster::new(text)) {
        plain(&cluster.server);
        // What was read once reads as the same.
        let again = Cluster::new(cluster.server.as_str());
        assert_eq!(again.ok().map(|again| again.server), Some(cluster.server));
    }
}

/// What a client does with a configuration before it connects.
fn used(config: &Config) {
    plain(&config.cluster.server);
    assert!(!config.namespace.is_empty());
    let _ = format!("{config:?}");
    if let Some(program) = &config.auth.exec {
        let info = program.info(&config.cluster, false);
        assert!(info.is_ok(), "{info:?}");
    }
}

/// A server's URL says where, and nothing else.
fn plain(server: &Url) {
    assert!(matches!(server.scheme(), "http" | "https"));
    assert!(server.has_host());
    assert!(server.username().is_empty() && server.password().is_none());
    assert!(server.query().is_none() && server.fragment().is_none());
}

/// The value; an error says something.
fn checked<T, E: std::error::Error>(result: Result<T, E>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            assert!(!error.to_string().is_empty() && !format!("{error:?}").is_empty());
            None
        }
    }
}
