//! Settings and numbers of requests of any value, also zero and endless: no panic, and a server that serves.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::Duration;

use common::{delete, get, post, send_json};
use futures_util::StreamExt as _;
use http::Method;
use informer_reflector::ListerWatcher as _;
use informer_testkit::{ApiServer, Fault, RequestMatcher, Workload};
use informer_wire::{ListOptions, PartialObjectMetadata, Resource, WatchEvent};
use proptest::prelude::*;
use serde_json::json;
use tokio::runtime::Builder;

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::from_nanos(1)),
        Just(Duration::from_secs(60)),
        Just(Duration::MAX),
        any::<Duration>(),
    ]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX - 1),
        Just(u64::MAX),
        any::<u64>()
    ]
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![Just(0), Just(1), Just(usize::MAX), any::<usize>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// In virtual time: a watch of an hour with its bookmarks and its end.
    #[test]
    fn server_of_any_settings_serves_lists_and_watches(
        period in duration(),
        history in size(),
        events in size(),
        grace in duration(),
        revision in number(),
        seed: u64,
        flags: [bool; 3],
        replica in size(),
        held in number(),
        timeout in duration(),
    ) {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let server = ApiServer::builder()
                .bookmark_period(period.max(Duration::from_secs(1)))
                .history_limit(history)
                .slow_watches(events, grace)
                .first_revision(revision)
                .seed(seed)
                .streaming_lists(flags[0])
                .create_namespaces(flags[1])
                .protobuf(flags[2])
                .in_memory();
            let pods = Resource::builtin("pods").unwrap();
            let lister = server.lister_watcher::<PartialObjectMetadata>(&pods, None);
            let pod = json!({"metadata": {"name": "a", "namespace": "default"}});
            server.create("pods", pod).unwrap();
            server.route_to(replica);
            server.hold_replica(replica, held);
            server.release_replica(replica);
            let now = server.resource_version();
            let options = ListOptions::default()
                .resource_version(now.into())
                .allow_watch_bookmarks(true)
                .timeout(timeout.clamp(Duration::from_secs(1), Duration::from_secs(3600)));
            let mut watch = Box::pin(lister.watch(options).await.unwrap());
            let label = json!({"metadata": {"labels": {"a": "b"}, "generation": i64::MAX}});
            server.merge_patch("pods", "default", "a", label).unwrap();
            let first = watch.next().await.unwrap().unwrap();
            assert!(matches!(first, WatchEvent::Modified(_)), "{first:?}");
            while let Some(event) = watch.next().await {
                assert!(matches!(event, Ok(WatchEvent::Bookmark { .. })), "{event:?}");
            }
            server.restart_replica(replica);
            server.compact_to(held);
            server.set_history_limit(history);
            let _ = server.rewind(held);
            let _ = server.list("pods", "").unwrap();
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Over HTTP, whatever the numbers of the query are.
    #[test]
    fn requests_with_any_numbers_are_answered(
        value in prop_oneof![number().prop_map(|n| n.to_string()), any::<i64>().prop_map(|n| n.to_string()),
            Just(i64::MAX.to_string()), "\\PC{0,8}"],
        delay in duration(),
        after in number(),
        bytes in size(),
    ) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = ApiServer::start().await.unwrap();
            let pods = "/api/v1/namespaces/default/pods";
            post(&server, pods, json!({"metadata": {"name": "a"}})).await;
            let value: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
            for key in ["limit", "resourceVersion", "timeoutSeconds", "continue"] {
                let answer = get(&server, &format!("{pods}?{key}={value}")).await;
                assert!(answer.code.as_u16() < 600);
            }
            let options = json!({"gracePeriodSeconds": after, "dryRun": ["All"]});
            send_json(&server, Method::DELETE, &format!("{pods}/a"), options).await;
            // Each watch is opened, and left.
            for key in ["timeoutSeconds", "resourceVersion"] {
                let path = format!("{pods}?watch=1&allowWatchBookmarks=1&{key}={value}");
                drop(common::open(&server, Method::GET, &path, &[], "").await.unwrap());
            }
            // What a fault leaves of an answer may be nothing.
            for fault in [
                Fault::Delay(delay),
                Fault::Cut { after },
                Fault::End { after },
                Fault::Stall { after },
                Fault::Trickle { bytes, every: Duration::ZERO },
            ] {
                server.fail_next(RequestMatcher::any(), fault);
                let request = common::open(&server, Method::GET, pods, &[], "");
                let _ = tokio::time::timeout(Duration::from_millis(20), request).await;
            }
            server.clear_faults();
            assert_eq!(get(&server, pods).await.code, 200);
            assert_eq!(delete(&server, &format!("{pods}/a")).await.code, 200);
            server.shutdown().await;
        });
    }

    #[test]
    fn workload_of_any_rate_runs_and_stops(
        rate in prop_oneof![any::<f64>(), Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), Just(50.0)],
        namespaces in size(),
        nodes in size(),
        seed: u64,
    ) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = ApiServer::builder().in_memory();
            let workload = Workload::new().pods(3).namespaces(namespaces).nodes(nodes).seed(seed);
            let mut workload = workload.managed_fields(seed % 2 == 0);
            workload.fill(&server).unwrap();
            let running = workload.start(&server, rate);
            tokio::time::sleep(Duration::from_millis(15)).await;
            let changes = running.stop().await;
            assert!(changes.created >= 3);
        });
    }
}
