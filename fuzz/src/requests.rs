//! What requests are made of. A test of `informer-client` includes this file.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::Full;
use informer_client::http::{Method, Request, Response, Uri};
use informer_client::{Client, Error};
use informer_store::{FieldSelector, LabelSelector};
use informer_wire::{ListOptions, Resource, Scope};
use url::Url;

/// A request for a resource: the lines are group, version, plural, namespace, name, then a selector and a token.
pub fn request(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut lines = text.splitn(7, '\n');
    let mut next = || lines.next().unwrap_or_default().to_owned();
    let (group, version, plural, namespace, name) = (next(), next(), next(), next(), next());
    let options = ListOptions::default()
        .label_selector(next())
        .continue_token(next());
    for scope in [Scope::Namespaced, Scope::Cluster] {
        let resource = Resource::new(
            group.clone(),
            version.clone(),
            "Kind",
            plural.clone(),
            scope,
        );
        for name in [None, Some(&*name)] {
            let Ok(path) = resource.path(Some(&namespace), name) else {
                continue;
            };
            let mut wanted = vec![&*group, &*version, "namespaces", &*namespace, &*plural];
            wanted.extend(name);
            if namespace.is_empty() {
                wanted.drain(2..4);
            }
            if group.is_empty() {
                wanted.remove(0);
            }
            resource_path(&path, &wanted);
            is_received(&path, &options);
        }
    }
    // A path of any text: refused, or received as it is.
    is_received(text, &options);
}

/// A label selector and a field selector.
pub fn selector(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let options = ListOptions::default()
        .label_selector(text)
        .field_selector(text);
    is_received("/api/v1/pods", &options);
    if let Ok(selector) = text.parse::<LabelSelector>() {
        let written = selector.to_string();
        assert_eq!(written.parse::<LabelSelector>().ok(), Some(selector));
    }
    if let Ok(selector) = text.parse::<FieldSelector>() {
        let written = selector.to_string();
        assert_eq!(written.parse::<FieldSelector>().ok(), Some(selector));
    }
}

/// Each part of a path is a segment of its own, and none was added or lost.
fn resource_path(path: &str, wanted: &[&str]) {
    let segments = path.split('/').skip(2);
    let decoded: Vec<String> = segments
        .map(|segment| {
            let pair = format!("x={}", segment.replace('+', "%2B"));
            let mut pairs = url::form_urlencoded::parse(pair.as_bytes());
            pairs.next().expect("a pair").1.into_owned()
        })
        .collect();
    assert_eq!(decoded, wanted, "{path}");
}

/// Sends a request to a service that keeps what it was asked for, and compares: nothing may have become another path or
/// parameter.
fn is_received(path: &str, options: &ListOptions) {
    let asked: Arc<Mutex<Option<Uri>>> = Arc::default();
    let kept = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Full<Bytes>>| {
        *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.uri().clone());
        std::future::ready(Ok::<_, Infallible>(Response::new(Full::new(Bytes::new()))))
    });
    let client = Client::from_service(service);
    let pairs = options.query_pairs();
    let request = client.request(Method::GET, path).query(pairs.clone());
    let answer = request.send().now_or_never().expect("nobody to wait for");
    let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(asked) = asked else {
        assert!(matches!(answer, Err(Error::Request { .. })), "{answer:?}");
        return;
    };
    let url = Url::parse(&format!("http://host{asked}")).expect("a URL");
    assert_eq!(url.host_str(), Some("host"));
    assert_eq!(url.path().matches('/').count(), path.matches('/').count());
    let read: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let sent = pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    assert_eq!(read, sent.collect::<Vec<_>>());
}
