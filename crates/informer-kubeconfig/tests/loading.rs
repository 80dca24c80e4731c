//! Where a configuration is looked for, and how several kubeconfigs become one.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use informer_kubeconfig::{Config, ConfigError, ConfigLoader, Environment, Kubeconfig};
use proptest::prelude::*;

fn yaml(context: &str, server: &str) -> String {
    format!(
        "current-context: {context}\n\
         contexts: [{{name: {context}, context: {{cluster: k}}}}]\n\
         clusters: [{{name: k, cluster: {{server: 'https://{server}'}}}}]\n"
    )
}

fn host(config: &Config) -> &str {
    config.cluster.server.host_str().unwrap()
}

fn list(files: &[&Path]) -> Option<OsString> {
    Some(std::env::join_paths(files).unwrap())
}

#[test]
fn explicit_kubeconfig_is_read_alone_and_must_exist() {
    let root = tempfile::tempdir().unwrap();
    let (a, b) = (root.path().join("a"), root.path().join("b"));
    fs::write(&a, yaml("a", "a")).unwrap();
    fs::write(&b, yaml("b", "b")).unwrap();
    let mut environment = Environment::default();
    environment.kubeconfig = list(&[&b]);
    let loader = ConfigLoader::new().environment(environment);
    assert_eq!(host(&loader.clone().kubeconfig(&a).load().unwrap()), "a");
    let error = loader
        .clone()
        .kubeconfig(&a)
        .context("b")
        .load()
        .unwrap_err();
    assert!(
        matches!(error, ConfigError::UnknownContext { .. }),
        "{error}"
    );
    let error = loader
        .kubeconfig(root.path().join("gone"))
        .load()
        .unwrap_err();
    assert!(matches!(error, ConfigError::Read { .. }), "{error}");
}

/// INV-CLIENT-2: of two entries with one name the first file's counts, as a whole.
#[test]
fn kubeconfigs_of_the_variable_are_merged_and_missing_ones_skipped() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    fs::write(
        path("a"),
        yaml("a", "a").replace("current-context: a\n", ""),
    )
    .unwrap();
    fs::write(path("b"), yaml("b", "b")).unwrap();
    fs::write(path("c"), yaml("c", "c")).unwrap();
    let mut environment = Environment::default();
    let files = [
        &*path("gone"),
        Path::new(""),
        &*path("a"),
        &*path("b"),
        &*path("c"),
        &*path("a"),
    ];
    environment.kubeconfig = list(&files);
    environment.home = Some(path("home"));
    let loader = ConfigLoader::new().environment(environment.clone());
    // The current context is the first, b's; its cluster k is a's.
    assert_eq!(host(&loader.load().unwrap()), "a");
    let merged = loader.load_kubeconfig().unwrap().unwrap();
    assert_eq!(merged.current_context(), Some("b"));
    assert_eq!(merged.contexts().collect::<Vec<_>>(), ["a", "b", "c"]);

    fs::write(path("broken"), "contexts: [").unwrap();
    environment.kubeconfig = list(&[&*path("a"), &*path("broken")]);
    let error = ConfigLoader::new()
        .environment(environment)
        .load()
        .unwrap_err();
    assert!(matches!(error, ConfigError::Syntax { .. }), "{error}");
}

#[test]
fn home_directory_is_read_before_the_service_account() {
    let root = tempfile::tempdir().unwrap();
    let mut environment = Environment::default();
    environment.home = Some(root.path().to_owned());
    environment.service_account_dir = root.path().join("account");
    let load =
        |environment: &Environment| ConfigLoader::new().environment(environment.clone()).load();
    let error = load(&environment).unwrap_err();
    assert!(matches!(error, ConfigError::NotFound { .. }), "{error}");
    assert!(error.to_string().contains(".kube/config"), "{error}");

    pod(&environment.service_account_dir);
    environment.service_host = Some("10.0.0.1".into());
    environment.service_port = Some("443".into());
    assert_eq!(host(&load(&environment).unwrap()), "10.0.0.1");

    let kube = root.path().join(".kube");
    fs::create_dir(&kube).unwrap();
    // An empty file is like none.
    fs::write(kube.join("config"), "# nothing yet\n").unwrap();
    assert_eq!(host(&load(&environment).unwrap()), "10.0.0.1");
    fs::write(kube.join("config"), yaml("home", "home")).unwrap();
    assert_eq!(host(&load(&environment).unwrap()), "home");
    // A context that was asked for is never the pod's.
    fs::remove_file(kube.join("config")).unwrap();
    let asked = ConfigLoader::new()
        .environment(environment)
        .context("x")
        .load();
    assert!(matches!(asked, Err(ConfigError::NotFound { .. })));
}

fn pod(directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join("token"), "t0k3n\n").unwrap();
    fs::write(directory.join("ca.crt"), "-----BEGIN CERTIFICATE-----\n").unwrap();
    fs::write(directory.join("namespace"), "shop\n").unwrap();
}

#[test]
fn pod_configuration_is_its_service_account() {
    let root = tempfile::tempdir().unwrap();
    pod(root.path());
    let mut environment = Environment::default();
    environment.service_account_dir = root.path().to_owned();
    assert!(matches!(
        Config::in_cluster_from(&environment),
        Err(ConfigError::NotInCluster)
    ));
    environment.service_host = Some("fd00::1".into());
    environment.service_port = Some("6443".into());
    let config = Config::in_cluster_from(&environment).unwrap();
    assert_eq!(config.cluster.server.as_str(), "https://[fd00::1]:6443/");
    assert_eq!(config.namespace, "shop");
    assert_eq!(config.auth.token_file, Some(root.path().join("token")));
    assert_eq!(
        config
            .cluster
            .certificate_authority
            .as_ref()
            .unwrap()
            .path(),
        Some(&*root.path().join("ca.crt"))
    );

    environment.pod_namespace = Some("named".into());
    assert_eq!(
        Config::in_cluster_from(&environment).unwrap().namespace,
        "named"
    );
    environment.pod_namespace = None;
    fs::remove_file(root.path().join("namespace")).unwrap();
    assert_eq!(
        Config::in_cluster_from(&environment).unwrap().namespace,
        "default"
    );

    for bad in ["", "h/x", "a b", "u@h", "h?q"] {
        environment.service_host = Some(bad.into());
        let result = Config::in_cluster_from(&environment);
        assert!(
            matches!(result, Err(ConfigError::NotInCluster)),
            "{bad:?} {result:?}"
        );
    }
    environment.service_host = Some("h".into());
    fs::write(root.path().join("token"), " \n").unwrap();
    let error = Config::in_cluster_from(&environment).unwrap_err();
    assert!(error.to_string().contains("token"), "{error}");
}

/// A kubeconfig as a model: which file says what of which name.
#[derive(Debug, Clone)]
struct Model {
    current: Option<u8>,
    contexts: BTreeMap<u8, (u8, u16)>,
    clusters: BTreeMap<u8, u16>,
}

impl Model {
    fn yaml(&self) -> String {
        let current = self.current.map(|n| format!("c{n}")).unwrap_or_default();
        let mut yaml = format!("current-context: '{current}'\ncontexts:\n");
        for (name, (cluster, namespace)) in &self.contexts {
            yaml.push_str(&format!(
                "- {{name: c{name}, context: {{cluster: k{cluster}, namespace: n{namespace}}}}}\n"
            ));
        }
        yaml.push_str("clusters:\n");
        for (name, host) in &self.clusters {
            yaml.push_str(&format!(
                "- {{name: k{name}, cluster: {{server: 'https://h{host}'}}}}\n"
            ));
        }
        yaml
    }
}

fn model() -> impl Strategy<Value = Model> {
    let contexts = prop::collection::btree_map(0..4_u8, (0..4_u8, any::<u16>()), 0..4);
    let clusters = prop::collection::btree_map(0..4_u8, any::<u16>(), 0..4);
    (prop::option::of(0..4_u8), contexts, clusters).prop_map(|(current, contexts, clusters)| {
        Model {
            current,
            contexts,
            clusters,
        }
    })
}

proptest! {
    /// INV-CLIENT-2, against the plain rule: the first model that has the name.
    #[test]
    fn merging_takes_the_first_of_each_name(models in prop::collection::vec(model(), 1..4)) {
        let merged = models
            .iter()
            .enumerate()
            .map(|(n, model)| Kubeconfig::from_yaml(&model.yaml(), format!("f{n}")).unwrap())
            .reduce(Kubeconfig::merge)
            .unwrap();
        let context = models.iter().find_map(|model| model.current);
        let current = context.map(|n| format!("c{n}"));
        prop_assert_eq!(merged.current_context(), current.as_deref());
        for name in 0..4_u8 {
            let wanted = models.iter().find_map(|model| model.contexts.get(&name));
            let result = merged.config(Some(&format!("c{name}")));
            let Some((cluster, namespace)) = wanted else {
                prop_assert!(
                    matches!(result, Err(ConfigError::UnknownContext { .. })),
                    "{:?}", result
                );
                continue;
            };
            match models.iter().find_map(|model| model.clusters.get(cluster)) {
                Some(host) => {
                    let config = result.unwrap();
                    prop_assert_eq!(config.cluster.server.as_str(), format!("https://h{host}/"));
                    prop_assert_eq!(config.namespace, format!("n{namespace}"));
                }
                None => prop_assert!(
                    matches!(result, Err(ConfigError::Entry { .. })),
                    "{:?}", result
                ),
            }
        }
    }

    /// No text makes the loader panic, and no error shows a marked value.
    #[test]
    fn no_text_makes_the_loader_panic(text in "\\PC{0,200}") {
        let _ = Kubeconfig::from_yaml(&text, "f").and_then(|kubeconfig| kubeconfig.config(None));
    }

    /// Broken variants of a real file: cut anywhere, or with a character put in anywhere.
    #[test]
    fn a_damaged_file_is_an_error_or_a_config(
        at in 0..400_usize,
        put in "[\\[\\]{}:,&*!|>'\"%@`#\n\t -]{0,3}",
        cut in any::<bool>(),
    ) {
        let whole = yaml("c", "host") + "users: [{name: u, user: {token: C4N4RY, password: 'C4N4RY'}}]\n";
        let at = at.min(whole.len());
        let rest = if cut { "" } else { &whole[at..] };
        let text = format!("{}{put}{rest}", &whole[..at]);
        if let Err(error) = Kubeconfig::from_yaml(&text, "f").and_then(|k| k.config(None)) {
            prop_assert!(!format!("{error} {error:?}").contains("C4N4RY"), "{error} {error:?}");
        }
    }
}

#[test]
fn paths_are_made_absolute_when_loaded() {
    let root = tempfile::tempdir_in(".").unwrap();
    let relative = PathBuf::from(root.path().file_name().unwrap()).join("config");
    fs::write(root.path().join("ca"), "-----BEGIN CERTIFICATE-----\n").unwrap();
    let with_ca = yaml("a", "a").replace("'}}]", "', certificate-authority: ca}}]");
    fs::write(root.path().join("config"), with_ca).unwrap();
    let config = Kubeconfig::from_file(&relative)
        .unwrap()
        .config(None)
        .unwrap();
    assert!(
        config
            .cluster
            .certificate_authority
            .unwrap()
            .path()
            .unwrap()
            .is_absolute()
    );
}
