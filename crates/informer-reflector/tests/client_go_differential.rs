//! The same faults for client-go's reflector and for ours, over real HTTP: both end with the same store. Runs where
//! `cargo xtask e2e` has built client-go's side (`e2e/clientgo`) and says in `INFORMER_E2E_CLIENTGO` where it is.
//!
//! Where the requests differ, it is on purpose: the first list of client-go asks for any state (`resourceVersion=0`),
//! which a server gives whole, whatever the limit; ours asks for the newest, which comes in pages. Pages that expire are
//! followed by a list without pages.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use informer_client::Client;
use informer_reflector::http::HttpListerWatcher;
use informer_reflector::{ListMode, Reflector, ReflectorConfig};
use informer_store::{Object as _, ResourceVersion, Store};
use informer_testkit::{ApiServer, Fault, RequestMatcher, RequestRecord, StreamEnd, Verb, status};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// Each wait of a script ends within this.
const PATIENCE: Duration = Duration::from_secs(60);

/// What goes wrong, and what both sides ask.
struct Script {
    name: &'static str,
    streams: bool,
    paged: bool,
    before: fn(&ApiServer),
    between: fn(&ApiServer),
    client_go: &'static [&'static str],
    ours: &'static [&'static str],
}

fn write(server: &ApiServer, name: &str) {
    let object = json!({"metadata": {"namespace": "web", "name": name}});
    server.create("configmaps", object).unwrap();
}

fn lists() -> RequestMatcher {
    RequestMatcher::verb(Verb::List).resource("configmaps")
}

fn watches() -> RequestMatcher {
    RequestMatcher::verb(Verb::Watch).resource("configmaps")
}

fn nothing(_: &ApiServer) {}

const SCRIPTS: &[Script] = &[
    Script {
        name: "a list and its watch",
        streams: false,
        paged: false,
        before: nothing,
        between: nothing,
        client_go: &["list at=0 limit=500", "watch at=12"],
        ours: &["list limit=5000", "watch at=12"],
    },
    Script {
        name: "a streaming list",
        streams: true,
        paged: false,
        before: nothing,
        between: nothing,
        client_go: &["watch initial"],
        ours: &["watch initial"],
    },
    Script {
        name: "a watch that is cut",
        streams: false,
        paged: false,
        before: nothing,
        between: |server| server.end_watches(StreamEnd::Cut),
        client_go: &["list at=0 limit=500", "watch at=12", "watch at=13"],
        ours: &["list limit=5000", "watch at=12", "watch at=13"],
    },
    Script {
        name: "a watch that expires",
        streams: false,
        paged: false,
        before: nothing,
        between: |server| {
            server.fail_next(watches(), Fault::ErrorEvent(status::too_old(1, 90)));
            server.end_watches(StreamEnd::Clean);
        },
        client_go: &[
            "list at=0 limit=500",
            "watch at=12",
            "watch at=13",
            "list at=13",
            "watch at=15",
        ],
        ours: &[
            "list limit=5000",
            "watch at=12",
            "watch at=13",
            "list at=13",
            "watch at=15",
        ],
    },
    Script {
        name: "pages",
        streams: false,
        paged: true,
        before: nothing,
        between: |server| server.end_watches(StreamEnd::Cut),
        client_go: &["list at=0 limit=2", "watch at=12", "watch at=13"],
        ours: &[
            "list limit=2",
            "list limit=2 continue",
            "watch at=12",
            "watch at=13",
        ],
    },
    Script {
        name: "pages that expire",
        streams: false,
        paged: true,
        before: |server| {
            server.fail_after(
                lists(),
                1,
                status::expired("the continue parameter is too old"),
                1,
            );
        },
        between: nothing,
        client_go: &["list at=0 limit=2", "watch at=12"],
        ours: &[
            "list limit=2",
            "list limit=2 continue",
            "list",
            "watch at=12",
        ],
    },
];

/// A request without what differs each time.
fn short(request: &RequestRecord) -> String {
    let mut text = match request.verb {
        Verb::Watch => "watch".to_owned(),
        _ => "list".to_owned(),
    };
    for (key, short) in [
        ("sendInitialEvents", "initial"),
        ("resourceVersion", "at"),
        ("limit", "limit"),
        ("continue", "continue"),
    ] {
        match (key, request.query_value(key)) {
            (_, None | Some("")) => {}
            ("continue" | "sendInitialEvents", Some(_)) => text += &format!(" {short}"),
            (_, Some(value)) => text += &format!(" {short}={value}"),
        }
    }
    text
}

/// Plays a script. Gives the store after each half, and the requests.
async fn play(script: &Script, program: Option<&str>) -> (Vec<String>, Vec<String>) {
    let server = ApiServer::builder().start().await.unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        write(&server, name);
    }
    server.delete("configmaps", "web", "b").unwrap();
    (script.before)(&server);
    let mut side = match program {
        Some(program) => Side::client_go(program, &server, script),
        None => Side::ours(&server, script),
    };
    let mut stores = vec![side.store_at(server.resource_version()).await];
    write(&server, "f");
    side.store_at(server.resource_version()).await;
    (script.between)(&server);
    server.delete("configmaps", "web", "a").unwrap();
    write(&server, "g");
    stores.push(side.store_at(server.resource_version()).await);
    let expected = match program {
        Some(_) => script.client_go,
        None => script.ours,
    };
    (stores, requests(&server, expected.len()).await)
}

/// So many requests, and those that came beyond them. The last may follow a moment after the store is complete.
async fn requests(server: &ApiServer, expected: usize) -> Vec<String> {
    let start = Instant::now();
    loop {
        let all = server.requests();
        let ours = all.iter().filter(|seen| seen.resource == "configmaps");
        let seen: Vec<String> = ours.map(short).collect();
        if seen.len() >= expected || start.elapsed() > PATIENCE {
            return seen;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// One of the two.
enum Side {
    ClientGo(Box<Child>),
    Ours {
        store: Arc<Store<ConfigMap>>,
        _stop: DropGuard,
    },
}

impl Side {
    fn client_go(program: &str, server: &ApiServer, script: &Script) -> Self {
        let mut command = Command::new(program);
        command.args(["reflect", &server.url()]);
        if script.paged {
            command.arg("paged");
        }
        let child = command
            .env("KUBE_FEATURE_WatchListClient", script.streams.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        Self::ClientGo(Box::new(child.unwrap()))
    }

    fn ours(server: &ApiServer, script: &Script) -> Self {
        let mode = if script.streams {
            ListMode::Auto
        } else {
            ListMode::List
        };
        let mut config = ReflectorConfig::default().list_mode(mode);
        if script.paged {
            config = config.page_size(2).page_relists(true);
        }
        let source = HttpListerWatcher::<ConfigMap>::all(Client::anonymous(&server.url()).unwrap());
        let store = Arc::new(Store::new());
        let reflector = Reflector::new(source, Arc::clone(&store))
            .config(config)
            .unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(reflector.run(stop.clone()));
        Self::Ours {
            store,
            _stop: stop.drop_guard(),
        }
    }

    /// Waits until this version is there. Gives all objects with their versions.
    async fn store_at(&mut self, version: u64) -> String {
        let got = timeout(PATIENCE, async {
            match self {
                Self::ClientGo(child) => {
                    let stdin = child.stdin.as_mut().unwrap();
                    stdin
                        .write_all(format!("{version}\n").as_bytes())
                        .await
                        .unwrap();
                    let mut line = String::new();
                    let mut stdout = BufReader::new(child.stdout.as_mut().unwrap());
                    stdout.read_line(&mut line).await.unwrap();
                    line.trim().to_owned()
                }
                Self::Ours { store, .. } => {
                    let version = ResourceVersion::from(version);
                    store.wait_until(&version).await.unwrap();
                    let mut all: Vec<String> = store
                        .snapshot()
                        .iter()
                        .map(|(key, object)| {
                            format!("{key}={}", object.resource_version().unwrap())
                        })
                        .collect();
                    all.sort();
                    all.join(" ")
                }
            }
        });
        got.await.expect("it gets there in time")
    }
}

#[tokio::test]
async fn client_go_and_ours_end_with_the_same_store() {
    let Ok(program) = std::env::var("INFORMER_E2E_CLIENTGO") else {
        println!("SKIP client-go's reflector is not built; `cargo xtask e2e` builds it");
        return;
    };
    for script in SCRIPTS {
        let (theirs, asked) = play(script, Some(&program)).await;
        let (ours, we_asked) = play(script, None).await;
        println!(
            "{}\n  client-go {asked:?}\n  ours      {we_asked:?}",
            script.name
        );
        assert_eq!(theirs, ours, "{}", script.name);
        assert_eq!(asked, script.client_go, "{}: client-go", script.name);
        assert_eq!(we_asked, script.ours, "{}: ours", script.name);
    }
}
