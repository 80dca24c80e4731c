//! The server without a socket, in virtual time: what a lister and watcher of it sees, and the faults that need
//! replicas, rewinds or patience.

use std::time::Duration;

use futures_util::StreamExt as _;
use informer_reflector::{ListEvent, ListRequest, ListWatchError, ListerWatcher};
use informer_testkit::{ApiServer, Fault, MemoryListerWatcher, RequestMatcher, Verb};
use informer_wire::{
    Decoded, ListOptions, PartialObjectMetadata, Resource, ResourceVersionMatch, Scope, WatchEvent,
};
use serde_json::json;
use tokio::time::Instant;

fn pods() -> Resource {
    Resource::new("", "v1", "Pod", "pods", Scope::Namespaced)
}

fn server() -> (ApiServer, MemoryListerWatcher<PartialObjectMetadata>) {
    let server = ApiServer::builder().seed(1).in_memory();
    let lister = server.lister_watcher(&pods(), None);
    (server, lister)
}

fn create(server: &ApiServer, name: &str) -> u64 {
    let pod = json!({"metadata": {"namespace": "web", "name": name}});
    server.create("pods", pod).expect("the name is free");
    server.resource_version()
}

fn at(version: u64) -> ListOptions {
    ListOptions::default().resource_version(version.into())
}

/// The names in a list and its version.
async fn list(
    lister: &MemoryListerWatcher<PartialObjectMetadata>,
    options: ListOptions,
) -> Result<(Vec<String>, u64), ListWatchError> {
    let mut page = Box::pin(lister.list(ListRequest::new(options)).await?);
    let mut names = Vec::new();
    while let Some(event) = page.next().await {
        match event? {
            ListEvent::Item(Decoded::Object(pod)) => names.push(pod.metadata().name().to_owned()),
            ListEvent::End(meta) => {
                let version = meta.resource_version.and_then(|rv| rv.as_u64());
                return Ok((names, version.unwrap_or(0)));
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("the page has no end")
}

/// The next event, as `ADDED a`, `BOOKMARK 7`, `ERROR 410`, `END` or `BROKEN`.
async fn next(
    watch: &mut (
             impl futures_util::Stream<Item = Result<WatchEvent<PartialObjectMetadata>, ListWatchError>>
             + Unpin
         ),
) -> String {
    let name = |item: Decoded<PartialObjectMetadata>| match item {
        Decoded::Object(pod) => pod.metadata().name().to_owned(),
        other => format!("{other:?}"),
    };
    match watch.next().await {
        None => "END".to_owned(),
        Some(Err(_)) => "BROKEN".to_owned(),
        Some(Ok(WatchEvent::Added(item))) => format!("ADDED {}", name(item)),
        Some(Ok(WatchEvent::Bookmark {
            resource_version,
            initial_events_end,
        })) => format!(
            "BOOKMARK {resource_version}{}",
            if initial_events_end { " marker" } else { "" }
        ),
        Some(Ok(WatchEvent::Error(status))) => format!("ERROR {}", status.code),
        Some(Ok(other)) => format!("{other:?}"),
    }
}

fn streaming(version: Option<u64>) -> ListOptions {
    let mut options = ListOptions::default()
        .send_initial_events(true)
        .resource_version_match(ResourceVersionMatch::NotOlderThan)
        .allow_watch_bookmarks(true)
        .timeout(Duration::from_secs(600));
    options.resource_version = version.map(Into::into);
    options
}

#[tokio::test(start_paused = true)]
async fn hours_of_bookmarks_pass_in_virtual_time() {
    let (server, lister) = server();
    let version = create(&server, "a");
    let mut watch = lister.watch(streaming(None)).await.unwrap();
    assert_eq!(next(&mut watch).await, "ADDED a");
    assert_eq!(next(&mut watch).await, format!("BOOKMARK {version} marker"));
    let start = Instant::now();
    for _ in 0..9 {
        assert_eq!(next(&mut watch).await, format!("BOOKMARK {version}"));
    }
    assert_eq!(start.elapsed().as_secs(), 540);
    assert_eq!(next(&mut watch).await, format!("BOOKMARK {version}"));
    assert_eq!(next(&mut watch).await, "END");
    assert_eq!(start.elapsed().as_secs(), 600);
}

#[tokio::test(start_paused = true)]
async fn replica_that_is_behind_serves_the_past_and_refuses_the_present() {
    let (server, lister) = server();
    let old = create(&server, "a");
    server.hold_replica(1, old);
    let new = create(&server, "b");
    server.route_to(1);
    assert_eq!(
        list(&lister, at(0)).await.unwrap(),
        (vec!["a".to_owned()], old)
    );
    let fresh = list(&lister, ListOptions::default()).await.unwrap();
    assert_eq!(fresh, (vec!["a".to_owned(), "b".to_owned()], new));
    let error = list(&lister, at(new)).await.unwrap_err();
    assert!(
        error.status().unwrap().is_resource_version_too_large(),
        "{error}"
    );
    // A watch from what it has not seen is accepted and silent until it catches up.
    let options = at(old).timeout(Duration::from_secs(600));
    let mut watch = lister.watch(options).await.unwrap();
    let quiet = tokio::time::timeout(Duration::from_secs(100), next(&mut watch)).await;
    assert!(quiet.is_err(), "{quiet:?}");
    server.release_replica(1);
    assert_eq!(next(&mut watch).await, "ADDED b");
    // A restart breaks its watches and forgets what was before.
    server.restart_replica(1);
    assert_eq!(next(&mut watch).await, "BROKEN");
    let mut watch = lister.watch(at(old)).await.unwrap();
    assert_eq!(next(&mut watch).await, "ERROR 410");
}

#[tokio::test(start_paused = true)]
async fn rewound_server_sends_nothing_to_a_watch_from_the_future() {
    let (server, lister) = server();
    let old = create(&server, "a");
    let new = create(&server, "b");
    assert_eq!(server.rewind(old), old);
    let options = at(new)
        .allow_watch_bookmarks(true)
        .timeout(Duration::from_secs(600));
    let mut watch = lister.watch(options).await.unwrap();
    let quiet = tokio::time::timeout(Duration::from_secs(590), next(&mut watch)).await;
    assert!(quiet.is_err(), "{quiet:?}");
    let now = list(&lister, ListOptions::default()).await.unwrap();
    assert_eq!(now, (vec!["a".to_owned()], old));
}

#[tokio::test(start_paused = true)]
async fn body_and_request_faults_take_effect() {
    let (server, lister) = server();
    let version = create(&server, "a");
    create(&server, "b");
    let watches = RequestMatcher::verb(Verb::Watch);

    server.fail_next(RequestMatcher::any(), Fault::Refuse);
    let refused = lister.watch(at(version)).await.map(|_| ()).unwrap_err();
    assert!(matches!(
        refused,
        ListWatchError::Transport { refused: true, .. }
    ));

    let unknown = "{\"type\":\"RENAMED\",\"object\":{}}\n";
    server.fail_next(watches.clone(), Fault::Before(unknown.into()));
    let mut watch = lister.watch(at(version)).await.unwrap();
    assert_eq!(next(&mut watch).await, "Unknown(\"RENAMED\")");
    assert_eq!(next(&mut watch).await, "ADDED b");

    let every = Duration::from_secs(1);
    server.fail_next(watches.clone(), Fault::Trickle { bytes: 10, every });
    let start = Instant::now();
    let mut watch = lister.watch(at(version)).await.unwrap();
    assert_eq!(next(&mut watch).await, "ADDED b");
    assert!(start.elapsed().as_secs() > 10, "{:?}", start.elapsed());

    server.fail_next(watches.clone(), Fault::WithoutInitialEventsEnd);
    let mut watch = lister.watch(streaming(None)).await.unwrap();
    assert_eq!(next(&mut watch).await, "ADDED a");
    assert_eq!(next(&mut watch).await, "ADDED b");
    assert!(!next(&mut watch).await.ends_with("marker"));

    let unknown = ["sendInitialEvents", "resourceVersionMatch"].map(str::to_owned);
    server.fail_next(watches.clone(), Fault::Ignore(unknown.to_vec()));
    let mut watch = lister.watch(streaming(Some(version))).await.unwrap();
    assert_eq!(next(&mut watch).await, "ADDED b");

    server.fail_next(watches, Fault::Shuffled(3));
    let mut watch = lister.watch(streaming(None)).await.unwrap();
    let mut seen = Vec::new();
    loop {
        let event = next(&mut watch).await;
        if event.ends_with("marker") {
            break;
        }
        seen.push(event);
    }
    assert!(
        seen.len() >= 2 && seen.contains(&"ADDED a".to_owned()),
        "{seen:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn fault_source_decides_for_requests_without_a_rule() {
    let (server, lister) = server();
    create(&server, "a");
    let mut asked = 0;
    server.fault_source(move |request| {
        asked += 1;
        (request.verb == Verb::List && asked % 2 == 0).then_some(Fault::Disconnect)
    });
    server.fail_next(RequestMatcher::any(), Fault::Refuse);
    let mut outcomes = Vec::new();
    for _ in 0..4 {
        outcomes.push(list(&lister, ListOptions::default()).await.is_ok());
    }
    assert_eq!(outcomes, [false, true, false, true]);
    server.clear_fault_source();
    assert!(list(&lister, ListOptions::default()).await.is_ok());
    assert!(list(&lister, ListOptions::default()).await.is_ok());
}
