//! A known secret in every place that can hold one, and in no output.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::error::Error;
use std::fmt::Debug;
use std::fmt::Write as _;

use base64::Engine as _;
use informer_kubeconfig::{
    AuthInfo, Cluster, Config, ExecConfig, ExecVersion, Impersonate, Kubeconfig, PemSource, Url,
};

const CANARY: &str = "C4N4RY";

fn check(what: &str, text: &str) {
    let encoded = base64::engine::general_purpose::STANDARD.encode(CANARY);
    assert!(
        !text.contains(CANARY) && !text.contains(&encoded),
        "{what} shows a secret: {text}"
    );
}

fn check_debug(value: &impl Debug) {
    check("Debug", &format!("{value:?} {value:#?}"));
}

fn plugin() -> ExecConfig {
    ExecConfig::new(ExecVersion::V1, "get-token")
        .args([CANARY])
        .env("SECRET", CANARY)
        .cluster_config(serde_json::json!({ "secret": CANARY }))
}

/// What a plugin prints, with these members in its status.
fn printed(status: &str) -> Vec<u8> {
    format!(
        r#"{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{{{status}}}}}"#
    )
    .into_bytes()
}

/// INV-CLIENT-3: no secret in Debug output.
#[test]
fn debug_output_shows_no_secret() {
    let pem = || PemSource::inline(CANARY);
    let auth = AuthInfo::default()
        .token(CANARY)
        .basic("name", CANARY)
        .exec(plugin())
        .client_certificate(pem(), pem())
        .impersonate(Impersonate::user("other"));
    check_debug(&auth);
    check_debug(&plugin());
    let printed = plugin().credential(&printed(
        r#""token":"C4N4RY","clientCertificateData":"C4N4RY","clientKeyData":"C4N4RY""#,
    ));
    check_debug(&printed.unwrap());
    check_debug(&auth.basic);
    check_debug(&auth.client_certificate);
    check_debug(&pem());
    let proxy = Url::parse(&format!(
        "http://me:{CANARY}@proxy.example:3128/{CANARY}?{CANARY}"
    ));
    let cluster = Cluster::new("https://h").unwrap().proxy_url(proxy.unwrap());
    check_debug(&cluster);
    check_debug(&Config::new(cluster).auth(auth));
    let yaml = format!("users: [{{name: u, user: {{token: {CANARY}, password: {CANARY}}}}}]");
    check_debug(&Kubeconfig::from_yaml(&yaml, "f").unwrap());
}

/// INV-CLIENT-3: no secret in errors of plugins, whatever they print.
#[test]
fn errors_quote_no_program_output() {
    let outputs = [
        CANARY.into(),
        printed(&format!(r#""token":["{CANARY}"]"#)),
        printed(&format!(
            r#""token":"{CANARY}","expirationTimestamp":"{CANARY}""#
        )),
        printed(&format!(r#""token":"{CANARY}","clientKeyData":"{CANARY}""#)),
        printed(&format!(r#""{CANARY}":"{CANARY}""#)),
        format!(r#"{{"kind":"{CANARY}"}}"#).into(),
        format!(r#"{{"kind":"ExecCredential","apiVersion":"{CANARY}"}}"#).into(),
        printed("").into_iter().chain(CANARY.bytes()).collect(),
    ];
    for output in outputs {
        let error = plugin().credential(&output).unwrap_err();
        check("an error", &format!("{error} {error:?}"));
    }
}

/// INV-CLIENT-3: no secret in errors, whatever is wrong with the file.
#[test]
fn errors_quote_no_secret() {
    let data = base64::engine::general_purpose::STANDARD.encode(CANARY);
    let users = [
        format!("token: {CANARY}, username: x, password: {CANARY}"),
        format!("password: {CANARY}"),
        format!("token: [{CANARY}]"),
        format!("token: {{{CANARY}: {CANARY}}}"),
        format!("token: !!binary {CANARY}"),
        format!("token: *{CANARY}"),
        format!("token: \"{CANARY}\\q\""),
        format!("token: {CANARY}: {CANARY}"),
        format!("client-key-data: {data}"),
        format!("client-certificate-data: {CANARY}"),
        format!("client-certificate-data: {data}, client-key-data: {data}"),
        format!("auth-provider: {{name: oidc, config: {{refresh-token: {CANARY}}}}}"),
        format!("exec: {{command: c, env: [{{name: T, value: {CANARY}}}], args: [{CANARY}]}}"),
        format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1, command: c, args: [{CANARY}]}}"
        ),
        format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1beta1, command: c, env: [{{name: =, value: {CANARY}}}]}}"
        ),
        format!("as-user-extra: {CANARY}"),
        format!("as-groups: {CANARY}"),
        format!("tokenFile: [{CANARY}]"),
    ];
    let clusters = [
        format!("server: 'https://x:{CANARY}@h'"),
        format!("server: 'https://h', proxy-url: 'http://x:{CANARY}@:/'"),
        format!("server: 'https://h', proxy-url: 'ftp://x:{CANARY}@h'"),
        format!("server: 'https://h', certificate-authority-data: {data}"),
        format!("server: 'https://h', insecure-skip-tls-verify: {CANARY}"),
    ];
    let one = |cluster: &str, user: &str| {
        format!(
            "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
        )
    };
    let files = users
        .iter()
        .map(|user| one("server: 'https://h'", user))
        .chain(clusters.iter().map(|cluster| one(cluster, "")));
    for yaml in files {
        let error = Kubeconfig::from_yaml(&yaml, "f")
            .and_then(|kubeconfig| kubeconfig.config(None))
            .expect_err(&yaml);
        let mut text = format!("{error} {error:?}");
        let mut next = error.source();
        while let Some(error) = next {
            write!(text, " {error} {error:?}").unwrap();
            next = error.source();
        }
        check(&yaml, &text);
    }
}
