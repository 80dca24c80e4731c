//! Settings of any value: loaded, or refused with an error; never a panic.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;

use informer_kubeconfig::secrecy::ExposeSecret as _;
use informer_kubeconfig::{
    Cluster, Config, ConfigLoader, Environment, ExecConfig, ExecPolicy, ExecVersion,
    InteractiveMode, Kubeconfig, PemSource,
};
use proptest::prelude::*;
use serde_json::Value;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-zA-Z0-9.:/=-]{0,12}", 1 => "(?s).{0,12}"]
}

fn path() -> impl Strategy<Value = PathBuf> {
    // Nothing of this machine.
    text().prop_map(|text| PathBuf::from("/nowhere").join(text.trim_start_matches(['/', '.'])))
}

proptest! {
    #[test]
    fn environment_of_any_text_is_loaded_or_refused(
        kubeconfig in prop::option::of(text()),
        home in prop::option::of(path()),
        host in prop::option::of(text()),
        port in prop::option::of(text()),
        namespace in prop::option::of(text()),
        directory in path(),
        file in prop::option::of(path()),
        context in prop::option::of(text()),
        inline: bool,
    ) {
        let mut environment = Environment::default();
        environment.kubeconfig = kubeconfig.map(|text| format!("/nowhere/{text}").into());
        environment.home = home;
        environment.service_host = host;
        environment.service_port = port;
        environment.pod_namespace = namespace;
        environment.service_account_dir = directory;
        let mut loader = ConfigLoader::new().environment(environment).inline_only(inline);
        if let Some(file) = file {
            loader = loader.kubeconfig(file);
        }
        if let Some(context) = context {
            loader = loader.context(context);
        }
        let error = loader.load().expect_err("there is no file");
        prop_assert!(!error.to_string().is_empty());
        let _ = loader.load_kubeconfig();
    }

    #[test]
    fn program_of_any_text_is_described_and_found_or_refused(
        command in text(),
        args in prop::collection::vec(text(), 0..4),
        env in prop::collection::vec((text(), text()), 0..4),
        hint in "(?s).{0,2000}",
        server in text(),
        authority in prop::option::of(text()),
        allowed in prop::collection::vec(text(), 0..3),
        interactive: bool,
        output in text(),
    ) {
        let exec = env.into_iter().fold(
            ExecConfig::new(ExecVersion::V1, command.clone()).args(args),
            |exec, (name, value)| exec.env(name, value),
        );
        let exec = exec.install_hint(&hint).interactive_mode(InteractiveMode::IfAvailable)
            .provide_cluster_info(true);
        prop_assert!(exec.hint().chars().count() <= 1_001);
        prop_assert!(!exec.hint().chars().any(char::is_control));
        let cluster = Cluster::new(&server).or_else(|_| Cluster::new("https://h")).unwrap();
        let cluster = match authority {
            Some(text) => cluster.certificate_authority(PemSource::inline(text)),
            None => cluster,
        };
        let info = exec.info(&cluster, interactive).unwrap();
        let info: Value = serde_json::from_str(info.expose_secret()).unwrap();
        prop_assert_eq!(&info["kind"], "ExecCredential");
        prop_assert_eq!(exec.command(), command);
        let _ = ExecPolicy::allow(allowed).program(&exec);
        prop_assert!(exec.credential(output.as_bytes()).is_err());
    }

    #[test]
    fn context_of_any_name_is_found_or_refused(name in "[ -~]{1,12}", other in text(), namespace in text()) {
        let name_text = serde_json::to_string(&name).unwrap();
        let yaml = format!(
            "contexts: [{{name: {name_text}, context: {{cluster: k}}}}]\n\
             clusters: [{{name: k, cluster: {{server: 'https://h'}}}}]\n"
        );
        let kubeconfig = Kubeconfig::from_yaml(&yaml, "f").unwrap();
        let config = kubeconfig.config(Some(&name));
        prop_assert_eq!(config.is_ok(), true, "{:?}", config);
        prop_assert_eq!(kubeconfig.config(Some(&other)).is_ok(), other == name);
        let config: Config = config.unwrap().namespace(namespace.clone());
        prop_assert_eq!(config.namespace, namespace);
    }
}
