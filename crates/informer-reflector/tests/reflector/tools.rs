//! Watches that go on, and waiting until a condition holds.

use std::time::Duration;

use informer_reflector::tools::{RetryWatcher, until_with_sync};
use informer_reflector::{ListWatchError, ReflectorConfig};
use informer_store::{Object as _, ResourceVersion};
use informer_wire::{Decoded, Status, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::*;

fn watcher(answers: Vec<Answer>) -> (Script, RetryWatcher<Script>) {
    let script = Script::new(answers);
    let config = ReflectorConfig::default().seed(5);
    let watcher =
        RetryWatcher::with_config(script.clone(), 10.into(), config).expect("10 is a version");
    (script, watcher)
}

fn line(event: &WatchEvent<ConfigMap>) -> String {
    let (what, item) = match event {
        WatchEvent::Added(item) => ("+", item),
        WatchEvent::Modified(item) => ("~", item),
        WatchEvent::Deleted(item) => ("-", item),
        other => return format!("{other:?}"),
    };
    match item {
        Decoded::Object(object) => format!("{what}{}", object.name()),
        other => format!("{what}{other:?}"),
    }
}

/// The next events as `+a`, `~a`, `-a`, the error as its status code, or `end`.
async fn next(watcher: &mut RetryWatcher<Script>) -> String {
    let next = tokio::time::timeout(60 * MINUTE, watcher.next()).await;
    match next.expect("something comes within an hour") {
        None => "end".to_owned(),
        Some(Ok(event)) => line(&event),
        Some(Err(error)) => format!("{}", error.status().map_or(0, |status| status.code)),
    }
}

/// RW1
#[tokio::test(start_paused = true)]
async fn a_watch_that_goes_on_must_begin_somewhere() {
    for nowhere in ["", "0"] {
        let script = Script::new([]);
        let refused = RetryWatcher::new(script, ResourceVersion::new(nowhere));
        assert!(matches!(refused, Err(ListWatchError::Protocol(_))));
    }
}

/// RW2. Unlike client-go's it waits longer each time.
#[tokio::test(start_paused = true)]
async fn what_may_pass_is_survived() {
    let (script, mut watcher) = watcher(vec![
        refusal(500, "InternalError"),
        Answer::Fail(ListWatchError::transport("reset")),
        refusal(404, "NotFound"),
        refusal(418, "Teapot"),
        Answer::Panic,
        short_watch(vec![error_event(500, "InternalError")]),
        short_watch(vec![error_event(429, "TooManyRequests")]),
        Answer::Hang,
        watch(vec![added("a", 11)]),
    ]);
    assert_eq!(next(&mut watcher).await, "+a");
    assert_eq!(script.log(), vec!["watch@10"; 9]);
    assert!(
        script.gaps().iter().all(|gap| *gap >= SECOND / 2),
        "{:?}",
        script.gaps()
    );
}

/// RW3. We differ for a 410 at the opening: it cannot heal, so it ends the watch too.
#[tokio::test(start_paused = true)]
async fn what_never_passes_ends_it_and_is_told() {
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
async fn nothing_is_lost_or_told_twice_where_watches_end() {
    let (script, mut watcher) = watcher(vec![
        short_watch(vec![added("a", 12), bookmark(15), Beat::Pause(2 * SECOND)]),
        short_watch(vec![]),
        // What it had already, and one more deletion of the same version.
        short_watch(vec![
            added("a", 12),
            deleted("b", 20),
            Beat::Pause(2 * SECOND),
        ]),
        watch(vec![deleted("b", 20), deleted("c", 20), modified("a", 31)]),
    ]);
    for expected in ["+a", "-b", "-c", "~a"] {
        assert_eq!(next(&mut watcher).await, expected);
    }
    assert_eq!(
        script.log(),
        ["watch@10", "watch@15", "watch@15", "watch@20"]
    );
    assert_eq!(watcher.resource_version(), Some(&31.into()));
}

/// RW5: it can be left at any moment, and a wait that is given up loses nothing.
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_given_up_loses_nothing() {
    let (_, mut watcher) = watcher(vec![watch(vec![Beat::Pause(MINUTE), added("a", 11)])]);
    for _ in 0..5 {
        let wait = tokio::time::timeout(10 * SECOND, watcher.next()).await;
        assert!(wait.is_err());
    }
    assert_eq!(next(&mut watcher).await, "+a");
}

/// UN1
#[tokio::test(start_paused = true)]
async fn conditions_are_waited_for_one_after_the_other() {
    let events = vec![added("a", 11), modified("a", 12), deleted("a", 13)];
    let (_, mut watcher) = watcher(vec![watch(events), refusal(403, "Forbidden")]);
    let modified = watcher
        .until(|event| matches!(event, WatchEvent::Modified(_)))
        .await
        .unwrap();
    assert_eq!(line(&modified), "~a");
    let deleted = watcher
        .until(|event| matches!(event, WatchEvent::Deleted(_)))
        .await
        .unwrap();
    assert_eq!(line(&deleted), "-a");
    let never = watcher.until(|_| true);
    assert!(tokio::time::timeout(SECOND, never).await.is_err());
    let (_, mut watcher) = self::watcher(vec![refusal(403, "Forbidden")]);
    let error = watcher.until(|_| true).await.unwrap_err();
    assert_eq!(error.status().map(|status| status.code), Some(403));
    assert!(watcher.until(|_| true).await.is_err());
}

/// UN2
#[tokio::test(start_paused = true)]
async fn a_condition_sees_whole_states_from_the_first_list_on() {
    let there = |name: &'static str| {
        move |store: &informer_store::Snapshot<ConfigMap>| {
            store
                .get(format!("shop/{name}").as_str())
                .map(|object| object.resource_version())
        }
    };
    // True from the start.
    let script = Script::new([list(10, vec![object("a", 1)]), watch(vec![])]);
    let found = until_with_sync(script, lists(), there("a")).await;
    assert_eq!(found, Some(1.into()));
    // True later, after a failure.
    let script = Script::new([
        Answer::Fail(Status::failure(500, "InternalError", "no").into()),
        list(10, vec![object("a", 1)]),
        watch(vec![Beat::Pause(MINUTE), added("b", 11)]),
    ]);
    let found = until_with_sync(script, lists(), there("b")).await;
    assert_eq!(found, Some(11.into()));
    // Never.
    let script = Script::new([refusal(403, "Forbidden")]);
    let never = until_with_sync(script, lists(), there("a"));
    assert!(
        tokio::time::timeout(Duration::from_secs(5), never)
            .await
            .is_err()
    );
}
