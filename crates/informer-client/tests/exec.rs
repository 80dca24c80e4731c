//! Programs that fetch credentials: when they run, their input, and how they fail.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/tls.rs"]
mod certificates;
mod support;

use std::error::Error as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use certificates::{Authority, Seen};
use informer_client::http::Method;
use informer_client::{
    AuthInfo, BuildError, Client, ClientBuilder, Cluster, Config, Error, ExecError, ExecPolicy,
};
use informer_kubeconfig::{ExecConfig, ExecVersion, InteractiveMode, PemSource};
use serde_json::Value;
use support::{PATIENCE, Reply, Server};
use tokio::io::AsyncReadExt as _;

/// A plugin that is a shell script. A byte is added to the file `runs` at each run.
fn plugin(directory: &Path, script: &str) -> ExecConfig {
    let count = format!("printf x >> '{}/runs'\n", directory.display());
    ExecConfig::new(ExecVersion::V1, "sh")
        .args(["-c", &format!("{count}{script}")])
        .interactive_mode(InteractiveMode::Never)
}

fn runs(directory: &Path) -> usize {
    fs::read(directory.join("runs")).map_or(0, |bytes| bytes.len())
}

/// A script that prints these members of a status.
fn printing(status: &str) -> String {
    format!(
        r#"printf '%s' '{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{{{status}}}}}'"#
    )
}

fn builder(server: &Server, exec: ExecConfig) -> ClientBuilder {
    let config = Config::anonymous(&server.url()).unwrap();
    Client::builder(config.auth(AuthInfo::default().exec(exec)))
        .credentials_on_loopback(true)
        .exec(ExecPolicy::AllowAll)
        .exec_timeout(PATIENCE)
}

async fn get(client: &Client) -> Result<u16, Error> {
    let answer = client.request(Method::GET, "/version").send().await?;
    Ok(answer.status().as_u16())
}

fn exec_error(result: Result<u16, Error>) -> String {
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Exec { .. }), "{error:?}");
    error.source().unwrap().to_string()
}

/// INV-CLIENT-10: nothing is run that was not allowed.
#[tokio::test]
async fn program_runs_only_if_allowed() {
    let server = Server::start(|_| Reply::json("{}")).await;
    let root = tempfile::tempdir().unwrap();
    let exec = || plugin(root.path(), &printing(r#""token":"t""#));
    for policy in [ExecPolicy::default(), ExecPolicy::allow(["/usr/bin/other"])] {
        let built = builder(&server, exec()).exec(policy).build();
        let denied = matches!(built, Err(BuildError::Exec(ExecError::Denied { .. })));
        assert!(denied, "{built:?}");
    }
    let gone = ExecConfig::new(ExecVersion::V1, "no-such-program").install_hint("get it");
    let error = builder(&server, gone).build().unwrap_err();
    assert!(error.source().unwrap().to_string().contains("get it"));
    // Nor without need: building runs nothing, and neither does plain http.
    let client = builder(&server, exec())
        .exec(ExecPolicy::allow(["sh"]))
        .build()
        .unwrap();
    let plain = builder(&server, exec())
        .credentials_on_loopback(false)
        .build()
        .unwrap();
    get(&plain).await.unwrap();
    assert_eq!(server.last().header("authorization"), None);
    assert_eq!(runs(root.path()), 0);
    get(&client).await.unwrap();
    assert_eq!(server.last().header("authorization"), Some("Bearer t"));
    assert_eq!(runs(root.path()), 1);
}

/// INV-CLIENT-11: one run serves all requests until the credentials end.
#[tokio::test]
async fn one_run_serves_many_requests_of_all_clones() {
    let server = Server::start(|_| Reply::json("{}")).await;
    let root = tempfile::tempdir().unwrap();
    let client = builder(&server, plugin(root.path(), &printing(r#""token":"t""#)))
        .build()
        .unwrap();
    let requests: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { get(&client).await.unwrap() })
        })
        .collect();
    for request in requests {
        assert_eq!(request.await.unwrap(), 200);
    }
    assert_eq!(runs(root.path()), 1);
}

#[tokio::test]
async fn expired_credentials_are_fetched_again() {
    let server = Server::start(|_| Reply::json("{}")).await;
    let root = tempfile::tempdir().unwrap();
    let ended = printing(r#""token":"t","expirationTimestamp":"2001-01-01T00:00:00Z""#);
    let client = builder(&server, plugin(root.path(), &ended))
        .build()
        .unwrap();
    for n in 1..=3 {
        get(&client).await.unwrap();
        assert_eq!(runs(root.path()), n);
    }
    let lasting = printing(r#""token":"t","expirationTimestamp":"2999-01-01T00:00:00Z""#);
    let client = builder(&server, plugin(root.path(), &lasting))
        .build()
        .unwrap();
    for _ in 0..3 {
        get(&client).await.unwrap();
    }
    assert_eq!(runs(root.path()), 4);
}

/// INV-CLIENT-11: a 401 leads to one more run and one more request, however many meet it at once.
#[tokio::test]
async fn program_runs_once_more_after_401() {
    let root = tempfile::tempdir().unwrap();
    let token = root.path().join("token");
    fs::write(&token, "old").unwrap();
    let server = Server::start(|request| match request.header("authorization") {
        Some("Bearer good") => Reply::json("{}"),
        _ => Reply::new("401 Unauthorized", "", ""),
    })
    .await;
    let print = printing(r#""token":"TOKEN""#)
        .replace("TOKEN", &format!(r#"'"$(cat '{}')"'"#, token.display()));
    let client = builder(&server, plugin(root.path(), &print))
        .build()
        .unwrap();
    assert_eq!(get(&client).await.unwrap(), 401);
    assert_eq!((runs(root.path()), server.requests().len()), (2, 2));
    fs::write(&token, "good").unwrap();
    let requests: Vec<_> = (0..10)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { get(&client).await.unwrap() })
        })
        .collect();
    for request in requests {
        assert_eq!(request.await.unwrap(), 200);
    }
    assert_eq!(
        runs(root.path()),
        3,
        "ten were refused, one asked for them all"
    );
}

#[tokio::test]
async fn program_receives_its_configuration() {
    let server = Server::start(|_| Reply::json("{}")).await;
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("input");
    let script = format!(
        r#"printf '%s\n%s\n' "$KUBERNETES_EXEC_INFO" "$PROFILE" > '{}'; {}"#,
        file.display(),
        printing(r#""token":"t""#),
    );
    let exec = plugin(root.path(), &script)
        .env("PROFILE", "dev")
        .provide_cluster_info(true);
    get(&builder(&server, exec).build().unwrap()).await.unwrap();
    let input = fs::read_to_string(file).unwrap();
    let (info, profile) = input.trim_end().split_once('\n').unwrap();
    let info: Value = serde_json::from_str(info).unwrap();
    assert_eq!(info["kind"], "ExecCredential");
    assert_eq!(info["spec"]["interactive"], false);
    assert_eq!(info["spec"]["cluster"]["server"], server.url());
    assert_eq!(profile, "dev");
}

#[tokio::test]
async fn program_failure_is_returned_and_retried() {
    let server = Server::start(|_| Reply::json("{}")).await;
    let root = tempfile::tempdir().unwrap();
    for (script, words) in [
        ("exit 3", "exit status: 3"),
        ("echo token", "not an ExecCredential"),
        ("head -c 2000000 /dev/zero; sleep 60", "larger"),
    ] {
        let client = builder(&server, plugin(root.path(), script))
            .build()
            .unwrap();
        let text = exec_error(get(&client).await);
        assert!(text.contains(words), "{words:?} is not in {text}");
        let before = runs(root.path());
        get(&client).await.unwrap_err();
        assert_eq!(runs(root.path()), before + 1, "{script}");
    }
    let slow = builder(&server, plugin(root.path(), "sleep 60"));
    let client = slow
        .exec_timeout(Duration::from_millis(100))
        .build()
        .unwrap();
    assert!(exec_error(get(&client).await).contains("within 100ms"));
    // Tests have no terminal, or must not depend on it.
    if !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        let always = plugin(root.path(), "exit 0").interactive_mode(InteractiveMode::Always);
        let text = exec_error(get(&builder(&server, always).build().unwrap()).await);
        assert!(text.contains("terminal"), "{text}");
    }
    assert!(server.requests().is_empty());
}

/// The connection between a test and its script.
struct Wire {
    root: tempfile::TempDir,
    output: tokio::net::unix::pipe::Receiver,
}

impl Wire {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let fifo = root.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let output = tokio::net::unix::pipe::OpenOptions::new().open_receiver(fifo);
        let output = output.unwrap();
        Self { root, output }
    }

    /// A script that leaves a process behind, waits until it is at work, and goes on like this. That process says `x`,
    /// waits until it may go, and says `y`.
    fn script(&self, then: &str) -> String {
        let at = self.root.path().display();
        let left = format!(
            "exec 3> '{at}/fifo'; printf x >&3; : > '{at}/at-work'; \
             while [ -e '{at}/at-work' ] && [ ! -e '{at}/go' ]; do sleep 0.05; done; printf y >&3"
        );
        format!(
            "({left}) > '{at}/out' & while [ ! -e '{at}/at-work' ]; do sleep 0.05; done; {then}"
        )
    }

    /// All output of the process until its end.
    async fn until_end(&mut self) -> String {
        let mut said = String::new();
        let read = self.output.read_to_string(&mut said);
        tokio::time::timeout(PATIENCE, read)
            .await
            .expect("it ends")
            .unwrap();
        said
    }
}

/// INV-CLIENT-15: a program that is killed takes along what it has started.
#[tokio::test]
async fn killed_program_leaves_nothing_behind() {
    let server = Server::start(|_| Reply::json("{}")).await;
    for (then, words) in [
        ("head -c 2000000 /dev/zero; wait", "larger"),
        ("wait", "within 3s"),
    ] {
        let mut wire = Wire::new();
        let exec = plugin(wire.root.path(), &wire.script(then));
        let client = builder(&server, exec).exec_timeout(Duration::from_secs(3));
        let text = exec_error(get(&client.build().unwrap()).await);
        assert!(text.contains(words), "{words:?} is not in {text}");
        assert_eq!(wire.until_end().await, "x", "{then}");
    }
}

/// INV-CLIENT-15: one that ends by itself may leave an agent behind.
#[tokio::test]
async fn process_left_behind_by_a_good_run_goes_on() {
    let server = Server::start(|_| Reply::json("{}")).await;
    let mut wire = Wire::new();
    let script = wire.script(&printing(r#""token":"t""#));
    let client = builder(&server, plugin(wire.root.path(), &script));
    let client = client.build().unwrap();
    assert_eq!(get(&client).await.unwrap(), 200);
    drop(client);
    fs::write(wire.root.path().join("go"), "").unwrap();
    assert_eq!(wire.until_end().await, "xy");
}

/// A request that gives up does not end the program: a person may be logging in.
#[tokio::test]
async fn program_goes_on_when_its_request_is_dropped() {
    let server = Server::start(|_| Reply::json("{}")).await;
    let root = tempfile::tempdir().unwrap();
    let gate = root.path().join("gate");
    let script = format!(
        "while [ ! -e '{}' ]; do sleep 0.05; done; {}",
        gate.display(),
        printing(r#""token":"t""#),
    );
    let client = builder(&server, plugin(root.path(), &script))
        .build()
        .unwrap();
    let request = client.request(Method::GET, "/version");
    let error = request
        .timeout(Duration::from_millis(300))
        .send()
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    fs::write(gate, "").unwrap();
    assert_eq!(get(&client).await.unwrap(), 200);
    assert_eq!(runs(root.path()), 1);
}

/// A plugin may print a certificate instead of a token; another one next time means other connections.
#[tokio::test]
async fn client_certificate_of_a_program_is_sent() {
    let authority = Authority::new();
    let server_identity = authority.issue(&["127.0.0.1"]);
    let (one, two) = (authority.issue(&["one"]), authority.issue(&["two"]));
    let seen = Seen::new();
    let server = Server::start_tls(server_identity.server_that_asks(Some(seen.clone())), |_| {
        Reply::json("{}")
    })
    .await;
    let root = tempfile::tempdir().unwrap();
    let print = |identity: &certificates::Identity| {
        let status = serde_json::json!({
            "clientCertificateData": identity.certificate_pem,
            "clientKeyData": identity.key_pem,
            // Expired at once, so that each request runs the program.
            "expirationTimestamp": "2001-01-01T00:00:00Z",
        });
        let whole = serde_json::json!({
            "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status,
        });
        fs::write(root.path().join("printed"), whole.to_string()).unwrap();
    };
    print(&one);
    let cat = format!("cat '{}/printed'", root.path().display());
    let cluster = Cluster::new(&format!("https://{}", server.address))
        .unwrap()
        .certificate_authority(PemSource::inline(authority.pem()));
    let auth = AuthInfo::default().exec(plugin(root.path(), &cat));
    let client = Client::builder(Config::new(cluster).auth(auth))
        .exec(ExecPolicy::AllowAll)
        .exec_timeout(PATIENCE)
        .build()
        .unwrap();
    assert_eq!(get(&client).await.unwrap(), 200);
    print(&two);
    assert_eq!(get(&client).await.unwrap(), 200);
    let shown = seen.certificates.lock().unwrap().clone();
    assert_eq!(shown, [one.der.clone(), two.der.clone()]);
    // A pair that does not fit is no credential.
    print(&certificates::Identity {
        key_pem: two.key_pem.clone(),
        ..one
    });
    assert!(exec_error(get(&client).await).contains("does not belong"));
}
