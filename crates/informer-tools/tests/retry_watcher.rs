//! Watches that resume.

mod support;

use informer_reflector::{ListWatchError, ReflectorConfig};
use informer_store::ResourceVersion;
use informer_tools::RetryWatcher;
use informer_wire::{Decoded, WatchEvent};
use support::*;

fn watcher(answers: Vec<Answer>) -> (Script, RetryWatcher<Script>) {
    configured(ReflectorConfig::default(), answers)
}

fn configured(config: ReflectorConfig, answers: Vec<Answer>) -> (Script, RetryWatcher<Script>) {
    let script = Script::new(answers);
    let watcher = RetryWatcher::with_config(script.clone(), 10.into(), config.seed(5))
        .expect("10 is a version");
    (script, watcher)
}

/// The next event as `+a`, `~a`, `-a`, the error as its status code or `error`, or `end`.
async fn next(watcher: &mut RetryWatcher<Script>) -> String {
    let next = tokio::time::timeout(60 * MINUTE, watcher.next()).await;
    match next.expect("something within an hour") {
        None => "end".to_owned(),
        Some(Ok(event)) => line(&event),
        Some(Err(error)) => error
            .status()
            .map_or_else(|| "error".to_owned(), |status| status.code.to_string()),
    }
}

/// RW1
#[tokio::test(start_paused = true)]
async fn watcher_without_start_version_is_refused() {
    for unset in ["", "0"] {
        let refused = RetryWatcher::new(Script::new([]), ResourceVersion::new(unset));
        assert!(matches!(refused, Err(ListWatchError::Protocol(_))));
    }
}

#[tokio::test(start_paused = true)]
async fn watcher_with_selector_that_does_not_parse_is_refused() {
    let config = ReflectorConfig::default().label_selector("a in (");
    let refused = RetryWatcher::with_config(Script::new([]), 10.into(), config);
    assert!(matches!(refused, Err(ListWatchError::Other(_))));
}

/// RW2. Unlike client-go's it waits longer each time.
#[tokio::test(start_paused = true)]
async fn watch_resumes_after_transient_failures() {
    let (script, mut watcher) = watcher(vec![
        refusal(500, "InternalError"),
        Answer::Fail(ListWatchError::transport("reset")),
        refusal(404, "NotFound"),
        refusal(418, "Teapot"),
        Answer::Panic,
        short_watch(vec![error_event(500, "InternalError")]),
        short_watch(vec![error_event(429, "TooManyRequests")]),
        short_watch(vec![Beat::Panic]),
        watch(vec![Beat::HangAndPanic]),
        Answer::Hang,
        watch(vec![added("a", 11)]),
    ]);
    assert_eq!(next(&mut watcher).await, "+a");
    assert_eq!(script.log(), vec!["watch@10"; 11]);
    let gaps = script.gaps();
    assert!(gaps.iter().all(|gap| *gap >= SECOND / 2), "{gaps:?}");
}

/// RW3. We differ for a 410 at the opening: no later watch can succeed, so it ends the watcher too.
#[tokio::test(start_paused = true)]
async fn watch_ends_with_error_when_expired_or_refused() {
    for (answer, code) in [
        (refusal(410, "Expired"), "410"),
        (short_watch(vec![error_event(410, "Gone")]), "410"),
        (refusal(403, "Forbidden"), "403"),
        (short_watch(vec![error_event(403, "Forbidden")]), "403"),
        (refusal(401, "Unauthorized"), "401"),
    ] {
        let (script, mut watcher) = watcher(vec![answer, watch(vec![added("a", 11)])]);
        assert_eq!(next(&mut watcher).await, code);
        assert_eq!(next(&mut watcher).await, "end");
        assert_eq!(script.log(), ["watch@10"]);
    }
}

/// RW4
#[tokio::test(start_paused = true)]
async fn resumed_watch_loses_and_repeats_nothing() {
    let (script, mut watcher) = watcher(vec![
        short_watch(vec![added("a", 12), bookmark(15), Beat::Pause(2 * SECOND)]),
        short_watch(vec![]),
        short_watch(vec![deleted("b", 20), Beat::Pause(2 * SECOND)]),
        // Repeats the last event, and adds one of the same version.
        watch(vec![deleted("b", 20), deleted("c", 20), modified("a", 31)]),
    ]);
    for expected in ["+a", "-b", "-c", "~a"] {
        assert_eq!(next(&mut watcher).await, expected);
    }
    let log = ["watch@10", "watch@15", "watch@15", "watch@20"];
    assert_eq!(script.log(), log);
    assert_eq!(watcher.resource_version(), Some(&31.into()));
}

// Aggregated servers send the version of the last change with a deletion.
#[tokio::test(start_paused = true)]
async fn deletion_with_version_of_last_event_is_returned() {
    let events = vec![added("a", 11), modified("a", 12), deleted("a", 12)];
    let (_, mut watcher) = watcher(vec![watch(events)]);
    for expected in ["+a", "~a", "-a"] {
        assert_eq!(next(&mut watcher).await, expected);
    }
}

// As client-go's, which ends with an internal error.
#[tokio::test(start_paused = true)]
async fn object_without_version_ends_watch_with_error() {
    let events = || {
        let mut unversioned = object("a", 0);
        unversioned.metadata.resource_version = None;
        let item = || Decoded::Object(unversioned.clone());
        [
            WatchEvent::Added(item()),
            WatchEvent::Modified(item()),
            WatchEvent::Deleted(item()),
        ]
    };
    for event in events() {
        let (script, mut watcher) = watcher(vec![watch(vec![added("b", 11), Beat::Event(event)])]);
        assert_eq!(next(&mut watcher).await, "+b");
        assert_eq!(next(&mut watcher).await, "error");
        assert_eq!(next(&mut watcher).await, "end");
        assert_eq!(script.log(), ["watch@10"]);
    }
}

/// RW5
#[tokio::test(start_paused = true)]
async fn dropped_wait_loses_no_event() {
    let (_, mut watcher) = watcher(vec![watch(vec![Beat::Pause(MINUTE), added("a", 11)])]);
    for _ in 0..5 {
        let wait = tokio::time::timeout(10 * SECOND, watcher.next()).await;
        assert!(wait.is_err());
    }
    assert_eq!(next(&mut watcher).await, "+a");
}

// INV-REFL-9
#[tokio::test(start_paused = true)]
async fn options_modifier_that_panics_is_left_out() {
    let config = ReflectorConfig::default()
        .label_selector("app=shop")
        .with_options_modifier(|_| panic!("a modifier panicked on purpose"));
    let (script, mut watcher) = configured(config, vec![watch(vec![added("a", 11)])]);
    assert_eq!(next(&mut watcher).await, "+a");
    let options = &script.requests()[0].options;
    assert_eq!(options.label_selector.as_deref(), Some("app=shop"));
}

/// UN1
#[tokio::test(start_paused = true)]
async fn until_continues_after_event_of_previous_call() {
    let events = vec![added("a", 11), modified("a", 12), deleted("a", 13)];
    let (_, mut watcher) = watcher(vec![watch(events)]);
    let modified = watcher
        .until(|event| matches!(event, WatchEvent::Modified(_)))
        .await;
    assert_eq!(line(&modified.unwrap()), "~a");
    let deleted = watcher
        .until(|event| matches!(event, WatchEvent::Deleted(_)))
        .await;
    assert_eq!(line(&deleted.unwrap()), "-a");
    let never = watcher.until(|_| true);
    assert!(tokio::time::timeout(SECOND, never).await.is_err());
}

/// UN1
#[tokio::test(start_paused = true)]
async fn until_returns_error_when_watch_ends() {
    let (_, mut watcher) = watcher(vec![refusal(403, "Forbidden")]);
    let error = watcher.until(|_| true).await.unwrap_err();
    assert_eq!(error.status().map(|status| status.code), Some(403));
    assert!(watcher.until(|_| true).await.is_err());
}
