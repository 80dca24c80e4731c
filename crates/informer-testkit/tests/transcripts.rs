//! Sequences that were played against a real API server, played against the test kit: the same answers, but for what
//! the table of `cargo xtask e2e parity` allows.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[allow(dead_code, reason = "the harness that records them uses the rest")]
#[path = "../../../e2e/src/parity/judge/mod.rs"]
mod judge;
#[allow(dead_code, reason = "the scenario uses the rest")]
#[path = "../../../e2e/src/scenarios/kubectl/allowed.rs"]
mod kubectl;

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{Method, StatusCode};
use informer_testkit::ApiServer;
use serde_json::{Value, json};
use tokio::time::timeout;

use self::common::{Next, Watch, post, send};
use self::judge::allowed::{ALLOWED, first_unlisted};
use self::judge::compare::compare;
use self::judge::definitions::definitions;
use self::judge::normalise::normalise;
use self::judge::op::Op;
use self::judge::session::{Answer, Request, Session};
use self::judge::transcript::Transcript;

/// A watch that sends nothing for this long has sent what there was.
const QUIET: Duration = Duration::from_millis(100);
const RUN: &str = "p1r";

async fn play(ops: &[Op]) -> Vec<Answer> {
    let server = ApiServer::start().await.unwrap();
    for definition in definitions() {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        assert_eq!(
            post(&server, path, definition).await.code,
            StatusCode::CREATED
        );
    }
    for name in ["a", "b"] {
        let namespace = json!({ "metadata": { "name": format!("{RUN}-{name}") } });
        post(&server, "/api/v1/namespaces", namespace).await;
    }
    let mut session = Session::new(RUN);
    let mut answers = Vec::new();
    for op in ops {
        let request = session.request(op);
        let answer = if op.is_watch() {
            watch(&server, &request).await
        } else {
            answer(&server, &request).await
        };
        session.answered(op, answer.clone());
        answers.push(answer);
    }
    normalise(RUN, ops, &answers)
}

async fn answer(server: &ApiServer, request: &Request) -> Answer {
    let media = request
        .media
        .as_deref()
        .map(|media| ("content-type", media));
    let headers: Vec<_> = media.into_iter().collect();
    let method = Method::from_bytes(request.method.as_bytes()).unwrap();
    let body = request.body.clone().unwrap_or_default();
    let answer = send(server, method, &request.target, &headers, body).await;
    let body = serde_json::from_slice(&answer.body);
    let texts = answer.headers.get_all("warning").iter();
    let mut warnings: Vec<String> = texts
        .filter_map(|text| text.to_str().ok().map(str::to_owned))
        .collect();
    warnings.sort();
    Answer {
        code: answer.code.as_u16(),
        body: body.unwrap_or_else(|_| answer.text().into()),
        warnings,
    }
}

async fn watch(server: &ApiServer, request: &Request) -> Answer {
    let mut watch = Watch::open(server, &request.target).await;
    if watch.code != StatusCode::OK {
        return answer(server, request).await;
    }
    let mut events: Vec<Value> = Vec::new();
    while let Ok(Next::Event(event)) = timeout(QUIET, watch.next()).await {
        events.push(event);
    }
    Answer {
        code: 200,
        body: events.into(),
        warnings: Vec::new(),
    }
}

fn transcripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let files = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths
}

#[tokio::test]
async fn every_transcript_of_a_real_server_is_answered_alike() {
    let paths = transcripts();
    assert!(!paths.is_empty());
    let mut failed = Vec::new();
    for path in paths {
        let text = std::fs::read(&path).unwrap();
        let transcript: Transcript = serde_json::from_slice(&text).unwrap();
        let (ops, real): (Vec<Op>, Vec<Answer>) = transcript
            .steps
            .into_iter()
            .map(|step| (step.op, step.answer))
            .unzip();
        let kit = play(&ops).await;
        let differences = compare(&ops, &real, &kit);
        let unlisted = first_unlisted(&differences).into_iter();
        failed.extend(
            unlisted.map(|one| format!("{} ({}): {one}", path.display(), transcript.about)),
        );
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The page "What the test kit does not do": one line for each reason, with where it shows.
fn page() -> String {
    let mut page = String::from(
        "# What the test kit does not do\n\n\
         Where `informer-testkit` answers otherwise than a real API server, as far as `cargo xtask e2e parity` compares \
         them: random\nsequences of operations on built-in kinds of each strategy and on custom resources. A difference \
         that is not here fails a run. This page is\nmade of the table in `e2e/src/parity/judge/allowed.rs`; an entry that \
         no longer occurs fails a long run.\n\n\
         | operation | where in the answer | what the test kit does |\n|---|---|---|\n",
    );
    for entry in ALLOWED {
        let (operation, path) = (entry.operation, entry.path.replace('|', "\\|"));
        page.push_str(&format!(
            "| `{operation}` | `{path}` | {} |\n",
            entry.reason
        ));
    }
    page.push_str(
        "\n## kubectl\n\n\
         `cargo xtask e2e kubectl` compares what `kubectl` says of both servers: exit codes and output, without ages, \
         identities, versions\nand, for `explain`, descriptions. A command that says something else is here, or fails the \
         run. This part is made of the table in\n`e2e/src/scenarios/kubectl/allowed.rs`.\n\n\
         | command | what the test kit does |\n|---|---|\n",
    );
    for entry in kubectl::ALLOWED {
        page.push_str(&format!("| `{}` | {} |\n", entry.command, entry.reason));
    }
    page
}

#[test]
fn the_page_of_differences_is_that_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/testkit-differences.md");
    if std::env::var_os("INFORMER_WRITE_PAGE").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap();
    assert_eq!(written, page(), "run this test with INFORMER_WRITE_PAGE=1");
    assert!(ALLOWED.len() <= 40);
}
