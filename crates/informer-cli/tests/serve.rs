//! `informer serve`: ready means filled.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use informer::Client;
use informer::client::ConfigLoader;
use informer::client::http::Method;

/// How long anything here may take; far more than it does.
const PATIENCE: Duration = Duration::from_secs(60);

/// It ends with the test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The status of an answer; `None` if nobody listens yet.
async fn get(client: &Client, path: &str) -> Option<u16> {
    let request = client.request(Method::GET, path).timeout(PATIENCE);
    let answer = request.send().await.ok()?;
    Some(answer.status().as_u16())
}

#[tokio::test]
async fn serve_answers_503_until_filled() {
    let root = tempfile::tempdir().unwrap();
    let kubeconfig = root.path().join("kubeconfig");
    for _ in 0..10 {
        if serve_until_filled(&kubeconfig).await {
            return;
        }
    }
    panic!("no port stays free");
}

/// Returns `false` if another program took the port before `informer serve` did.
async fn serve_until_filled(kubeconfig: &Path) -> bool {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut command = Command::new(env!("CARGO_BIN_EXE_informer"));
    command
        .args(["serve", "--pods", "2000", "--port", &port.to_string()])
        .arg("--write-kubeconfig")
        .arg(kubeconfig)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut serving = Serving(command.spawn().unwrap());
    let stdout = serving.0.stdout.take().unwrap();
    let said = std::thread::spawn(move || BufReader::new(stdout).lines().next());

    let client = Client::anonymous(&format!("http://127.0.0.1:{port}")).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let mut before = 0;
    while !said.is_finished() {
        assert!(Instant::now() < deadline, "it is never ready");
        for path in ["/readyz", "/api/v1/namespaces"] {
            let status = get(&client, path).await;
            if serving.0.try_wait().unwrap().is_some() {
                return false;
            }
            match status {
                Some(503) => before += 1,
                Some(200) => {
                    // Then it prints its line next.
                    let pods = list(&client).await;
                    assert_eq!(pods, 2_000, "it answers while it is being filled");
                }
                Some(other) => panic!("{other}"),
                None => {}
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let Some(said) = said.join().unwrap() else {
        return false;
    };
    assert!(before > 0, "it was never seen being filled");
    assert_eq!(said.unwrap(), format!("serving http://127.0.0.1:{port}"));
    let written = std::fs::read_to_string(kubeconfig).unwrap();
    assert!(written.starts_with("# Written by informer serve"));
    let config = ConfigLoader::new().kubeconfig(kubeconfig).load().unwrap();
    let by_file = Client::new(config).unwrap();
    assert_eq!(list(&by_file).await, 2_000);
    assert_eq!(get(&client, "/readyz").await, Some(200));
    assert_eq!(list(&client).await, 2_000);
    true
}

/// A kubeconfig holds keys and tokens that exist nowhere else.
#[test]
fn serve_ends_with_2_and_leaves_other_kubeconfigs_untouched() {
    let root = tempfile::tempdir().unwrap();
    let kubeconfig = root.path().join("kubeconfig");
    std::fs::write(&kubeconfig, "users: [{user: {token: only-copy}}]\n").unwrap();
    for option in ["--kubeconfig", "--write-kubeconfig"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_informer"));
        command.args(["serve", "--port", "0", "--for", "100ms", option]);
        let ended = command.arg(&kubeconfig).output().unwrap();
        assert_eq!(ended.status.code(), Some(2), "{option}");
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(said.contains("kubeconfig"), "{said}");
        let after = std::fs::read_to_string(&kubeconfig).unwrap();
        assert_eq!(after, "users: [{user: {token: only-copy}}]\n", "{option}");
    }
}

/// How many pods the server has.
async fn list(client: &Client) -> u64 {
    let request = client.request(Method::GET, "/api/v1/pods");
    let request = request.query([("limit", "1")]).timeout(PATIENCE);
    let answer = request.send().await.unwrap().bytes(1 << 20).await.unwrap();
    let page: serde_json::Value = serde_json::from_slice(&answer).unwrap();
    let more = page["metadata"]["remainingItemCount"].as_u64();
    let more = more.unwrap_or_else(|| panic!("{page}"));
    more + page["items"].as_array().unwrap().len() as u64
}
