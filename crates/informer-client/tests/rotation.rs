//! Certificates in files that are replaced while the client is in use.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/tls.rs"]
mod certificates;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use certificates::{Authority, Identity, Seen};
use informer_client::http::Method;
use informer_client::{AuthInfo, Client, Cluster, Config, Error, Response};
use informer_kubeconfig::PemSource;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use support::{Reply, Server};

/// After a failure the files are read again, but not more often than each second.
const RECHECK: Duration = Duration::from_millis(1_100);

/// Files as a Secret that is mounted gives them.
struct Files {
    root: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn identity(&self, identity: &Identity) {
        self.write("crt", &identity.certificate_pem);
        self.write("key", &identity.key_pem);
    }

    fn auth(&self) -> AuthInfo {
        AuthInfo::default().client_certificate(
            PemSource::file(self.path("crt")),
            PemSource::file(self.path("key")),
        )
    }
}

fn cluster(server: &Server, authority: &Path) -> Cluster {
    Cluster::new(&format!("https://{}", server.address))
        .unwrap()
        .certificate_authority(PemSource::file(authority))
}

async fn send(client: &Client, path: &str) -> Result<Response, Error> {
    client.request(Method::GET, path).send().await
}

/// A server whose certificate can be replaced.
#[derive(Debug)]
struct Shown(std::sync::Mutex<Arc<CertifiedKey>>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.lock().unwrap()))
    }
}

fn certified(identity: &Identity) -> Arc<CertifiedKey> {
    use rustls::pki_types::pem::PemObject as _;
    let key = rustls::pki_types::PrivateKeyDer::from_pem_slice(identity.key_pem.as_bytes());
    let key = certificates::provider()
        .key_provider
        .load_private_key(key.unwrap())
        .unwrap();
    Arc::new(CertifiedKey::new(vec![identity.der.clone()], key))
}

/// INV-CLIENT-12: the authority's file is read again when the server's certificate is not trusted any more.
#[tokio::test]
async fn replaced_authority_file_is_trusted() {
    let (old, new) = (Authority::new(), Authority::new());
    let shown = Arc::new(Shown(std::sync::Mutex::new(certified(
        &old.issue(&["127.0.0.1"]),
    ))));
    let config = rustls::ServerConfig::builder_with_provider(certificates::provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::clone(&shown) as _);
    // The first answer stays open, as a watch does.
    let server = Server::start_tls(config, |request| match &*request.target {
        "/watch" => Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun").hang(),
        _ => Reply::json("{}"),
    })
    .await;
    let files = Files::new();
    files.write("ca", &old.pem());
    let client = Client::new(Config::new(cluster(&server, &files.path("ca")))).unwrap();
    let mut watch = send(&client, "/watch").await.unwrap();
    assert_eq!(watch.chunk().await.unwrap().unwrap(), "begun");

    *shown.0.lock().unwrap() = certified(&new.issue(&["127.0.0.1"]));
    tokio::time::sleep(RECHECK).await;
    let refused = send(&client, "/x").await;
    assert!(matches!(refused, Err(Error::Tls { .. })), "{refused:?}");
    // What is half written changes nothing.
    files.write("ca", "-----BEGIN CERTIFICATE-----\nMIIB");
    tokio::time::sleep(RECHECK).await;
    assert!(send(&client, "/x").await.is_err());
    files.write("ca", &new.pem());
    tokio::time::sleep(RECHECK).await;
    assert_eq!(send(&client, "/x").await.unwrap().status(), 200);

    // The running watch was left alone.
    let more = tokio::time::timeout(Duration::from_millis(200), watch.chunk()).await;
    assert!(more.is_err(), "the watch ended: {more:?}");
}

/// INV-CLIENT-12: after a 401 the client certificate's files are read again; a pair that does not fit waits.
#[tokio::test]
async fn replaced_client_certificate_files_are_used() {
    let authority = Authority::new();
    let (one, two) = (authority.issue(&["one"]), authority.issue(&["two"]));
    let seen = Seen::new();
    let own = authority.issue(&["127.0.0.1"]);
    let known = Arc::clone(&seen);
    let wanted = two.der.clone();
    let server = Server::start_tls(own.server_that_asks(Some(seen.clone())), move |_| {
        let last = known.certificates.lock().unwrap().last().cloned();
        if last.as_ref() == Some(&wanted) {
            Reply::json("{}")
        } else {
            Reply::new("401 Unauthorized", "", "")
        }
    })
    .await;
    let files = Files::new();
    files.write("ca", &authority.pem());
    files.identity(&one);
    let config = Config::new(cluster(&server, &files.path("ca"))).auth(files.auth());
    let client = Client::new(config).unwrap();
    assert_eq!(send(&client, "/x").await.unwrap().status(), 401);
    files.write("crt", &two.certificate_pem);
    tokio::time::sleep(RECHECK).await;
    assert_eq!(
        send(&client, "/x").await.unwrap().status(),
        401,
        "the key is still the old one"
    );
    files.write("key", &two.key_pem);
    tokio::time::sleep(RECHECK).await;
    assert_eq!(send(&client, "/x").await.unwrap().status(), 200);
    // Without a change nothing is sent twice.
    let before = server.requests().len();
    assert_eq!(send(&client, "/x").await.unwrap().status(), 200);
    assert_eq!(server.requests().len(), before + 1);
}
