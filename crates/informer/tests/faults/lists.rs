//! Lists that fail: refused, cut, stalled, expired, unreadable.

use informer::ListMode;
use informer_testkit::{Answer, Fault, Status};
use serde_json::json;

use crate::rig::{
    MODES, Rig, any_list, any_watch, delete, server, streaming_list, sync_request, write,
};

const HTML: &str = "<html><head><title>502 Bad Gateway</title></head><body>{nginx</body></html>";

/// peers 19, 24, 25
#[tokio::test]
async fn failed_first_list_is_retried_whatever_the_failure() {
    let html = |code: u16| {
        let answer = Answer::text(code, HTML).header("content-type", "text/html");
        Fault::from(answer)
    };
    let faults = [
        Status::failure(401, "Unauthorized", "Unauthorized").into(),
        Status::failure(403, "Forbidden", "configmaps is forbidden").into(),
        Status::failure(404, "NotFound", "the server could not find it").into(),
        Status::failure(500, "InternalError", "etcd has no leader").into(),
        Status::failure(503, "ServiceUnavailable", "shutting down").into(),
        html(502),
        html(200),
        Answer::json(200, "").into(),
        Answer::json(200, "null").into(),
        Answer::json(200, r#"{"kind":"ConfigMapList","apiVersion":"v1"}"#).into(),
        Answer::json(200, r#"{"kind":"ConfigMapList","metadata":{},"items":[{"#).into(),
        Answer::json(500, "").into(),
        Fault::Disconnect,
        Fault::Cut { after: 0 },
        Fault::Cut { after: 700 },
        Fault::End { after: 0 },
        Fault::End { after: 700 },
    ];
    for mode in MODES {
        for fault in &faults {
            let server = server().await;
            (0..9).for_each(|number| write(&server, number, "red"));
            server.fail(sync_request(mode), fault.clone(), 3);
            let rig = Rig::start(server, mode);
            rig.agrees().await;
            assert!(
                rig.lists() <= 8,
                "{mode:?} {fault:?}: {} lists",
                rig.lists()
            );
            write(&rig.server, 3, "green");
            delete(&rig.server, 4);
            rig.agrees().await;
            rig.end().await;
        }
    }
}

/// A body that is no list must not be taken for an empty one: that would delete everything.
#[tokio::test]
async fn relist_with_invalid_response_deletes_nothing() {
    let nonsense = [
        "",
        "null",
        "{}",
        "[]",
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\"}",
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":503}",
        "{\"kind\":\"SecretList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[]}",
        "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"9\"}}",
        "{\"error\":\"no healthy upstream\"}",
        "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[",
        "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":{}}",
        "{\"type\":\"ADDED\",\"object\":{}}",
    ];
    for body in nonsense {
        let rig = Rig::synced(ListMode::List, 9).await;
        let expired = Status::failure(410, "Expired", "too old resource version");
        rig.server.fail_next(any_watch(), expired);
        rig.server.fail_next(any_list(), Answer::json(200, body));
        rig.server.clear_requests();
        rig.server.drop_watches();
        rig.until("a second list", |rig| rig.lists() >= 2).await;
        rig.agrees().await;
        assert_eq!(rig.history.len(), 9, "{body}: no object was deleted");
        rig.end().await;
    }
}

/// peers 24: no response, and a body that stalls half way.
#[tokio::test]
async fn hanging_list_times_out_and_is_retried() {
    for fault in [Fault::HoldOpen, Fault::Stall { after: 300 }] {
        let server = server().await;
        (0..9).for_each(|number| write(&server, number, "red"));
        server.fail_next(any_list(), fault);
        let rig = Rig::start(server, ListMode::List);
        rig.agrees().await;
        assert_eq!(rig.lists(), 2);
        rig.end().await;
    }
}

/// peers 10, 11
#[tokio::test]
async fn failed_or_expired_page_restarts_list() {
    let expired = Status::failure(410, "Expired", "the provided continue parameter is too old");
    let faults = [
        expired.into(),
        Status::failure(500, "InternalError", "x").into(),
        Fault::Cut { after: 300 },
        Fault::End { after: 300 },
    ];
    for fault in faults {
        let server = server().await;
        (0..11).for_each(|number| write(&server, number, "red"));
        server.fail(any_list().has_query("continue"), fault.clone(), 2);
        let rig = Rig::start(server, ListMode::List);
        rig.agrees().await;
        assert!(rig.lists() <= 3, "{fault:?}: {} lists", rig.lists());
        rig.end().await;
    }
}

/// peers 34: the server never sends the end of the initial events and closes.
#[tokio::test]
async fn streaming_list_without_end_falls_back_to_list() {
    let server = server().await;
    (0..9).for_each(|number| write(&server, number, "red"));
    let ghost = json!({"type": "ADDED", "object": {"kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {"name": "ghost", "namespace": "default", "uid": "g", "resourceVersion": "1"}}});
    server.fail(
        streaming_list(),
        Answer::json(200, format!("{ghost}\n")),
        1000,
    );
    let rig = Rig::start(server, ListMode::Auto);
    rig.agrees().await;
    assert!(rig.history.of("default/ghost").is_empty());
    assert!(rig.lists() <= 4, "{} lists", rig.lists());
    // The refusal is remembered.
    rig.server.compact();
    rig.server
        .fail_next(any_watch(), Status::failure(410, "Expired", "too old"));
    rig.server.drop_watches();
    let before = rig.lists();
    rig.until("a relist", |rig| rig.lists() > before).await;
    rig.agrees().await;
    assert!(rig.lists() <= before + 2);
    rig.end().await;
}

/// peers 34: the server never sends the end of the initial events and holds the stream open.
#[tokio::test]
async fn stalled_streaming_list_falls_back_to_list() {
    let server = server().await;
    (0..9).for_each(|number| write(&server, number, "red"));
    server.fail(streaming_list(), Fault::Stall { after: 900 }, 1000);
    let rig = Rig::start(server, ListMode::Auto);
    rig.agrees().await;
    assert_eq!(rig.lists(), 2);
    rig.end().await;
}

/// peers 35, 39: the server does not support streaming lists.
#[tokio::test]
async fn server_without_streaming_lists_is_listed_once() {
    let server = informer_testkit::ApiServer::builder();
    let server = server.streaming_lists(false).start().await.unwrap();
    (0..9).for_each(|number| write(&server, number, "red"));
    let rig = Rig::start(server, ListMode::Auto);
    rig.agrees().await;
    assert_eq!((rig.lists(), rig.watches()), (2, 2));
    rig.end().await;
}

/// peers 5
#[tokio::test]
async fn too_large_version_is_dropped_at_once() {
    for mode in MODES {
        let rig = Rig::synced(mode, 5).await;
        let expired = Status::failure(410, "Expired", "too old resource version");
        let mut large = Status::failure(
            504,
            "Timeout",
            "Too large resource version: 750, current: 700",
        );
        large = large.with_retry_after(1);
        rig.server.clear_requests();
        rig.server.fail_next(any_watch(), expired);
        rig.server
            .fail(sync_request(mode).has_query("resourceVersion"), large, 1000);
        rig.server.drop_watches();
        rig.until("two lists", |rig| rig.lists() >= 2).await;
        write(&rig.server, 1, "green");
        rig.agrees().await;
        assert_eq!(rig.lists(), 2);
        rig.end().await;
    }
}

/// peers 28
#[tokio::test]
async fn undecodable_object_delays_no_other() {
    for mode in MODES {
        let server = server().await;
        (0..9).for_each(|number| write(&server, number, "red"));
        let name = |name: &str| json!({"namespace": "default", "name": name});
        let bad = json!({"metadata": name("bad"), "data": {"color": {"r": 1}}});
        server.create("configmaps", bad).unwrap();
        let rig = Rig::start(server, mode);
        rig.until("all others", |rig| rig.cached().len() == 9).await;
        assert_eq!(rig.informer.status().reflector.undecodable, 1);

        // A good version replaces it, a bad one keeps the last good one.
        let patch = |color| json!({"data": {"color": color}});
        let write_bad = |color| {
            let patch = patch(color);
            rig.server
                .merge_patch("configmaps", "default", "bad", patch)
                .unwrap();
        };
        write_bad(json!("blue"));
        rig.agrees().await;
        write_bad(json!([1]));
        write(&rig.server, 1, "green");
        rig.until("an undecodable object", |rig| {
            let status = rig.informer.status().reflector;
            status.undecodable == 1
                && rig.cached()["shop/c1"] == crate::rig::listed(&rig.server)["shop/c1"]
        })
        .await;
        assert!(rig.cached().contains_key("default/bad"));
        assert!(rig.informer.store().snapshot().is_stale("default/bad"));
        rig.server.delete("configmaps", "default", "bad").unwrap();
        rig.agrees().await;
        assert_eq!(rig.lists(), 1);
        assert_eq!(rig.informer.status().reflector.undecodable, 0);
        rig.end().await;
    }
}
