//! Compressed responses, where the client allows them: they are passed on as they are received, within limits.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod http_support;

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::StreamExt as _;
use http_support::{Answer, PATIENCE, Server};
use informer_client::{Client, Config};
use informer_reflector::http::{HttpConfig, HttpListerWatcher};
use informer_reflector::{ListRequest, ListWatchError, ListerWatcher};
use informer_wire::{
    DecodeError, DecodeOptions, Decoded, Dynamic, Limits, ListOptions, WatchEvent,
};

fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A compressed response that goes on: a head, and these chunks of its body.
fn answer(status: &str, chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    for chunk in chunks {
        bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        bytes.extend(chunk);
        bytes.extend(b"\r\n");
    }
    bytes
}

fn lister(server: &Server) -> HttpListerWatcher<Dynamic> {
    let config = Config::anonymous(&format!("http://{}", server.address)).unwrap();
    let client = Client::builder(config).gzip(true).build().unwrap();
    let limits = Limits::default().object_bytes(1 << 20).page_bytes(4 << 20);
    HttpListerWatcher::new(client, server.lister().resource().clone())
        .config(HttpConfig::default().decode(DecodeOptions::default().limits(limits)))
}

fn event(name: &str, size: usize) -> Vec<u8> {
    let filling: String = (0..size)
        .map(|n| char::from(b'a' + (n % 23) as u8))
        .collect();
    format!(
        r#"{{"type":"ADDED","object":{{"metadata":{{"name":"{name}"}},"spec":{{"f":"{filling}"}}}}}}"#
    )
    .into_bytes()
}

// INV-HTTP-5: servers close one gzip member with each event, and the connection stays open behind it.
#[tokio::test]
async fn compressed_watch_yields_each_event_with_its_gzip_member() {
    for size in [0, 100, 8_000, 8_192, 100_000] {
        let members: Vec<_> = ["a", "b", "c"]
            .iter()
            .map(|name| packed(&event(name, size)))
            .collect();
        // Each in a chunk of its own, all in one, and cut in the midst of a head.
        let joined = vec![members.concat()];
        let mut cut = members.concat();
        let behind = cut.split_off(members[0].len() + 5);
        for chunks in [members.clone(), joined, vec![cut, behind]] {
            let server = Server::start(vec![Answer::new(answer("200 OK", &chunks)).hang()]).await;
            let run = async {
                let mut watch = lister(&server).watch(ListOptions::default()).await.unwrap();
                for name in ["a", "b", "c"] {
                    let Some(Ok(WatchEvent::Added(Decoded::Object(pod)))) = watch.next().await
                    else {
                        panic!()
                    };
                    assert_eq!(pod.metadata().name(), name);
                }
            };
            tokio::time::timeout(PATIENCE, run)
                .await
                .expect("an event in time");
        }
    }
}

// INV-HTTP-5: a member alone is passed on before the next one has begun.
#[tokio::test]
async fn gzip_member_is_passed_on_before_the_next_begins() {
    let chunks = [packed(&event("a", 30))];
    let server = Server::start(vec![Answer::new(answer("200 OK", &chunks)).hang()]).await;
    let run = async {
        let mut watch = lister(&server).watch(ListOptions::default()).await.unwrap();
        assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Added(_)))));
    };
    tokio::time::timeout(PATIENCE, run).await.unwrap();
}

// INV-HTTP-6: what a few bytes unpack to is held to the decoder's limits.
#[tokio::test]
async fn gzip_output_is_capped_at_the_decode_limits() {
    let spaces = packed(&vec![b' '; 64 << 20]);
    assert!(spaces.len() < 100_000);
    let status = [
        packed(br#"{"kind":"Status","code":500,"message":"a"#),
        spaces.clone(),
    ];
    let server = Server::start(vec![
        Answer::new(answer("200 OK", &[packed(b"{\"items\":["), spaces.clone()])).hang(),
        Answer::new(answer("200 OK", &[packed(b"{\"type\":\"ADDED\","), spaces])).hang(),
        Answer::new(answer("500 Internal Server Error", &status)).hang(),
    ])
    .await;
    let run = async {
        let lister = lister(&server);
        let mut list = lister
            .list(ListRequest::new(ListOptions::default()))
            .await
            .unwrap();
        let refused = list.next().await;
        assert!(is_too_large(&refused), "{refused:?}");
        let mut watch = lister.watch(ListOptions::default()).await.unwrap();
        let refused = watch.next().await;
        assert!(is_too_large(&refused), "{refused:?}");
        let refused = lister.watch(ListOptions::default()).await;
        assert!(
            matches!(&refused, Err(ListWatchError::Status { status, .. }) if status.code == 500),
            "{refused:?}"
        );
        // Far less than it would unpack to.
        assert!(lister.traffic().bytes() < 8 << 20);
    };
    tokio::time::timeout(PATIENCE, run).await.unwrap();
}

fn is_too_large<T>(next: &Option<Result<T, ListWatchError>>) -> bool {
    matches!(
        next,
        Some(Err(ListWatchError::Decode(DecodeError::TooLarge { .. })))
    )
}
