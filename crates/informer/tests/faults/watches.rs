//! Watches that fail: expired, closed, cut, silent, overloaded.

use std::time::Duration;

use informer::{ListMode, ReflectorConfig};
use informer_testkit::{Answer, Fault, RequestRecord, Status, StreamEnd};

use crate::rig::{MODES, Rig, any_watch, config, delete, is_list, server, sync_request, write};

fn expired(reason: &str) -> Status {
    Status::failure(410, reason, "too old resource version: 5 (9)")
}

/// peers 1, 3: the list gives the same version again and again, and watches refuse it.
#[tokio::test]
async fn version_refused_by_every_watch_leads_to_list_without_version() {
    let rig = Rig::synced(ListMode::List, 5).await;
    for fault in [
        Fault::from(expired("Expired")),
        Fault::ErrorEvent(expired("Expired")),
    ] {
        let version = rig
            .informer
            .last_sync_resource_version()
            .unwrap()
            .to_string();
        rig.server.clear_requests();
        rig.server
            .fail(any_watch().query("resourceVersion", version), fault, 1000);
        rig.server.drop_watches();
        let newest = |request: &RequestRecord| {
            is_list(request) && request.query_value("resourceVersion").is_none()
        };
        rig.until("a list without version", |rig| {
            rig.server.requests().iter().any(newest)
        })
        .await;
        assert!(rig.lists() <= 3, "{} lists", rig.lists());
        rig.server.clear_faults();
        write(&rig.server, 0, "green");
        rig.agrees().await;
    }
    rig.end().await;
}

/// peers 2, 3
#[tokio::test]
async fn expired_watch_leads_to_one_list() {
    for mode in MODES {
        let faults = [
            Fault::ErrorEvent(expired("Expired")),
            Fault::ErrorEvent(expired("Gone")),
            expired("Expired").into(),
            Answer::text(410, "gone").into(),
        ];
        for fault in faults {
            let rig = Rig::synced(mode, 5).await;
            rig.server.clear_requests();
            rig.server.fail_next(any_watch(), fault);
            rig.server.drop_watches();
            write(&rig.server, 1, "green");
            delete(&rig.server, 2);
            rig.until("a list", |rig| rig.lists() > 0).await;
            rig.agrees().await;
            assert_eq!(rig.lists(), 1);
            rig.end().await;
        }
    }
}

/// peers 2: in the middle of a watch.
#[tokio::test]
async fn watch_expiring_while_open_leads_to_list() {
    for mode in MODES {
        let rig = Rig::synced(mode, 5).await;
        rig.server.clear_requests();
        for round in 0..5 {
            rig.server.end_watches(StreamEnd::Error(expired("Expired")));
            write(&rig.server, round, "green");
            rig.until("a list", |rig| rig.lists() > round).await;
            rig.agrees().await;
        }
        assert_eq!(rig.lists(), 5);
        rig.end().await;
    }
}

/// peers 4: a watch from a stale version closes at once, cleanly and without a byte.
#[tokio::test]
async fn watches_closing_at_once_back_off_and_lead_to_list() {
    for mode in MODES {
        let rig = Rig::synced(mode, 5).await;
        rig.server.clear_requests();
        let plain = any_watch().has_query("resourceVersion");
        rig.server.fail(plain, Fault::End { after: 0 }, 10);
        rig.server.drop_watches();
        write(&rig.server, 1, "green");
        rig.until("a list", |rig| rig.lists() > 0).await;
        rig.server.clear_faults();
        rig.agrees().await;
        assert!(rig.watches() <= 14, "{} watches", rig.watches());
        rig.end().await;
    }
}

/// peers 14: a normal close.
#[tokio::test]
async fn watch_closed_cleanly_causes_no_list() {
    for mode in MODES {
        let rig = Rig::synced(mode, 5).await;
        rig.server.clear_requests();
        for round in 0..20 {
            write(&rig.server, round % 7, "green");
            rig.agrees().await;
            match round % 2 {
                0 => rig.server.drop_watches(),
                _ => rig.server.end_watches(StreamEnd::Cut),
            }
            delete(&rig.server, round % 7);
        }
        rig.agrees().await;
        assert_eq!(rig.lists(), 0);
        rig.end().await;
    }
}

/// peers 16
#[tokio::test]
async fn too_many_requests_delays_watch_without_list() {
    let busy = Status::failure(429, "TooManyRequests", "later").with_retry_after(1);
    let text = Answer::text(429, "Too many requests").header("retry-after", "1");
    for fault in [busy.clone().into(), Fault::ErrorEvent(busy), text.into()] {
        let rig = Rig::synced(ListMode::Stream, 5).await;
        rig.server.clear_requests();
        rig.server.fail(any_watch(), fault.clone(), 2);
        rig.server.drop_watches();
        write(&rig.server, 1, "green");
        rig.agrees().await;
        let requests = rig.server.requests();
        assert_eq!((rig.lists(), rig.watches()), (0, 3), "{fault:?}");
        let wait = |at: usize| requests[at].time.duration_since(requests[at - 1].time);
        assert!(wait(1).unwrap() >= Duration::from_secs(1), "{fault:?}");
        assert!(wait(2).unwrap() >= Duration::from_secs(1), "{fault:?}");
        rig.end().await;
    }
}

/// peers 17
#[tokio::test]
async fn internal_errors_retry_watch_before_list() {
    let internal = Status::failure(500, "InternalError", "etcd has no leader");
    for fault in [Fault::from(internal.clone()), Fault::ErrorEvent(internal)] {
        let rig = Rig::synced(ListMode::List, 5).await;
        for (errors, lists) in [(2, 0), (4, 1)] {
            rig.server.clear_requests();
            rig.server.fail(any_watch(), fault.clone(), errors);
            rig.server.drop_watches();
            write(&rig.server, 1, if lists == 0 { "green" } else { "blue" });
            rig.agrees().await;
            rig.until("all faults", |rig| rig.server.faults_used_up())
                .await;
            assert_eq!(rig.lists(), lists, "{fault:?}");
        }
        rig.end().await;
    }
}

/// peers 33: at every byte of two events.
#[tokio::test]
async fn watch_cut_at_any_byte_is_resumed() {
    let rig = Rig::synced(ListMode::List, 5).await;
    rig.server.clear_requests();
    for after in (0..1200).step_by(23) {
        let fault = match after % 2 {
            0 => Fault::Cut { after },
            _ => Fault::End { after },
        };
        rig.server.fail_next(any_watch(), fault);
        rig.server.drop_watches();
        let number = usize::try_from(after).unwrap();
        write(&rig.server, number % 5, &format!("{after}"));
        write(&rig.server, 100 + number, "new");
        rig.agrees().await;
        delete(&rig.server, 100 + number);
    }
    rig.agrees().await;
    rig.end().await;
}

/// peers 24: a watch without a response, and responses that are no watch.
#[tokio::test]
async fn watch_with_invalid_response_is_opened_again() {
    let html = Answer::text(502, "<html>Bad Gateway</html>").header("content-type", "text/html");
    let faults = [
        Fault::HoldOpen,
        Fault::Disconnect,
        html.into(),
        Answer::text(200, "<html>sign in</html>")
            .header("content-type", "text/html")
            .into(),
        Answer::json(200, "{\"type\":").into(),
        Answer::json(200, "[]").into(),
        Answer::json(200, "{}\n").into(),
        Answer::json(200, "{\"type\":\"NEW\",\"object\":{}}\n").into(),
        Answer::json(200, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n").into(),
        Answer::json(200, "{\"type\":\"ERROR\",\"object\":\"oh\"}\n").into(),
        Answer::json(200, "{\"type\":\"BOOKMARK\",\"object\":{}}\n").into(),
        Status::failure(400, "BadRequest", "what?").into(),
        Status::failure(401, "Unauthorized", "Unauthorized").into(),
        Status::failure(403, "Forbidden", "no").into(),
        Status::failure(404, "NotFound", "no such resource").into(),
        Status::failure(405, "MethodNotAllowed", "no watch").into(),
    ];
    for mode in MODES {
        for fault in &faults {
            let server = server().await;
            (0..5).for_each(|number| write(&server, number, "red"));
            let config = config(mode).silence_timeout(Duration::from_secs(1));
            let rig = Rig::start_with(server, config);
            rig.agrees().await;
            rig.server.clear_requests();
            rig.server.fail(any_watch(), fault.clone(), 3);
            rig.server.drop_watches();
            write(&rig.server, 1, "green");
            delete(&rig.server, 2);
            rig.agrees().await;
            let asked = rig.server.requests().len();
            assert!(asked <= 12, "{mode:?} {fault:?}: {asked} requests");
            rig.end().await;
        }
    }
}

/// peers 22, 23: the stream is open and sends nothing, not even the bookmarks that it sent before.
#[tokio::test]
async fn silent_watch_is_opened_again_without_list() {
    let rig = Rig::synced(ListMode::List, 5).await;
    rig.has_bookmarks().await;
    rig.server
        .fail_next(any_watch(), Fault::Stall { after: 600 });
    rig.server.drop_watches();
    rig.server.clear_requests();
    write(&rig.server, 1, "green");
    write(&rig.server, 2, "green");
    write(&rig.server, 3, "green");
    rig.agrees().await;
    assert_eq!(rig.lists(), 0);
    rig.end().await;
}

/// client-go map: every wait ends when the informer is stopped.
#[tokio::test]
async fn informer_stops_at_once_in_any_phase() {
    let busy = Status::failure(429, "TooManyRequests", "later").with_retry_after(200);
    for mode in MODES {
        for fault in [
            Fault::HoldOpen,
            Fault::Stall { after: 500 },
            busy.clone().into(),
        ] {
            let server = server().await;
            (0..9).for_each(|number| write(&server, number, "red"));
            server.fail(sync_request(mode), fault, 1000);
            let rig = Rig::start_with(server, ReflectorConfig::default().list_mode(mode));
            rig.until("a request", |rig| rig.lists() > 0).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            rig.end().await;
        }
    }
}
