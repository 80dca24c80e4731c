//! Servers that go away and come back: with the same data, with newer data, with older data.

use std::time::Duration;

use informer::ListMode;
use informer_testkit::{Answer, ApiServer, Fault};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use crate::connections::Connections;
use crate::history::Received;
use crate::rig::{
    MODES, Rig, any_list, any_watch, config, delete, informer_over, listed, server, until_true,
    within, write,
};

/// peers 43, 44, 59: each change of the gap is received once.
#[tokio::test]
async fn changes_missed_in_gap_are_sent_after_relist() {
    for mode in MODES {
        let mut rig = Rig::synced(mode, 6).await;
        rig.change_while_away(|server| {
            delete(server, 0);
            write(server, 1, "green");
            write(server, 9, "new");
            // Recreated.
            delete(server, 2);
            write(server, 2, "green");
            server.compact();
        })
        .await;
        rig.agrees().await;
        let missed = Received::Deleted {
            final_state_unknown: true,
        };
        let relist = Received::Updated {
            cause: informer::Cause::Relist,
        };
        let initial = Received::Added { initial: true };
        let added = Received::Added { initial: false };
        assert_eq!(
            rig.history.of("default/c0"),
            [initial.clone(), missed.clone()]
        );
        assert_eq!(rig.history.of("shop/c1"), [initial.clone(), relist]);
        assert_eq!(rig.history.of("shop/c9"), std::slice::from_ref(&added));
        assert_eq!(
            rig.history.of("default/c2"),
            [initial.clone(), missed, added]
        );
        assert_eq!(rig.history.of("shop/c3"), [initial]);
        rig.end().await;
    }
}

/// peers 14: the history is still there, so no list is needed.
#[tokio::test]
async fn restart_with_same_data_causes_no_list() {
    for mode in MODES {
        let mut rig = Rig::synced(mode, 6).await;
        rig.change_while_away(|server| {
            delete(server, 0);
            write(server, 1, "green");
        })
        .await;
        rig.agrees().await;
        assert_eq!(rig.lists(), 0);
        let seen = Received::Deleted {
            final_state_unknown: false,
        };
        assert_eq!(rig.history.of("default/c0")[1..], [seen]);
        rig.end().await;
    }
}

/// The server comes back as another one: restored from a backup, or from later.
#[tokio::test]
async fn restarted_server_with_older_or_newer_data_is_followed() {
    for mode in MODES {
        for (seed, later) in [(1, false), (1, true), (2, false), (2, true)] {
            let first = ApiServer::builder()
                .seed(1)
                .first_revision(1000)
                .bookmark_period(Duration::from_millis(100))
                .start()
                .await
                .unwrap();
            (0..6).for_each(|number| write(&first, number, "red"));
            let mut rig = Rig::start(first, mode);
            rig.history.allow_rewinds();
            rig.agrees().await;
            rig.has_bookmarks().await;

            let port = rig.server.address().port();
            let other = ApiServer::builder()
                .seed(seed)
                .first_revision(if later { 5000 } else { 10 })
                .start()
                .await
                .unwrap();
            // Its history begins after the first one's end.
            other.compact();
            (0..4).for_each(|number| write(&other, number, "green"));
            let spare = server().await;
            std::mem::replace(&mut rig.server, spare).shutdown().await;
            rig.come_back(port, other.shutdown().await).await;
            rig.agrees().await;
            assert!(rig.lists() <= 4, "{} lists", rig.lists());

            write(&rig.server, 1, "blue");
            delete(&rig.server, 2);
            rig.agrees().await;
            rig.end().await;
        }
    }
}

/// peers 70: a write can be read once the cache has reached its version, whatever happens meanwhile.
#[tokio::test]
async fn writes_are_read_back_through_all_interruptions() {
    for mode in MODES {
        let rig = Rig::synced(mode, 6).await;
        for round in 0..60_usize {
            let expired = informer_testkit::Status::failure(410, "Expired", "too old");
            match round % 6 {
                1 => rig.server.drop_watches(),
                3 => rig.server.end_watches(informer_testkit::StreamEnd::Cut),
                5 => rig
                    .server
                    .end_watches(informer_testkit::StreamEnd::Error(expired)),
                _ => {}
            }
            write(&rig.server, round % 6, &format!("{round}"));
            let (key, written) = listed(&rig.server)
                .into_iter()
                .max_by_key(|(_, version)| version.1)
                .unwrap();
            within(rig.informer.wait_until(written.1.into()).into_future())
                .await
                .unwrap();
            assert_eq!(rig.cached()[&key], written);
        }
        rig.agrees().await;
        rig.end().await;
    }
}

/// peers 25, 65: many informers over one client.
#[tokio::test]
async fn many_informers_sync_over_one_client() {
    let server = server().await;
    (0..5).for_each(|number| write(&server, number, "red"));
    let client = informer::Client::anonymous(&server.url()).unwrap();
    let many: Vec<_> = (0..200)
        .map(|_| informer_over(client.clone(), config(ListMode::Auto)))
        .collect();
    many.iter().for_each(|informer| informer.start().unwrap());
    for informer in &many {
        within(informer.synced().into_future()).await.unwrap();
        assert_eq!(informer.store().len(), 5);
    }
    server.drop_watches();
    write(&server, 5, "green");
    for informer in &many {
        let newest = server.resource_version().into();
        within(informer.wait_until(newest).into_future())
            .await
            .unwrap();
        assert_eq!(informer.store().len(), 6);
        within(informer.stop()).await.unwrap();
    }
}

/// Its name, the fault that leads to it, and the number of requests until then.
type Moment = (&'static str, fn(&ApiServer), usize);

/// peers 65: at each of these moments all ends, and no connection is left open.
#[tokio::test]
async fn stop_in_any_phase_closes_all_connections() {
    let moments: [Moment; 6] = [
        ("at the connection", |_| {}, 0),
        (
            "before the response",
            |server| server.fail(any_list(), Fault::HoldOpen, 100),
            1,
        ),
        (
            "within a list",
            |server| server.fail(any_list(), Fault::Stall { after: 300 }, 100),
            1,
        ),
        (
            "at the opening of a watch",
            |server| server.fail(any_watch(), Fault::HoldOpen, 100),
            2,
        ),
        (
            "within a backoff",
            |server| server.fail(any_list(), Fault::Disconnect, 100),
            2,
        ),
        ("within a call", |_| {}, 2),
    ];
    for (moment, fault, requests) in moments {
        let server = server().await;
        (0..5).for_each(|number| write(&server, number, "red"));
        fault(&server);
        let between = Connections::to(&server).await;
        let client = informer::Client::anonymous(&between.url()).unwrap();
        let informer = informer_over(client, config(ListMode::List));
        let stuck = |_: informer::Event<ConfigMap>| std::future::pending::<()>();
        let registration = informer.add_handler(stuck).unwrap();
        informer.start().unwrap();
        let asked = || server.requests().len() >= requests;
        until_true(moment, asked).await;
        if moment == "within a call" {
            until_true(moment, || registration.status().queue_depth == 4).await;
        }
        within(informer.stop()).await.unwrap();
        drop((informer, registration));
        until_true(moment, || between.open() == 0).await;
    }
}

/// The deletion of an object is received after it was recreated.
#[tokio::test]
async fn late_deletion_of_older_uid_deletes_nothing() {
    let rig = Rig::synced(ListMode::List, 3).await;
    let object = |uid: &str, version: u64| {
        json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "twin",
            "namespace": "default", "uid": uid, "resourceVersion": version.to_string()}})
    };
    let now = rig.server.resource_version();
    let events = [
        json!({"type": "ADDED", "object": object("one", now + 1)}),
        json!({"type": "ADDED", "object": object("two", now + 3)}),
        json!({"type": "DELETED", "object": object("one", now + 2)}),
        json!({"type": "MODIFIED", "object": object("two", now + 4)}),
    ];
    let body: String = events.iter().map(|event| format!("{event}\n")).collect();
    rig.server.fail_next(any_watch(), Answer::json(200, body));
    rig.server.drop_watches();
    rig.until("the recreated object", |rig| {
        rig.history.of("default/twin").len() >= 4
    })
    .await;
    let received = rig.history.of("default/twin");
    let missed = Received::Deleted {
        final_state_unknown: true,
    };
    assert_eq!(received[1], missed);
    assert!(
        matches!(received[2], Received::Added { .. })
            && matches!(received[3], Received::Updated { .. })
    );
    assert_eq!(rig.cached()["default/twin"], ("two".to_owned(), now + 4));

    // The server never had that object and is behind what the script claimed: a list sets it right.
    (0..10).for_each(|_| {
        write(
            &rig.server,
            0,
            &format!("{}", rig.server.resource_version()),
        )
    });
    rig.server.compact();
    let expired = informer_testkit::Status::failure(410, "Expired", "too old");
    rig.server
        .end_watches(informer_testkit::StreamEnd::Error(expired));
    rig.agrees().await;
    assert!(!listed(&rig.server).contains_key("default/twin"));
    rig.end().await;
}
