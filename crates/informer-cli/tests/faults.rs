//! `informer watch` over real HTTP against a server that misbehaves in every way of the test kit: it recovers from each
//! within two minutes, and ends on SIGTERM with its last line.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Stdio;
use std::time::Duration;

use informer_testkit::{Answer, ApiServer, Fault, RequestMatcher, Status, StreamEnd, Verb, status};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// The longest limit of one request is 75 s; the machine may be busy.
const RECOVERED: Duration = Duration::from_secs(120);
/// SIGTERM ends it within this, however busy the machine is.
const ENDED: Duration = Duration::from_secs(5);

fn create(server: &ApiServer, name: &str) {
    let pod = json!({"metadata": {"namespace": "web", "name": name}});
    server.create("pods", pod).unwrap();
}

fn watch(server: &ApiServer, list: &str) -> (Child, Lines<BufReader<ChildStdout>>) {
    let url = server.url();
    let mut command = Command::new(env!("CARGO_BIN_EXE_informer"));
    command
        .args([
            "watch", "pods", "-o", "json", "--server", &url, "--list", list,
        ])
        .env_remove("KUBECONFIG")
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

/// Reads lines until one is of this event and, if given, this key.
async fn until(lines: &mut Lines<BufReader<ChildStdout>>, event: &str, key: Option<&str>) -> Value {
    loop {
        let line = lines.next_line().await.unwrap().expect("it still runs");
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["event"] == event && key.is_none_or(|key| line["key"] == key) {
            return line;
        }
    }
}

/// Lets one request fail: the command recovers, prints later changes, and ends well.
async fn recovers(name: String, list: &'static str, verb: Verb, fault: Fault, times: usize) {
    let server = ApiServer::builder().start().await.unwrap();
    create(&server, "a");
    server.fail(RequestMatcher::verb(verb).resource("pods"), fault, times);
    let (mut child, mut lines) = watch(&server, list);
    let recovery = async {
        until(&mut lines, "synced", None).await;
        // Two changes and a broken stream between them.
        create(&server, "b");
        until(&mut lines, "added", Some("web/b")).await;
        server.end_watches(StreamEnd::Cut);
        create(&server, "c");
        until(&mut lines, "added", Some("web/c")).await;
    };
    assert!(
        timeout(RECOVERED, recovery).await.is_ok(),
        "{name}: no recovery"
    );
    let pid = child.id().unwrap().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status().await;
    assert!(sent.unwrap().success());
    let last = timeout(ENDED, until(&mut lines, "final", None)).await;
    let last = last.unwrap_or_else(|_| panic!("{name}: no last line"));
    assert_eq!(last["count"], 3, "{name}: {last}");
    let status = timeout(ENDED, child.wait()).await;
    assert_eq!(status.expect("it ends").unwrap().code(), Some(0), "{name}");
}

/// All but 400, which only the caller can correct: it ends the command.
fn faults() -> Vec<Fault> {
    let text = |code, body: &'static str| Fault::from(Answer::text(code, body));
    vec![
        status::too_old(1, 90).into(),
        status::too_large(99_999, 90, 1).into(),
        Status::failure(429, "TooManyRequests", "slow down")
            .with_retry_after(1)
            .into(),
        Status::failure(503, "ServiceUnavailable", "shutting down")
            .with_retry_after(1)
            .into(),
        status::internal("etcdserver: no leader").into(),
        status::unauthorized().into(),
        status::unknown_resource().into(),
        Status::failure(406, "NotAcceptable", "no").into(),
        text(502, "<html>bad gateway</html>"),
        text(504, "upstream request timeout"),
        text(200, "this is no JSON"),
        text(302, ""),
        Fault::ErrorEvent(status::too_old(1, 90)),
        Fault::ErrorEvent(status::internal("etcdserver: no leader")),
        Fault::HoldOpen,
        Fault::Delay(Duration::from_secs(2)),
        Fault::Cut { after: 40 },
        Fault::End { after: 40 },
        Fault::Stall { after: 40 },
        Fault::Disconnect,
        Fault::Refuse,
        Fault::Trickle {
            bytes: 16,
            every: Duration::from_millis(10),
        },
        Fault::Before("{\"type\":\"NEWS\",\"object\":{}}\n".into()),
        Fault::WithoutInitialEventsEnd,
        Fault::Shuffled(7),
        Fault::Ignore(vec![
            "sendInitialEvents".to_owned(),
            "resourceVersionMatch".to_owned(),
        ]),
    ]
}

// INV-REFL-7, INV-HTTP-3; all at once, since they mostly wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watch_recovers_from_every_fault() {
    let mut running = tokio::task::JoinSet::new();
    for (verb, list) in [
        (Verb::List, "list"),
        (Verb::Watch, "list"),
        (Verb::Watch, "stream"),
    ] {
        for fault in faults() {
            let name = format!("{verb:?} in mode {list}: {fault:?}");
            running.spawn(recovers(name, list, verb, fault, 1));
        }
    }
    while let Some(ended) = running.join_next().await {
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic.into_panic());
        }
    }
}
