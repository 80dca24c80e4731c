//! The server as a tower service: clients with names, their replicas and fences, and what can happen to their requests.

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::Full;
use informer_client::http::Method;
use informer_client::{Api, Client, Error};
use informer_testkit::{ApiServer, Fault, RequestMatcher, Status, TestClock, Verb};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::{Instant, sleep, timeout};

/// Below the limit that a client has itself.
const HALF_A_MINUTE: Duration = Duration::from_secs(30);

fn server() -> ApiServer {
    ApiServer::builder()
        .seed(1)
        .create_namespaces(true)
        .in_memory()
}

fn client(server: &ApiServer, name: &str) -> Client {
    Client::from_service::<_, Full<Bytes>, _>(server.service_as(name))
}

fn maps(server: &ApiServer, name: &str) -> Api<ConfigMap> {
    Api::namespaced(client(server, name), "shop")
}

fn map(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map
}

fn exists(server: &ApiServer, name: &str) -> bool {
    server.get("configmaps", "shop", name).is_ok()
}

fn creates() -> RequestMatcher {
    RequestMatcher::verb(Verb::Create).resource("configmaps")
}

#[tokio::test(start_paused = true)]
async fn requests_have_the_name_of_their_client() {
    let server = server();
    maps(&server, "operator-0").create(&map("a")).await.unwrap();
    maps(&server, "").get("a").await.unwrap();
    let fault = Status::failure(500, "InternalError", "broken");
    server.fail_next(RequestMatcher::any().client("operator-1"), fault);
    maps(&server, "operator-0").get("a").await.unwrap();
    let refused = maps(&server, "operator-1").get("a").await.unwrap_err();
    assert_eq!(refused.status().map(|status| status.code), Some(500));
    let clients: Vec<_> = server.requests().into_iter().map(|r| r.client).collect();
    assert_eq!(clients, ["operator-0", "", "operator-0", "operator-1"]);
}

#[tokio::test(start_paused = true)]
async fn client_reads_from_the_replica_that_is_routed_for_it() {
    let server = server();
    let before = server.resource_version();
    maps(&server, "user").create(&map("a")).await.unwrap();
    server.hold_replica(1, before);
    server.route_client("late", 1);
    let listed = async |name: &str| {
        let path = "/api/v1/namespaces/shop/configmaps";
        let answer = client(&server, name)
            .request(Method::GET, path)
            .query([("resourceVersion", "0")])
            .send()
            .await
            .unwrap();
        let list: serde_json::Value =
            serde_json::from_slice(&answer.bytes(10_000).await.unwrap()).unwrap();
        list["items"].as_array().unwrap().len()
    };
    assert_eq!(listed("user").await, 1);
    assert_eq!(listed("late").await, 0);
    server.route_client("late", None);
    assert_eq!(listed("late").await, 1);
}

#[tokio::test(start_paused = true)]
async fn fenced_client_sends_and_receives_nothing_more() {
    let server = server();
    let (old, other) = (client(&server, "operator-0"), client(&server, "operator-1"));
    let path = "/api/v1/namespaces/shop/configmaps";
    let watch = old.request(Method::GET, path).query([("watch", "true")]);
    let mut watch = watch.send().await.unwrap();
    server.fail_next(creates(), Fault::Delay(Duration::from_secs(5)));
    let old = Api::<ConfigMap>::namespaced(old, "shop");
    let mut under_way = Box::pin({
        let old = old.clone();
        async move { old.create(&map("under-way")).await }
    });
    assert!(under_way.as_mut().now_or_never().is_none());

    server.fence("operator-0");
    assert!(timeout(HALF_A_MINUTE, under_way).await.is_err());
    assert!(
        timeout(HALF_A_MINUTE, old.create(&map("new")))
            .await
            .is_err()
    );
    Api::<ConfigMap>::namespaced(other, "shop")
        .create(&map("other"))
        .await
        .unwrap();
    assert!(timeout(HALF_A_MINUTE, watch.chunk()).await.is_err());
    assert!(!exists(&server, "under-way") && !exists(&server, "new"));
    assert!(exists(&server, "other"));

    // The process after its restart.
    maps(&server, "operator-0")
        .create(&map("again"))
        .await
        .unwrap();
    assert!(exists(&server, "again"));
}

#[tokio::test(start_paused = true)]
async fn lost_response_hides_a_write_that_took_effect() {
    let server = server();
    server.fail_next(creates(), Fault::LoseResponse);
    let error = maps(&server, "").create(&map("a")).await.unwrap_err();
    assert!(
        matches!(error, Error::Transport { refused: false, .. }),
        "{error:?}"
    );
    assert!(exists(&server, "a"));
    assert!(
        maps(&server, "")
            .create(&map("a"))
            .await
            .unwrap_err()
            .is_already_exists()
    );
}

#[tokio::test(start_paused = true)]
async fn refused_connection_is_told_from_a_broken_one() {
    let server = server();
    server.fail_next(creates(), Fault::Refuse);
    server.fail_next(creates(), Fault::Disconnect);
    let refused = maps(&server, "").create(&map("a")).await.unwrap_err();
    assert!(refused.is_refused());
    let broken = maps(&server, "").create(&map("a")).await.unwrap_err();
    assert!(matches!(broken, Error::Transport { refused: false, .. }));
    assert!(!exists(&server, "a"));
}

#[tokio::test(start_paused = true)]
async fn late_write_takes_effect_although_its_client_has_gone() {
    let server = server();
    for end in ["awaited", "given-up", "fenced"] {
        server.fail_next(creates(), Fault::Late(HALF_A_MINUTE));
        let started = Instant::now();
        let maps = maps(&server, end);
        let object = map(end);
        let mut write = Box::pin(maps.create(&object));
        assert!(write.as_mut().now_or_never().is_none());
        match end {
            "awaited" => {
                write.await.unwrap();
                assert!(started.elapsed() >= HALF_A_MINUTE);
                continue;
            }
            "given-up" => drop(write),
            _ => server.fence(end),
        }
        sleep(HALF_A_MINUTE - Duration::from_secs(1)).await;
        assert!(!exists(&server, end));
        sleep(Duration::from_secs(2)).await;
        assert!(exists(&server, end), "{end}");
    }
}

#[tokio::test(start_paused = true)]
async fn late_write_ends_with_the_server() {
    let server = server();
    server.fail_next(creates(), Fault::Late(HALF_A_MINUTE));
    let maps = maps(&server, "");
    let object = map("a");
    let mut write = Box::pin(maps.create(&object));
    assert!(write.as_mut().now_or_never().is_none());
    let cluster = server.shutdown().await;
    assert!(write.await.is_err());
    let server = ApiServer::builder().cluster(cluster).in_memory();
    sleep(HALF_A_MINUTE * 2).await;
    assert!(!exists(&server, "a"));
}

#[tokio::test(start_paused = true)]
async fn service_brings_the_token() {
    let server = ApiServer::builder()
        .token("secret")
        .create_namespaces(true)
        .in_memory();
    maps(&server, "").create(&map("a")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn body_above_the_limit_is_refused() {
    let server = server();
    let mut large = map("a");
    let text = "x".repeat(3 * 1024 * 1024);
    large.data = Some([("text".to_owned(), text)].into());
    let error = maps(&server, "").create(&large).await.unwrap_err();
    let status = error.status().unwrap();
    assert_eq!(
        (status.code, status.reason.as_str(), status.message.as_str()),
        (
            413,
            "RequestEntityTooLarge",
            "Request entity too large: limit is 3145728"
        )
    );
    assert!(!exists(&server, "a"));
}

#[tokio::test(start_paused = true)]
async fn times_are_those_of_the_tests_clock() {
    let clock = TestClock::starting_at("2026-06-01T12:00:00Z".parse().unwrap());
    let server = ApiServer::builder()
        .clock(&clock)
        .create_namespaces(true)
        .in_memory();
    sleep(HALF_A_MINUTE).await;
    clock.jump(SignedDuration::from_hours(24));
    let made = maps(&server, "").create(&map("a")).await.unwrap();
    let made = serde_json::to_value(made.metadata.creation_timestamp).unwrap();
    assert_eq!(made, "2026-06-02T12:00:30Z");
    clock.jump(-SignedDuration::from_hours(48));
    maps(&server, "").get("a").await.unwrap();
    let times: Vec<_> = server.requests().into_iter().map(|r| r.time).collect();
    assert!(times[1] < times[0]);
    clock.set("2026-06-02T15:01:00Z".parse().unwrap());
    let table = client(&server, "")
        .request(Method::GET, "/api/v1/namespaces/shop/configmaps")
        .accept("application/json;as=Table;v=v1;g=meta.k8s.io")
        .send()
        .await
        .unwrap();
    let table: serde_json::Value =
        serde_json::from_slice(&table.bytes(10_000).await.unwrap()).unwrap();
    assert_eq!(table["rows"][0]["cells"], serde_json::json!(["a", 0, "3h"]));
}

#[tokio::test(start_paused = true)]
async fn sockets_are_refused_in_paused_time() {
    let error = ApiServer::start().await.unwrap_err();
    assert!(error.to_string().contains("in_memory"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn threads_are_refused_in_paused_time() {
    let server = server();
    maps(&server, "").create(&map("a")).await.unwrap();
    let maps = maps(&server, "");
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async { maps.get("a").await.map(drop) })
    });
    let panic = thread.join().unwrap_err();
    let text = panic.downcast_ref::<&str>().unwrap();
    assert!(
        text.contains("a paused clock does not wait for other threads"),
        "{text}"
    );
}

#[tokio::test]
async fn threads_with_runtimes_are_fine_in_real_time() {
    let server = server();
    maps(&server, "").create(&map("a")).await.unwrap();
    let maps = maps(&server, "");
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async { maps.get("a").await.map(drop) })
    });
    thread.join().unwrap().unwrap();
}
