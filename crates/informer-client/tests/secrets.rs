//! A known secret in every place, and in no output: Debug, errors, logs of every level.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/tls.rs"]
mod certificates;
mod support;

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::io;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use certificates::{Authority, Seen};
use informer_client::http::Method;
use informer_client::{Api, AuthInfo, Client, Cluster, Config, ExecPolicy};
use informer_kubeconfig::{ExecConfig, ExecVersion, InteractiveMode, PemSource};
use informer_wire::{Resource, Scope};
use serde_json::{Value, json};
use support::{Reply, Server};

const CANARY: &str = "C4N4RY";

/// Everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn check(what: &str, text: &str) {
    let encoded = [CANARY, "me:C4N4RY"]
        .map(|secret| base64::engine::general_purpose::STANDARD.encode(secret));
    for secret in [CANARY, &encoded[0], &encoded[1]] {
        assert!(!text.contains(secret), "{what} shows a secret: {text}");
    }
}

fn check_error(error: &dyn StdError) {
    let mut text = format!("{error} {error:?}");
    let mut next = error.source();
    while let Some(error) = next {
        write!(text, " {error} {error:?}").unwrap();
        next = error.source();
    }
    check("an error", &text);
}

/// INV-CLIENT-3, with the secret in play.
#[tokio::test]
async fn output_shows_no_secret() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .init();

    let authority = Authority::new();
    let own = authority.issue(&["127.0.0.1"]);
    let me = authority.issue(&["me"]);
    let key_line = me.key_pem.lines().nth(1).unwrap().to_owned();
    let config = own.server_that_asks(Some(Seen::new()));
    let server = Server::start_tls(config, |request| {
        match request.target.rsplit('/').next().unwrap() {
            "ok" => Reply::json(r#"{"data":"C4N4RY"}"#),
            "wrong" => Reply::json(r#"{"data":"C4N4RY"#),
            "refused" => Reply::new("401 Unauthorized", "Warning: 299 - \"careful\"\r\n", "no"),
            _ => Reply::raw("garbage"),
        }
    })
    .await;
    let cluster = Cluster::new(&format!("https://{}", server.address))
        .unwrap()
        .certificate_authority(PemSource::inline(authority.pem()));
    let identity = AuthInfo::default().client_certificate(
        PemSource::inline(me.certificate_pem),
        PemSource::inline(me.key_pem),
    );
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("token");
    std::fs::write(&file, CANARY).unwrap();
    for auth in [
        identity.clone().token(CANARY),
        identity.clone().token_file(&file),
        identity.clone().basic("me", CANARY),
    ] {
        let client = Client::new(Config::new(cluster.clone()).auth(auth)).unwrap();
        check("Debug", &format!("{client:?}"));
        let secrets = Resource::core("v1", "Secret", "secrets", Scope::Namespaced);
        let api = Api::<Value>::new(client.clone(), secrets).in_namespace("n");
        check(
            "Debug",
            &format!("{api:?} {:?}", client.request(Method::GET, "/x")),
        );
        assert_eq!(api.get("ok").await.unwrap()["data"], CANARY);
        let answer = client.request(Method::GET, "/ok").send().await.unwrap();
        check("Debug", &format!("{answer:?}"));
        for name in ["wrong", "refused", "broken"] {
            check_error(&api.get(name).await.unwrap_err());
        }
        api.create(&json!({"data": CANARY})).await.unwrap_err();
    }
    // The typed reader meets a secret where it wants a number.
    let secrets = Resource::core("v1", "Secret", "secrets", Scope::Namespaced);
    let client = Client::new(Config::new(cluster.clone()).auth(identity.clone())).unwrap();
    #[derive(Debug, serde::Deserialize)]
    struct Wrong {
        #[expect(dead_code, reason = "never read well")]
        data: u32,
    }
    let api = Api::<Wrong>::new(client, secrets).in_namespace("n");
    check_error(&api.get("ok").await.unwrap_err());
    // Configurations that cannot work.
    for auth in [
        AuthInfo::default().token(format!("{CANARY}\nx")),
        AuthInfo::default().basic("me\n", format!("{CANARY}\n")),
        AuthInfo::default()
            .client_certificate(PemSource::inline(CANARY), PemSource::inline(CANARY)),
    ] {
        if let Err(error) = Client::new(Config::new(cluster.clone()).auth(auth)) {
            check_error(&error);
        }
    }
    let anyone = Server::start_tls(own.server(), |_| {
        Reply::new("401 Unauthorized", "Warning: 299 - \"careful\"\r\n", "no")
    })
    .await;
    let open = Cluster::new(&format!("https://{}", anyone.address))
        .unwrap()
        .certificate_authority(PemSource::inline(authority.pem()));
    // Programs: what they are given, what they print, and how they fail.
    for script in [
        format!(
            r#"printf '{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{{"token":"{CANARY}"}}}}'"#
        ),
        format!("echo {CANARY}"),
        "exit 1".to_owned(),
    ] {
        let exec = ExecConfig::new(ExecVersion::V1, "sh")
            .args(["-c", &script, CANARY])
            .env("SECRET", CANARY)
            .interactive_mode(InteractiveMode::Never)
            .cluster_config(json!({ "secret": CANARY }))
            .provide_cluster_info(true);
        let config = Config::new(open.clone()).auth(AuthInfo::default().exec(exec));
        let builder = Client::builder(config).exec(ExecPolicy::AllowAll);
        check("Debug", &format!("{builder:?}"));
        let client = builder.build().unwrap();
        check("Debug", &format!("{client:?}"));
        match client.request(Method::GET, "/refused").send().await {
            Ok(answer) => check("Debug", &format!("{answer:?}")),
            Err(error) => check_error(&error),
        }
    }
    // A proxy that is not there, with a password.
    let proxied = cluster.proxy_url(format!("http://me:{CANARY}@127.0.0.1:1").parse().unwrap());
    let client = Client::new(Config::new(proxied).auth(identity.token(CANARY))).unwrap();
    check("Debug", &format!("{client:?}"));
    check_error(&client.request(Method::GET, "/ok").send().await.unwrap_err());

    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("careful"), "the log is captured: {logged}");
    check("the log", &logged);
    assert!(!logged.contains(&key_line), "the log shows a key");
    assert_eq!(logged.matches("careful").count(), 4, "once for each client");
}
