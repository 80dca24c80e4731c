//! Whom the client trusts, and what it shows.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/tls.rs"]
mod certificates;
mod support;

use certificates::{Authority, Identity, Seen, self_signed, version_1};
use informer_client::http::Method;
use informer_client::{AuthInfo, BuildError, Client, Cluster, Config, Error};
use informer_kubeconfig::PemSource;
use support::{Reply, Server};

async fn serve(identity: &Identity) -> Server {
    Server::start_tls(identity.server(), |_| Reply::json("{}")).await
}

fn cluster(server: &Server) -> Cluster {
    Cluster::new(&format!("https://127.0.0.1:{}/", server.address.port())).unwrap()
}

async fn get(config: Config) -> Result<u16, Error> {
    let client = Client::new(config).unwrap();
    let answer = client.request(Method::GET, "/version").send().await?;
    Ok(answer.status().as_u16())
}

fn is_tls(result: Result<u16, Error>) -> bool {
    matches!(result, Err(Error::Tls { .. }))
}

/// INV-CLIENT-8: only the authorities of the configuration are trusted.
#[tokio::test]
async fn only_configured_authority_is_trusted() {
    let (ours, other) = (Authority::new(), Authority::new());
    let server = serve(&ours.issue(&["127.0.0.1"])).await;
    let trusting =
        |pem: String| Config::new(cluster(&server).certificate_authority(PemSource::inline(pem)));
    assert_eq!(get(trusting(ours.pem())).await.unwrap(), 200);
    assert!(is_tls(get(trusting(other.pem())).await));
    // A bundle, with what is no certificate in it.
    let bundle = format!(
        "{}\n-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n{}",
        other.pem(),
        ours.pem()
    );
    assert_eq!(get(trusting(bundle)).await.unwrap(), 200);
    // Those of the system do not know our authority.
    assert!(get(Config::new(cluster(&server))).await.is_err());
    // Nothing was installed for the whole process.
    assert!(rustls::crypto::CryptoProvider::get_default().is_none());
}

#[tokio::test]
async fn certificate_is_refused_when_name_or_dates_are_wrong() {
    let authority = Authority::new();
    let trusting =
        |server: &Server| cluster(server).certificate_authority(PemSource::inline(authority.pem()));
    let server = serve(&authority.issue(&["api.example"])).await;
    assert!(is_tls(get(Config::new(trusting(&server))).await));
    let server = serve(&authority.issue_expired(&["127.0.0.1"])).await;
    assert!(is_tls(get(Config::new(trusting(&server))).await));
    let skipping = cluster(&server).insecure_skip_tls_verify(true);
    assert_eq!(get(Config::new(skipping)).await.unwrap(), 200);
}

#[tokio::test]
async fn sni_is_the_configured_server_name() {
    let authority = Authority::new();
    let server = serve(&authority.issue(&["api.example"])).await;
    let trusting = cluster(&server).certificate_authority(PemSource::inline(authority.pem()));
    let named = trusting.clone().tls_server_name("api.example");
    assert_eq!(get(Config::new(named)).await.unwrap(), 200);
    let request = server.last();
    assert_eq!(request.sni.as_deref(), Some("api.example"));
    // The server behind a load balancer receives the name that it was reached by.
    assert_eq!(request.header("host"), Some(&*server.address.to_string()));
    assert!(is_tls(
        get(Config::new(trusting.tls_server_name("other.example"))).await
    ));

    // An address as the name is checked, and never sent.
    let server = serve(&authority.issue(&["10.0.0.1"])).await;
    let trusting = cluster(&server).certificate_authority(PemSource::inline(authority.pem()));
    assert_eq!(
        get(Config::new(trusting.tls_server_name("10.0.0.1")))
            .await
            .unwrap(),
        200
    );
    assert_eq!(server.last().sni, None);
}

/// Some clusters give out the server's certificate itself, and kubectl takes it.
#[tokio::test]
async fn certificate_may_be_its_own_authority() {
    let authority = Authority::new();
    let cases = [
        (authority.issue(&["127.0.0.1"]), true),
        (authority.issue_namesake(&["127.0.0.1"]), true),
        (self_signed("127.0.0.1", false, false), true),
        (self_signed("127.0.0.1", true, false), true),
        (authority.issue(&["other.example"]), false),
        (self_signed("other.example", true, false), false),
        (authority.issue_expired(&["127.0.0.1"]), false),
        (self_signed("127.0.0.1", true, true), false),
    ];
    for (n, (identity, accepted)) in cases.iter().enumerate() {
        let server = serve(identity).await;
        let pem = PemSource::inline(identity.certificate_pem.clone());
        let result = get(Config::new(cluster(&server).certificate_authority(pem))).await;
        assert_eq!(result.is_ok(), *accepted, "case {n}: {result:?}");
        assert!(*accepted || is_tls(result));
    }
    // Another certificate of the same authority is not meant.
    let server = serve(&authority.issue(&["127.0.0.1"])).await;
    let pem = PemSource::inline(authority.issue(&["127.0.0.1"]).certificate_pem);
    assert!(is_tls(
        get(Config::new(cluster(&server).certificate_authority(pem))).await
    ));
}

/// INV-CLIENT-9: client certificates of X.509 version 3 and 1 are shown.
#[tokio::test]
async fn client_certificate_is_sent() {
    let authority = Authority::new();
    let own = authority.issue(&["127.0.0.1"]);
    for identity in [authority.issue(&["me"]), version_1("me")] {
        let seen = Seen::new();
        let config = own.server_that_asks(Some(seen.clone()));
        let server = Server::start_tls(config, |_| Reply::json("{}")).await;
        let cluster = cluster(&server).certificate_authority(PemSource::inline(authority.pem()));
        let auth = AuthInfo::default().client_certificate(
            PemSource::inline(identity.certificate_pem.clone()),
            PemSource::inline(identity.key_pem.clone()),
        );
        assert_eq!(
            get(Config::new(cluster.clone()).auth(auth)).await.unwrap(),
            200
        );
        assert_eq!(
            seen.certificates.lock().unwrap().as_slice(),
            std::slice::from_ref(&identity.der)
        );
        assert!(
            get(Config::new(cluster)).await.is_err(),
            "the server asked in vain"
        );
    }
}

/// What cannot work is said when the client is made.
#[tokio::test]
async fn unusable_certificate_is_named() {
    let authority = Authority::new();
    let (one, two) = (authority.issue(&["one"]), authority.issue(&["two"]));
    let with = |certificate: &str, key: &str| {
        let auth = AuthInfo::default()
            .client_certificate(PemSource::inline(certificate), PemSource::inline(key));
        Client::new(Config::anonymous("https://h").unwrap().auth(auth)).unwrap_err()
    };
    let encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    for (error, words) in [
        (with(&one.certificate_pem, &two.key_pem), "does not belong"),
        (with(&one.key_pem, &one.key_pem), "no certificate"),
        (
            with(&one.certificate_pem, &one.certificate_pem),
            "no private key",
        ),
        (with(&one.certificate_pem, encrypted), "encrypted"),
        (
            with(&one.certificate_pem, "-----BEGIN PRIVATE KEY-----\n%\n"),
            "PEM",
        ),
    ] {
        assert!(
            error.to_string().contains(words),
            "{words:?} is not in {error}"
        );
    }
    let authority = |pem: &str| {
        let cluster = Cluster::new("https://h").unwrap();
        let cluster = cluster.certificate_authority(PemSource::inline(pem));
        Client::new(Config::new(cluster)).unwrap_err().to_string()
    };
    assert!(authority("nothing").contains("no certificate"));
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(authority(broken).contains("well-formed"));
    let gone = Cluster::new("https://h")
        .unwrap()
        .certificate_authority(PemSource::file("/gone"));
    assert!(matches!(
        Client::new(Config::new(gone)),
        Err(BuildError::Read { .. })
    ));
    let named = Cluster::new("https://h").unwrap().tls_server_name("a b");
    assert!(matches!(
        Client::new(Config::new(named)),
        Err(BuildError::Credential { .. })
    ));
}

#[tokio::test]
async fn server_without_tls_is_a_tls_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let answer = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt as _;
        let (mut stream, _) = listener.accept().await.unwrap();
        stream
            .write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
        stream
    });
    let cluster = Cluster::new(&url).unwrap().insecure_skip_tls_verify(true);
    assert!(is_tls(get(Config::new(cluster)).await));
    answer.await.unwrap();
}
