//! `informer bench`: it ends by itself, and prints what it measured.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output, Stdio};

use informer_testkit::{ApiServer, Workload};
use serde_json::Value;

/// Runs the command to its end, without holding the server's runtime up.
async fn bench(args: Vec<String>) -> Output {
    tokio::task::spawn_blocking(move || {
        Command::new(env!("CARGO_BIN_EXE_informer"))
            .arg("bench")
            .args(args)
            .env_remove("KUBECONFIG")
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    })
    .await
    .unwrap()
}

fn args(words: &str, server: &ApiServer) -> Vec<String> {
    let words = words.split(' ').map(str::to_owned);
    words.chain(["--server".to_owned(), server.url()]).collect()
}

/// The one line of standard output.
fn line(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn bench_sync_measures_every_form_and_list_mode() {
    let server = ApiServer::builder().start().await.unwrap();
    Workload::new().pods(120).fill(&server).unwrap();
    for form in ["compact", "typed", "metadata", "view"] {
        for mode in ["list", "stream"] {
            let words = format!("sync --resource pods --as {form} --list {mode}");
            let line = line(&bench(args(&words, &server)).await);
            assert_eq!(line["objects"], 120, "{line}");
            assert_eq!(line["as"], form);
            assert!(line["seconds"].as_f64().unwrap() >= 0.0);
            // A pod's metadata alone is longer than that.
            assert!(line["bytes"].as_u64().unwrap() > 120 * 200, "{line}");
            assert!(line.get("events").is_none(), "{line}");
            if cfg!(target_os = "linux") {
                let peak = line["peak_rss_kb"].as_u64().unwrap();
                assert!(peak >= line["settled_rss_kb"].as_u64().unwrap(), "{line}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bench_metadata_requests_partial_object_metadata() {
    let server = ApiServer::builder().start().await.unwrap();
    Workload::new().pods(120).fill(&server).unwrap();
    let mut bytes = Vec::new();
    for form in ["compact", "metadata"] {
        let words = format!("sync --as {form}");
        let line = line(&bench(args(&words, &server)).await);
        bytes.push(line["bytes"].as_u64().unwrap());
    }
    assert!(bytes[1] < bytes[0], "{bytes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bench_events_counts_handled_events() {
    let server = ApiServer::builder().start().await.unwrap();
    let mut workload = Workload::new().pods(50);
    workload.fill(&server).unwrap();
    let running = workload.start(&server, 2_000.0);
    let line = line(&bench(args("events --events 300", &server)).await);
    running.stop().await;
    assert_eq!(line["events"], 300);
    assert!(line["events_per_second"].as_f64().unwrap() > 0.0, "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bench_relists_waits_for_further_lists() {
    let server = ApiServer::builder().start().await.unwrap();
    Workload::new().pods(120).fill(&server).unwrap();
    for list in ["list", "stream"] {
        let words = format!("sync --relists 1 --list {list}");
        let line = line(&bench(args(&words, &server)).await);
        assert_eq!(
            (&line["objects"], &line["relists"]),
            (&120.into(), &1.into())
        );
        if cfg!(target_os = "linux") {
            assert!(line["relist_peak_rss_kb"].as_u64().is_some(), "{line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bench_fails_at_timeout() {
    let server = ApiServer::builder().start().await.unwrap();
    let output = bench(args("events --events 2 --timeout 300ms", &server)).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn unsupported_form_prints_one_line_and_exits_2() {
    let server = ApiServer::builder().start().await.unwrap();
    for words in [
        "sync --resource nodes --as view",
        "sync --resource demo.example/v1/widgets --as typed",
    ] {
        let output = bench(args(words, &server)).await;
        assert_eq!(output.status.code(), Some(2), "{words}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("use --as compact"), "{said}");
    }
}
