//! Programs that fetch credentials: their input and output.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, SystemTime};

use informer_kubeconfig::secrecy::ExposeSecret;
use informer_kubeconfig::{
    Cluster, Config, ExecConfig, ExecCredential, ExecError, ExecVersion, Kubeconfig, PemSource,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const KUBECONFIG: &str = "
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters:
- name: k
  cluster:
    server: https://api.example:6443
    tls-server-name: inner.example
    insecure-skip-tls-verify: true
    proxy-url: http://proxy.example:3128
    disable-compression: true
    extensions:
    - {name: other, extension: {no: matter}}
    - {name: client.authentication.k8s.io/exec, extension: {audience: abc, list: [1, true, null]}}
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./bin/get-token
      args: [--cluster, k]
      env:
      - {name: PROFILE, value: dev}
      - {name: EMPTY}
      interactiveMode: IfAvailable
      provideClusterInfo: true
      installHint: |
        brew install
        get-token
";

fn config() -> Config {
    Kubeconfig::from_yaml(KUBECONFIG, "/etc/kube/config")
        .unwrap()
        .config(None)
        .unwrap()
}

fn info(exec: &ExecConfig, cluster: &Cluster, interactive: bool) -> Value {
    serde_json::from_str(exec.info(cluster, interactive).unwrap().expose_secret()).unwrap()
}

#[test]
fn exec_entry_is_read_with_every_field() {
    let exec = config().auth.exec.unwrap();
    assert_eq!(exec.version(), ExecVersion::V1);
    // A path starts at the file's directory; a bare name would not.
    assert_eq!(exec.command(), "/etc/kube/./bin/get-token");
    let args: Vec<_> = exec
        .arguments()
        .iter()
        .map(|arg| arg.expose_secret())
        .collect();
    assert_eq!(args, ["--cluster", "k"]);
    let env: Vec<_> = exec
        .environment()
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose_secret()))
        .collect();
    assert_eq!(env, [("PROFILE", "dev"), ("EMPTY", "")]);
    assert_eq!(exec.hint().trim(), "brew install get-token");
    assert_eq!(exec.interactive(true), Some(true));
    assert_eq!(exec.interactive(false), Some(false));
    let always = KUBECONFIG.replace("IfAvailable", "Always");
    let always = Kubeconfig::from_yaml(&always, "f")
        .unwrap()
        .config(None)
        .unwrap();
    assert_eq!(always.auth.exec.unwrap().interactive(false), None);
}

#[test]
fn program_receives_cluster_only_if_requested() {
    let Config { cluster, auth, .. } = config();
    let exec = auth.exec.unwrap();
    let input = info(&exec, &cluster, true);
    assert_eq!(
        input,
        json!({
            "kind": "ExecCredential",
            "apiVersion": "client.authentication.k8s.io/v1",
            "spec": {
                "interactive": true,
                "cluster": {
                    "server": "https://api.example:6443",
                    "tls-server-name": "inner.example",
                    "insecure-skip-tls-verify": true,
                    "proxy-url": "http://proxy.example:3128/",
                    "disable-compression": true,
                    "config": {"audience": "abc", "list": [1, true, null]},
                },
            },
        })
    );
    let quiet = info(&exec.clone().provide_cluster_info(false), &cluster, false);
    assert_eq!(quiet["spec"], json!({ "interactive": false }));
    // The authority goes along as data, wherever it came from.
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("ca");
    std::fs::write(&file, "PEM").unwrap();
    let cluster = Cluster::new("https://h/prefix/").unwrap();
    let input = info(
        &exec,
        &cluster
            .clone()
            .certificate_authority(PemSource::file(&file)),
        false,
    );
    assert_eq!(
        input["spec"]["cluster"]["certificate-authority-data"],
        "UEVN"
    );
    assert_eq!(input["spec"]["cluster"]["server"], "https://h/prefix");
    let gone = cluster.certificate_authority(PemSource::file("/gone"));
    assert!(exec.info(&gone, false).is_err());
}

fn read(output: &str) -> Result<ExecCredential, ExecError> {
    ExecConfig::new(ExecVersion::V1, "c").credential(output.as_bytes())
}

fn printed(status: Value) -> String {
    json!({
        "kind": "ExecCredential",
        "apiVersion": "client.authentication.k8s.io/v1",
        "status": status,
    })
    .to_string()
}

#[test]
fn program_output_is_read_with_token_or_certificate() {
    let token = read(&printed(json!({
        "token": "t", "expirationTimestamp": "2026-01-02T03:04:05Z",
    })))
    .unwrap();
    assert_eq!(token.token.as_ref().unwrap().expose_secret(), "t");
    let end = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_323_045);
    assert_eq!(token.expires, Some(end));
    assert!(token.holds_at(end - Duration::from_secs(1)));
    assert!(!token.holds_at(end));

    let certificate = printed(json!({
        "token": "", "clientCertificateData": "CERT", "clientKeyData": "KEY",
    }));
    let certificate = read(&certificate).unwrap();
    assert!(certificate.token.is_none());
    let pair = certificate.client_certificate.as_ref().unwrap();
    assert_eq!(pair.certificate.read().unwrap().expose_secret(), b"CERT");
    assert_eq!(pair.key.read().unwrap().expose_secret(), b"KEY");
    assert!(certificate.holds_at(SystemTime::now()), "without an end");
}

#[test]
fn invalid_program_output_is_an_error_that_names_the_fault() {
    let large = " ".repeat(informer_kubeconfig::MAX_EXEC_OUTPUT + 1);
    for (output, words) in [
        ("token".to_owned(), "not an ExecCredential"),
        (large, "larger"),
        ("{}".to_owned(), "kind"),
        (printed(json!({})).replace("/v1", "/v1beta1"), "apiVersion"),
        (printed(Value::Null), "no status"),
        (printed(json!({})), "neither"),
        (printed(json!({"token": " "})), "neither"),
        (printed(json!({"clientKeyData": "K"})), "only one"),
        (
            printed(json!({"token": "t", "expirationTimestamp": "soon"})),
            "RFC 3339",
        ),
    ] {
        let error = read(&output).unwrap_err().to_string();
        assert!(error.contains(words), "{words:?} is not in {error}");
    }
}

proptest! {
    /// Whatever a program prints, reading it neither panics nor quotes it.
    #[test]
    fn no_output_makes_the_reader_panic(text in "\\PC{0,80}", at in 0..200_usize) {
        let whole = printed(json!({
            "token": "C4N4RY", "clientCertificateData": "C4N4RY", "clientKeyData": "C4N4RY",
            "expirationTimestamp": "2026-01-02T03:04:05Z",
        }));
        let at = at.min(whole.len());
        let damaged = format!("{}{text}{}", &whole[..at], &whole[at..]);
        for output in [text.as_str(), &damaged] {
            if let Err(error) = read(output) {
                let shown = format!("{error} {error:?}");
                prop_assert!(!shown.contains("C4N4RY"), "{}", shown);
            }
        }
    }
}
