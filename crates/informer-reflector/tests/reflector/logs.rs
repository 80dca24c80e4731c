//! What is logged, with the fields that the crate documents.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use informer_reflector::ReflectorPhase;
use informer_wire::{Decoded, ListMeta};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;

use crate::support::*;

/// What is logged until it is dropped.
struct Log {
    text: Arc<Mutex<Vec<u8>>>,
    _guard: tracing::subscriber::DefaultGuard,
}

/// Listens to all and keeps nothing. While there is but one subscriber, `tracing` asks the thread that first comes by a
/// place in the code whether that place is of interest, and remembers its answer for all threads: the tests beside these
/// have no subscriber and would say no.
fn listen_besides() {
    static BESIDES: OnceLock<tracing::Dispatch> = OnceLock::new();
    BESIDES.get_or_init(|| {
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_writer(std::io::sink);
        tracing::Dispatch::new(subscriber.finish())
    });
}

impl Log {
    fn begin() -> Self {
        listen_besides();
        let text = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&text);
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false)
            .without_time()
            .with_writer(move || Writer(Arc::clone(&to)))
            .finish();
        // The reflector runs on this thread.
        let _guard = tracing::subscriber::set_default(subscriber);
        Self { text, _guard }
    }

    /// The lines that say this.
    fn lines(&self, words: &str) -> Vec<String> {
        let text = String::from_utf8(self.text.lock().clone()).expect("text");
        let lines = text.lines().filter(|line| line.contains(words));
        lines.map(|line| line.trim().to_owned()).collect()
    }
}

struct Writer(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// An object each so many seconds, and the end after as many.
fn slow_page(each: u64) -> Vec<Beat> {
    let item = |name| Beat::Item(Decoded::Object(object(name, 1)));
    let pause = || Beat::Pause(Duration::from_secs(each));
    let end = Beat::PageEnd(ListMeta::at(10.into()));
    vec![pause(), item("a"), pause(), item("b"), pause(), end]
}

// INV-REFL-11
#[tokio::test(start_paused = true)]
async fn list_that_takes_longer_than_ten_seconds_is_logged_as_slow() {
    let streamed = vec![
        Beat::Pause(9 * SECOND),
        added("a", 1),
        Beat::Pause(2 * SECOND),
        initial_events_end(10),
        Beat::Hang,
    ];
    let late = |answer| Answer::Late(Duration::from_millis(2_500), Box::new(answer));
    for (config, answer, level, words, steps) in [
        (
            lists(),
            late(Answer::List(slow_page(4))),
            "WARN",
            "slow list",
            (2_500, 12_000),
        ),
        (
            lists(),
            late(Answer::List(slow_page(2))),
            "DEBUG",
            "listed",
            (2_500, 6_000),
        ),
        (
            lists(),
            Answer::List(slow_page(4)),
            "WARN",
            "slow list",
            (0, 12_000),
        ),
        (
            streams(),
            late(Answer::Watch(streamed)),
            "WARN",
            "slow list",
            (2_500, 11_000),
        ),
    ] {
        let log = Log::begin();
        let mut run = Run::with(config, vec![answer], |reflector| reflector.named("things"));
        run.until_version(10).await;
        let (answered, decoded) = steps;
        let wanted = format!(
            "{level} reflector{{resource=things}}: informer_reflector::driver::observe: {words} \
             resource_version=\"10\" answered_ms={answered} decoded_ms={decoded} applied_ms=0"
        );
        assert_eq!(log.lines(words), [wanted]);
    }
}

/// What the failures of a reflector say in the log.
#[tokio::test(start_paused = true)]
async fn failure_is_logged_with_documented_fields() {
    let log = Log::begin();
    let answers = vec![refusal(500, "InternalError"), list(10, vec![])];
    let mut run = Run::with(lists(), answers, |reflector| reflector.named("things"));
    run.until_version(10).await;
    let lines = log.lines("list or watch failed");
    assert_eq!(lines.len(), 1, "{lines:?}");
    for part in [
        "WARN reflector{resource=things}:",
        "during=list",
        "InternalError",
        "attempts=1",
        "retry_in_ms=",
    ] {
        assert!(lines[0].contains(part), "{part:?} is not in {:?}", lines[0]);
    }
}

/// A CRD that is not installed is refused every half a minute, for days.
#[tokio::test(start_paused = true)]
async fn resource_that_is_not_found_is_logged_and_reported_once() {
    // Installed, and then deleted again: its watch has an error, or simply ends.
    for end in [error_event(410, "Gone"), Beat::Pause(MINUTE)] {
        let log = Log::begin();
        let not_found = || refusal(404, "NotFound");
        let mut answers: Vec<_> = (0..20).map(|_| not_found()).collect();
        answers.extend([list(10, vec![]), short_watch(vec![end])]);
        answers.extend([not_found(), not_found(), list(20, vec![]), watch(vec![])]);
        let mut run = Run::new(lists(), answers);
        let status = run
            .until(|status| status.phase == ReflectorPhase::NotFound && status.attempts == 19)
            .await;
        assert!(!status.synced && status.retry_at.is_some());
        let error = "the API server refused: no (404 NotFound)";
        assert_eq!(status.last_error.as_deref(), Some(error));
        run.until_version(20).await;
        let warnings = log.lines("list or watch failed");
        let of_404 = warnings.iter().filter(|line| line.contains("404"));
        assert_eq!(of_404.count(), 2, "{warnings:#?}");
        let reports = run.reports();
        let of_404 = reports.iter().filter(|report| report.contains("404"));
        assert_eq!(of_404.count(), 2, "{reports:#?}");
        assert_eq!(log.lines("still not found").len(), 20);
    }
}

/// A transform that takes versions away is warned about, once.
#[tokio::test(start_paused = true)]
async fn transform_that_changes_versions_is_logged_and_reported_once() {
    let log = Log::begin();
    let answers = vec![
        list(10, vec![object("a", 1), object("b", 2)]),
        watch(vec![modified("a", 11)]),
    ];
    let mut run = Run::with(lists(), answers, |reflector| {
        reflector.transform(|object: &mut ConfigMap| {
            object.metadata.resource_version = None;
            Ok::<_, String>(())
        })
    });
    run.until_version(11).await;
    assert_eq!(log.lines("the transform changes metadata.uid").len(), 1);
    assert_eq!(run.reports().len(), 1, "{:?}", run.reports());
}
