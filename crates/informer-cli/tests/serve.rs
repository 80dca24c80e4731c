//! `informer serve`: ready means filled.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use informer::Client;
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
async fn a_server_that_is_being_filled_says_so_and_is_ready_only_then() {
    let root = tempfile::tempdir().unwrap();
    let kubeconfig = root.path().join("kubeconfig");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut command = Command::new(env!("CARGO_BIN_EXE_informer"));
    command
        .args(["serve", "--pods", "2000", "--port", &port.to_string()])
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut serving = Serving(command.spawn().unwrap());
    let stdout = serving.0.stdout.take().unwrap();
    let said = std::thread::spawn(move || BufReader::new(stdout).lines().next().unwrap().unwrap());

    let client = Client::anonymous(&format!("http://127.0.0.1:{port}")).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let mut before = 0;
    while !said.is_finished() {
        assert!(Instant::now() < deadline, "it is never ready");
        for path in ["/readyz", "/api/v1/namespaces"] {
            match get(&client, path).await {
                Some(503) => before += 1,
                Some(200) => {
                    // Then it is about to say so.
                    let pods = list(&client).await;
                    assert_eq!(pods, 2_000, "it answers while it is being filled");
                }
                Some(other) => panic!("{other}"),
                None => {}
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(before > 0, "it was never seen being filled");
    assert_eq!(
        said.join().unwrap(),
        format!("serving http://127.0.0.1:{port}")
    );
    assert!(kubeconfig.exists());
    assert_eq!(get(&client, "/readyz").await, Some(200));
    assert_eq!(list(&client).await, 2_000);
}

/// How many pods the server has.
async fn list(client: &Client) -> u64 {
    let request = client.request(Method::GET, "/api/v1/pods");
    let request = request.query([("limit", "1")]).timeout(PATIENCE);
    let answer = request.send().await.unwrap().bytes(1 << 20).await.unwrap();
    let page: serde_json::Value = serde_json::from_slice(&answer).unwrap();
    let more = page["metadata"]["remainingItemCount"].as_u64().unwrap();
    more + page["items"].as_array().unwrap().len() as u64
}
