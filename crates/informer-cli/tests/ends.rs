//! How the command ends: stopped, by a mistake, or with an output that is closed or not read.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use informer_testkit::{ApiServer, Workload};

/// How long anything here may take; far more than it does.
const PATIENCE: Duration = Duration::from_secs(60);

fn informer(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_informer"));
    command
        .args(args)
        .env_remove("KUBECONFIG")
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn terminate(child: &Child) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(sent.unwrap().success());
}

fn exit_of(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("the command does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn text_of(pipe: Option<impl Read>) -> String {
    let mut text = String::new();
    pipe.unwrap().read_to_string(&mut text).unwrap();
    text
}

async fn server(pods: usize) -> ApiServer {
    let server = ApiServer::builder().start().await.unwrap();
    Workload::new().pods(pods).fill(&server).unwrap();
    server
}

#[test]
fn mistakes_of_caller_print_one_line_and_exit_2() {
    let here = ["--server", "http://127.0.0.1:1"];
    // No URL is as long as that.
    let long = "a".repeat(60) + &",a".repeat(40_000);
    for wrong in [
        &["watch", "pods", "-n", "a/b"][..],
        &["watch", "pods", "-n", "Shop"],
        &["watch", "pods", "-l", "=="],
        &["watch", "pods", "-l", &long],
        &["watch", "pods", "--field-selector", "status.phase"],
        &["watch", "a/b/c/d"],
        &["watch", "demo.example/v1/widgets", "--as", "typed"],
    ] {
        let mut child = informer(&[wrong, &here[..]].concat()).spawn().unwrap();
        assert_eq!(exit_of(&mut child).code(), Some(2), "{wrong:?}");
        let said = text_of(child.stderr.take());
        assert_eq!(said.lines().count(), 1, "{wrong:?}: {said}");
        assert_eq!(text_of(child.stdout.take()), "", "{wrong:?}");
    }
}

/// Stderr may be closed, or its disk full: its lines are lost, and nothing else changes.
#[tokio::test(flavor = "multi_thread")]
async fn unwritable_stderr_changes_nothing_else() {
    let unwritable = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    let server = server(10).await;
    let url = server.url();
    let watch = ["watch", "pods", "--once", "-o", "json", "-vv", "--server"];
    let demo = ["demo", "--pods", "5", "--for", "1s", "-o", "json"];
    let wrong = ["watch", "pods", "-n", "Shop", "--server"];
    let late = ["bench", "sync", "--timeout", "1s", "--server"];
    let nobody = "http://127.0.0.1:1";
    for (args, code, last) in [
        (
            [&watch[..], &[&url]].concat(),
            0,
            r#"{"event":"synced","count":10,"#,
        ),
        (demo.to_vec(), 0, r#"{"event":"final","#),
        ([&wrong[..], &[nobody]].concat(), 2, ""),
        ([&late[..], &[nobody]].concat(), 1, ""),
    ] {
        let mut child = informer(&args).stderr(unwritable()).spawn().unwrap();
        let said = text_of(child.stdout.take());
        assert_eq!(exit_of(&mut child).code(), Some(code), "{args:?}: {said}");
        let line = said.lines().last().unwrap_or_default();
        assert!(line.starts_with(last), "{args:?}: {line}");
    }
}

/// A kubeconfig that never comes, as from a pipe, holds nobody up.
#[test]
fn hanging_kubeconfig_does_not_delay_end() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("kubeconfig");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let path = pipe.to_str().unwrap();
    let args = [
        "watch",
        "pods",
        "-o",
        "json",
        "--for",
        "300ms",
        "--kubeconfig",
        path,
    ];
    let mut child = informer(&args).spawn().unwrap();
    assert_eq!(exit_of(&mut child).code(), Some(0));
    let last = r#"{"event":"final","count":0,"resourceVersion":"","keys":{}}"#;
    assert_eq!(text_of(child.stdout.take()).trim_end(), last);
}

#[tokio::test(flavor = "multi_thread")]
async fn stuck_reader_does_not_delay_end() {
    let server = server(3_000).await;
    let args = ["watch", "pods", "-o", "json", "--server", &server.url()];
    let mut child = informer(&args).spawn().unwrap();
    // The first bytes are written, and many more than a pipe holds follow.
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut [0; 16])
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    terminate(&child);
    exit_of(&mut child);
}

/// A server that is still being filled can be stopped.
#[test]
fn long_fill_does_not_delay_end() {
    for args in [
        &["demo", "--pods", "1000000", "-o", "json"][..],
        &["serve", "--pods", "1000000", "--port", "0"],
    ] {
        let mut child = informer(args).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        terminate(&child);
        assert_eq!(exit_of(&mut child).code(), Some(0), "{args:?}");
        let last = r#"{"event":"final","count":0,"resourceVersion":"","keys":{}}"#;
        let expected = if args[0] == "demo" { last } else { "" };
        assert_eq!(text_of(child.stdout.take()).trim_end(), expected);
    }
}

/// However many events wait to be printed, and go on coming, the last line comes.
#[tokio::test(flavor = "multi_thread")]
async fn final_line_is_printed_amid_changes() {
    let server = server(2_000).await;
    let running = Workload::new().pods(2_000).start(&server, 5_000.0);
    let args = [
        "watch",
        "pods",
        "-o",
        "json",
        "--for",
        "1s",
        "--server",
        &server.url(),
    ];
    let child = informer(&args).spawn().unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
    let output = tokio::time::timeout(PATIENCE, output)
        .await
        .unwrap()
        .unwrap();
    running.stop().await;
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "final");
    assert_eq!(last["count"], last["keys"].as_object().unwrap().len());
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_stdout_ends_without_panic_or_message() {
    let server = server(500).await;
    let watch = ["watch", "pods", "--server", &server.url()];
    let demo = ["demo", "--pods", "10", "--for", "2s"];
    let serve = ["serve", "--port", "0", "--for", "1s"];
    for args in [&watch[..], &demo, &serve] {
        let mut child = informer(args).spawn().unwrap();
        drop(child.stdout.take());
        exit_of(&mut child);
        let said = text_of(child.stderr.take());
        assert_eq!(said, "", "{args:?}");
    }
}

/// Names and messages come from a server, which must not be able to write to a terminal.
#[tokio::test(flavor = "multi_thread")]
async fn plain_lines_have_no_control_characters() {
    let reply = "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n\
        {\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"a\\u001b[31mb\\nc\"}";
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answers = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = socket.read(&mut [0; 4096]).await;
            let _ = socket.write_all(reply.as_bytes()).await;
        }
    });
    let args = ["watch", "pods", "--for", "1s", "--server", &url];
    let child = informer(&args).spawn().unwrap();
    let output = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
    let output = tokio::time::timeout(PATIENCE, output)
        .await
        .unwrap()
        .unwrap();
    answers.abort();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("a [31mb c"), "{text:?}");
    assert_eq!(
        text.matches("error").count(),
        1,
        "one reason, printed once: {text:?}"
    );
}
