//! Servers that go away and come back: with the same data, with newer data, with older data.

use std::time::Duration;

use informer::ListMode;
use informer_testkit::{Answer, ApiServer, Fault};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use crate::connections::Connections;
use crate::history::Told;
use crate::rig::{
    MODES, Rig, any_list, any_watch, config, delete, http, informer_over, listed, server,
    until_true, within, write,
};

/// peers 43, 44, 59: what happened in the gap is heard of once.
#[tokio::test]
async fn what_is_missed_in_a_gap_is_made_up_for() {
    for mode in MODES {
        let mut rig = Rig::synced(mode, 6).await;
        rig.change_while_away(|server| {
            delete(server, 0);
            write(server, 1, "green");
            write(server, 9, "new");
            // Deleted and made anew.
            delete(server, 2);
            write(server, 2, "green");
            server.compact();
        })
        .await;
        rig.agrees().await;
        let missed = Told::Deleted {
            final_state_unknown: true,
        };
        let relist = Told::Updated {
            cause: informer::Cause::Relist,
        };
        let initial = Told::Added { initial: true };
        let added = Told::Added { initial: false };
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
async fn a_restart_with_the_same_data_needs_no_list() {
    for mode in MODES {
        let mut rig = Rig::synced(mode, 6).await;
        rig.change_while_away(|server| {
            delete(server, 0);
            write(server, 1, "green");
        })
        .await;
        rig.agrees().await;
        assert_eq!(rig.lists(), 0);
        let seen = Told::Deleted {
            final_state_unknown: false,
        };
        assert_eq!(rig.history.of("default/c0")[1..], [seen]);
        rig.end().await;
    }
}

/// The server comes back as another one: restored from a backup, or from later.
#[tokio::test]
async fn a_server_may_come_back_from_another_time() {
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

/// peers 70: what was written can be read back once the cache has caught up, whatever happens meanwhile.
#[tokio::test]
async fn writes_are_read_back_through_all_interruptions() {
    for mode in MODES {
        let rig = Rig::synced(mode, 6).await;
        for round in 0..60_usize {
            let expired = informer_testkit::Status::new(410, "Expired", "too old");
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
async fn many_informers_share_a_client() {
    let server = server().await;
    (0..5).for_each(|number| write(&server, number, "red"));
    let client = informer::Client::anonymous(&server.url()).unwrap();
    let many: Vec<_> = (0..200)
        .map(|_| informer_over(client.clone(), config(ListMode::Auto), http()))
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

/// What it is called, the fault that leads to it, and after how many requests it is there.
type Moment = (&'static str, fn(&ApiServer), usize);

/// peers 65: at each of these moments all ends, and no connection is left open.
#[tokio::test]
async fn a_stop_at_any_moment_closes_all_connections() {
    let moments: [Moment; 6] = [
        ("at the connection", |_| {}, 0),
        (
            "before the answer",
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
        let informer = informer_over(client, config(ListMode::List), http());
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

/// The delete of an object's earlier life comes after its later life has begun.
#[tokio::test]
async fn a_late_delete_of_an_earlier_life_deletes_nothing() {
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
    rig.until("the second life", |rig| {
        rig.history.of("default/twin").len() >= 4
    })
    .await;
    let told = rig.history.of("default/twin");
    let missed = Told::Deleted {
        final_state_unknown: true,
    };
    assert_eq!(told[1], missed);
    assert!(matches!(told[2], Told::Added { .. }) && matches!(told[3], Told::Updated { .. }));
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
    let expired = informer_testkit::Status::new(410, "Expired", "too old");
    rig.server
        .end_watches(informer_testkit::StreamEnd::Error(expired));
    rig.agrees().await;
    assert!(!listed(&rig.server).contains_key("default/twin"));
    rig.end().await;
}
