//! Waiting for a condition on the state.

mod support;

use std::time::Duration;

use informer_reflector::{ListMode, ReflectorConfig};
use informer_store::{Object as _, ResourceVersion, Snapshot};
use informer_tools::until_with_sync;
use k8s_openapi::api::core::v1::ConfigMap;
use support::*;

fn lists() -> ReflectorConfig {
    ReflectorConfig::default().list_mode(ListMode::List).seed(5)
}

fn version_of(name: &str) -> impl Fn(&Snapshot<ConfigMap>) -> Option<ResourceVersion> {
    let key = format!("shop/{name}");
    move |objects| objects.get(key.as_str())?.resource_version()
}

/// UN2
#[tokio::test(start_paused = true)]
async fn condition_met_by_first_list_returns_at_once() {
    let script = Script::new([list(10, vec![object("a", 1)]), watch(vec![])]);
    assert_eq!(
        until_with_sync(script, lists(), version_of("a")).await,
        Ok(1.into())
    );
}

/// UN2
#[tokio::test(start_paused = true)]
async fn condition_met_after_failure_and_change_returns() {
    let script = Script::new([
        refusal(500, "InternalError"),
        list(10, vec![object("a", 1)]),
        watch(vec![Beat::Pause(MINUTE), added("b", 11)]),
    ]);
    assert_eq!(
        until_with_sync(script, lists(), version_of("b")).await,
        Ok(11.into())
    );
}

/// UN2
#[tokio::test(start_paused = true)]
async fn condition_never_met_waits_and_sees_no_state_before_first_list() {
    let script = Script::new([refusal(403, "Forbidden")]);
    let never = until_with_sync(script, lists(), |objects| Some(objects.len()));
    let waited = tokio::time::timeout(Duration::from_secs(5), never).await;
    assert!(waited.is_err(), "no list was applied");
}

#[tokio::test(start_paused = true)]
async fn selector_that_does_not_parse_is_refused() {
    let script = Script::new([]);
    let config = lists().label_selector("a in (");
    let refused = until_with_sync(script.clone(), config, |objects| Some(objects.len())).await;
    assert!(refused.is_err());
    assert!(script.log().is_empty());
}
