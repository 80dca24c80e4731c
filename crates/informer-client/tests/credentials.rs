//! Credentials are sent to the server of the configuration, and to no other.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;

use informer_client::http::Method;
use informer_client::{AuthInfo, Client, Config};
use informer_kubeconfig::Impersonate;
use support::{Reply, Server};

/// A client that may send credentials to this machine.
fn client(server: &Server, auth: AuthInfo) -> Client {
    let config = Config::anonymous(&server.url()).unwrap().auth(auth);
    Client::builder(config)
        .credentials_on_loopback(true)
        .build()
        .unwrap()
}

async fn get(client: &Client) -> u16 {
    client
        .request(Method::GET, "/version")
        .send()
        .await
        .unwrap()
        .status()
        .as_u16()
}

#[tokio::test]
async fn token_or_password_is_sent() {
    let server = Server::start(|_| Reply::json("{}")).await;
    get(&client(&server, AuthInfo::default().token("abc\n"))).await;
    assert_eq!(server.last().header("authorization"), Some("Bearer abc"));
    get(&client(
        &server,
        AuthInfo::default().basic("Aladdin", "open sesame"),
    ))
    .await;
    let basic = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";
    assert_eq!(server.last().header("authorization"), Some(basic));
}

/// INV-CLIENT-6: over plain http no credentials are sent, unless the server is on this machine and that was allowed.
#[tokio::test]
async fn plain_http_sends_no_credentials() {
    let server = Server::start(|_| Reply::json("{}")).await;
    let auth = AuthInfo::default()
        .token("abc")
        .impersonate(Impersonate::user("other"));
    let config = Config::anonymous(&server.url()).unwrap().auth(auth.clone());
    get(&Client::new(config).unwrap()).await;
    let request = server.last();
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.header("impersonate-user"), None);

    // Another machine never gets them: the proxy sees all that is sent there.
    let mut config = Config::anonymous("http://api.example:8080")
        .unwrap()
        .auth(auth);
    config.cluster = config.cluster.proxy_url(server.url().parse().unwrap());
    let client = Client::builder(config)
        .credentials_on_loopback(true)
        .build()
        .unwrap();
    get(&client).await;
    let request = server.last();
    assert_eq!(request.target, "http://api.example:8080/version");
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.header("impersonate-user"), None);
}

#[test]
fn url_with_credentials_is_refused() {
    for url in ["http://me:pw@127.0.0.1:1", "https://me@host:1"] {
        let mut config = Config::anonymous("http://127.0.0.1:1").unwrap();
        config.cluster.server = url.parse().unwrap();
        let error = Client::new(config).unwrap_err();
        assert!(!format!("{error:?} {error}").contains("pw@"), "{error:?}");
    }
}

#[tokio::test]
async fn impersonated_user_is_sent_in_headers() {
    let server = Server::start(|_| Reply::json("{}")).await;
    let whom = Impersonate::user("jane")
        .uid("u-1")
        .group("dev")
        .group("ops")
        .extra("example.org/scopes", "a")
        .extra("example.org/scopes", "b");
    get(&client(
        &server,
        AuthInfo::default().token("t").impersonate(whom),
    ))
    .await;
    let request = server.last();
    assert_eq!(request.header("impersonate-user"), Some("jane"));
    assert_eq!(request.header("impersonate-uid"), Some("u-1"));
    assert_eq!(
        request.all("impersonate-group").collect::<Vec<_>>(),
        ["dev", "ops"]
    );
    let scopes = request
        .all("impersonate-extra-example.org%2fscopes")
        .collect::<Vec<_>>();
    assert_eq!(scopes, ["a", "b"]);
}

/// INV-CLIENT-7: after a 401 the token's file is read once more; a token that is still the same is not tried again.
#[tokio::test]
async fn token_file_is_read_once_more_after_401() {
    let server = Server::start(|request| match request.header("authorization") {
        Some("Bearer good") => Reply::json("{}"),
        _ => Reply::new("401 Unauthorized", "", ""),
    })
    .await;
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("token");
    fs::write(&file, "old").unwrap();
    let client = client(&server, AuthInfo::default().token_file(&file));
    assert_eq!(get(&client).await, 401);
    assert_eq!(server.requests().len(), 1, "the same token was sent twice");
    fs::write(&file, "good\n").unwrap();
    assert_eq!(get(&client).await, 200);
    assert_eq!(server.requests().len(), 3);
    assert_eq!(get(&client).await, 200);
    assert_eq!(server.requests().len(), 4);
    // The last good token stays while there is no file.
    fs::remove_file(&file).unwrap();
    assert_eq!(get(&client).await, 200);
}

#[tokio::test]
async fn missing_token_file_is_an_error_unless_there_is_another_token() {
    let server = Server::start(|_| Reply::json("{}")).await;
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("token");
    fs::write(&file, "\n").unwrap();
    let alone = client(&server, AuthInfo::default().token_file(&file));
    let error = alone
        .request(Method::GET, "/version")
        .send()
        .await
        .unwrap_err();
    assert!(error.to_string().contains("token"), "{error}");
    assert!(server.requests().is_empty());
    get(&client(
        &server,
        AuthInfo::default().token_file(&file).token("other"),
    ))
    .await;
    assert_eq!(server.last().header("authorization"), Some("Bearer other"));
}

#[tokio::test]
async fn token_with_control_characters_is_refused() {
    let server = Server::start(|_| Reply::json("{}")).await;
    let config = Config::anonymous(&server.url()).unwrap();
    let auth = AuthInfo::default().token("a\r\nX-Evil: 1");
    let built = Client::builder(config.auth(auth))
        .credentials_on_loopback(true)
        .build();
    assert!(built.is_err());
}
