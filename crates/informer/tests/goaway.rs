//! HTTP/2's GOAWAY, by which a server sends its clients elsewhere: it arrives, and no informer minds.
#![cfg(feature = "full")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use h2::Reason;
use informer::client::bytes::Bytes;
use informer::client::http::{Method, Request, Response, header};
use informer::client::{Cluster, Config, HttpVersion};
use informer::http::HttpListerWatcher;
use informer::reflector::{BackoffConfig, Report};
use informer::{Client, ListMode, ReflectorConfig, SharedInformer};
use informer_testkit::{ApiServer, RequestRecord, Verb};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a connection is to end.
#[derive(Debug, Clone, Copy)]
enum GoAway {
    /// What has begun goes on, what is new goes elsewhere: a server that ends, or that spreads its clients.
    Graceful,
    /// Everything ends now, and what had begun breaks off.
    Abrupt,
}

/// An HTTP/2 server before the test kit's, which passes requests on and can say GOAWAY.
struct Front {
    address: SocketAddr,
    /// What to say, and to connections up to which number.
    order: watch::Sender<(usize, GoAway)>,
    /// Which connection the last request came by; they count from 1.
    last: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Front {
    async fn start(server: &ApiServer) -> Self {
        let backend = Client::anonymous(&server.url()).unwrap();
        let tls = TlsAcceptor::from(Arc::new(tls()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (order, orders) = watch::channel((0, GoAway::Graceful));
        let last = Arc::new(AtomicUsize::new(0));
        let by = Arc::clone(&last);
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            for number in 1.. {
                let Ok((stream, _)) = listener.accept().await else {
                    return;
                };
                let (tls, backend, orders) = (tls.clone(), backend.clone(), orders.clone());
                let by = Arc::clone(&by);
                connections.spawn(async move {
                    // A client may leave at any time.
                    let _ = connection(number, stream, tls, backend, orders, by).await;
                });
            }
        });
        Self {
            address,
            order,
            last,
            task,
        }
    }

    fn client(&self) -> Client {
        let cluster = Cluster::new(&format!("https://{}", self.address)).unwrap();
        Client::builder(Config::new(cluster.insecure_skip_tls_verify(true)))
            .http_version(HttpVersion::Http2)
            .build()
            .unwrap()
    }

    /// Tells all connections that there are to go, and says how many there were.
    fn go_away(&self, how: GoAway) -> usize {
        let last = self.last.load(Ordering::SeqCst);
        self.order.send_replace((last, how));
        last
    }

    /// Sends a request by this client and says which connection it came by.
    async fn connection_of(&self, client: &Client) -> usize {
        let answer = client.request(Method::GET, "/version").send().await;
        answer.unwrap().error_for_status().await.unwrap();
        self.last.load(Ordering::SeqCst)
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn tls() -> ServerConfig {
    let signed = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(signed.signing_key.serialize_der().into());
    let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key)
        .unwrap();
    tls.alpn_protocols = vec![b"h2".to_vec()];
    tls
}

async fn connection(
    number: usize,
    stream: TcpStream,
    tls: TlsAcceptor,
    backend: Client,
    mut orders: watch::Receiver<(usize, GoAway)>,
    last: Arc<AtomicUsize>,
) -> anyhow::Result<()> {
    let mut connection = h2::server::handshake(tls.accept(stream).await?).await?;
    orders.mark_unchanged();
    loop {
        tokio::select! {
            // This is what drives the connection, too.
            request = connection.accept() => {
                let Some(request) = request else { return Ok(()) };
                let (request, answer) = request?;
                last.store(number, Ordering::SeqCst);
                let backend = backend.clone();
                tokio::spawn(async move {
                    let _ = pass(&backend, request, answer).await;
                });
            }
            Ok(()) = orders.changed() => {
                let (up_to, how) = *orders.borrow_and_update();
                match how {
                    _ if number > up_to => {}
                    GoAway::Graceful => connection.graceful_shutdown(),
                    GoAway::Abrupt => connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM),
                }
            }
        }
    }
}

/// Passes a request on and its answer back, as it comes.
async fn pass(
    backend: &Client,
    request: Request<h2::RecvStream>,
    mut answer: h2::server::SendResponse<Bytes>,
) -> anyhow::Result<()> {
    let url = informer::kubeconfig::Url::parse(&request.uri().to_string())?;
    let mut asked = backend
        .request(Method::GET, url.path())
        .query(url.query_pairs());
    if let Some(accept) = request.headers().get(header::ACCEPT) {
        asked = asked.header(header::ACCEPT, accept.clone());
    }
    let mut got = asked.send().await?;
    let mut head = Response::builder().status(got.status());
    if let Some(kind) = got.headers().get(header::CONTENT_TYPE) {
        head = head.header(header::CONTENT_TYPE, kind.clone());
    }
    let mut body = answer.send_response(head.body(())?, false)?;
    while let Some(chunk) = got.chunk().await? {
        // All that is sent here fits into the window of a stream.
        body.send_data(chunk, false)?;
    }
    body.send_data(Bytes::new(), true)?;
    Ok(())
}

/// An informer over the front, and how many of its requests failed.
struct Rig {
    server: ApiServer,
    front: Front,
    client: Client,
    informer: SharedInformer<ConfigMap>,
    failures: Arc<AtomicUsize>,
}

impl Rig {
    async fn start(mode: ListMode) -> Self {
        let server = ApiServer::start().await.unwrap();
        let front = Front::start(&server).await;
        let client = front.client();
        let failures = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&failures);
        let backoff = BackoffConfig::default().initial(Duration::from_millis(20));
        let informer = SharedInformer::builder(HttpListerWatcher::<ConfigMap>::all(client.clone()))
            .reflector_config(ReflectorConfig::default().list_mode(mode).backoff(backoff))
            .watch_error_handler(move |report: &Report| {
                if matches!(report, Report::Failed { .. }) {
                    count.fetch_add(1, Ordering::SeqCst);
                }
            })
            .build()
            .unwrap();
        informer.start().unwrap();
        informer.synced().deadline(PATIENCE).await.unwrap();
        let rig = Self {
            server,
            front,
            client,
            informer,
            failures,
        };
        rig.receives("first").await;
        rig
    }

    /// Creates an object and waits until the cache has it.
    async fn receives(&self, name: &str) {
        let object = json!({"metadata": {"namespace": "default", "name": name}});
        self.server.create("configmaps", object).unwrap();
        let key = format!("default/{name}");
        self.until(name, || self.informer.store().get(&*key).is_some())
            .await;
    }

    async fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let wait = async {
            while !holds() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, wait).await;
        assert!(
            waited.is_ok(),
            "{what}: {:#?} {:#?}",
            self.informer.status(),
            self.server.requests()
        );
    }

    fn count(&self, what: impl Fn(&RequestRecord) -> bool) -> usize {
        let requests = self.server.requests();
        requests.iter().filter(|request| what(request)).count()
    }

    fn lists(&self) -> usize {
        let streams =
            |request: &RequestRecord| request.query_value("sendInitialEvents") == Some("true");
        self.count(|request| request.verb == Verb::List || streams(request))
    }

    fn watches(&self) -> usize {
        self.count(|request| request.verb == Verb::Watch)
    }
}

/// All requests of the connection fail at once; the watch resumes on another, from its version.
#[tokio::test]
async fn watch_after_abrupt_goaway_resumes_on_new_connection_without_list() {
    for mode in [ListMode::List, ListMode::Stream] {
        let rig = Rig::start(mode).await;
        for round in 1..=3 {
            let before = rig.watches();
            let old = rig.front.go_away(GoAway::Abrupt);
            rig.until("a failure", || rig.failures.load(Ordering::SeqCst) >= round)
                .await;
            rig.until("a watch", || rig.watches() > before).await;
            assert!(rig.front.last.load(Ordering::SeqCst) > old);
            rig.receives(&format!("after-{round}")).await;
        }
        assert_eq!(rig.lists(), 1);
        rig.informer.stop().await.unwrap();
    }
}

/// As API servers do it: the old connection keeps the watch while new requests use another.
#[tokio::test]
async fn watch_continues_after_graceful_goaway() {
    let rig = Rig::start(ListMode::List).await;
    // Without the GOAWAY there is one connection for all.
    assert_eq!(rig.front.connection_of(&rig.client).await, 1);
    rig.front.go_away(GoAway::Graceful);
    let elsewhere = async { while rig.front.connection_of(&rig.client).await == 1 {} };
    tokio::time::timeout(PATIENCE, elsewhere).await.unwrap();
    let before = rig.watches();
    rig.receives("by-the-old-one").await;
    assert_eq!(rig.watches(), before, "the watch is the same");
    assert_eq!(rig.failures.load(Ordering::SeqCst), 0);

    // The server's time for what runs is over.
    rig.server.drop_watches();
    rig.until("a watch", || rig.watches() > before).await;
    assert_eq!(rig.front.last.load(Ordering::SeqCst), 2);
    rig.receives("by-the-new-one").await;
    assert_eq!(rig.lists(), 1);
    rig.informer.stop().await.unwrap();
}
