//! Get, list and watch.

use std::sync::Arc;
use std::time::Duration;

use http::{Response, StatusCode};
use informer_wire::Status;

use super::body::Body;
use super::negotiate::Shape;
use super::stream;
use super::{Target, Tweak, respond};
use crate::builder::LONGEST;
use crate::encode;
use crate::model::{ListOptions, WatchRefusal, WatchStart};
use crate::request::RequestRecord;
use crate::shared::Shared;
use crate::status;

pub(super) fn get(
    shared: &Shared,
    record: &RequestRecord,
    target: &Target,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::One)?;
    let resource = &target.resource;
    let object = shared
        .cluster
        .lock()
        .get(resource, &record.namespace, &record.name)?;
    Ok(respond::object(StatusCode::OK, resource, &object, encoding))
}

pub(super) fn list(
    shared: &Shared,
    record: &RequestRecord,
    target: &Target,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::List)?;
    let options = list_options(record)?;
    let resource = target.resource.clone();
    let view = shared.replica(&record.client).1;
    let cluster = shared.cluster.lock();
    let page = cluster.list_seen(view, &resource, &record.namespace, &options)?;
    drop(cluster);
    Ok(respond::list(encode::list(resource, page, encoding)))
}

pub(super) fn watch(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    tweak: Tweak,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::Watch)?;
    let options = list_options(record)?;
    let timeout = match number(record, "timeoutSeconds")? {
        0 => shared.default_watch_timeout(),
        seconds => Duration::from_secs(seconds).min(LONGEST),
    };
    let (replica, view) = shared.replica(&record.client);
    let cluster = shared.cluster.lock();
    let start = cluster.watch_seen(view, &target.resource, &record.namespace, &options);
    drop(cluster);
    match start {
        Err(WatchRefusal::Answer(status)) => Err(status),
        Err(WatchRefusal::ErrorEvent(status)) => Ok(respond::error_event(&status, encoding.format)),
        Ok(mut start) => {
            tweak_start(&mut start, tweak);
            let bookmarks = options.allow_watch_bookmarks;
            let body = stream::open(shared.clone(), replica, start, encoding, bookmarks, timeout);
            Ok(respond::watch(body, encoding.format))
        }
    }
}

fn tweak_start(start: &mut WatchStart, tweak: Tweak) {
    match tweak {
        Tweak::None => {}
        Tweak::WithoutInitialEventsEnd => start.initial_end = None,
        Tweak::Shuffled(seed) => {
            let mut random = fastrand::Rng::with_seed(seed);
            let twice = start.initial.iter().filter(|_| random.u8(0..4) == 0);
            let twice: Vec<_> = twice.cloned().collect();
            start.initial.extend(twice);
            random.shuffle(&mut start.initial);
        }
    }
}

/// Reads the parameters of a list or watch from a query.
pub(super) fn list_options(record: &RequestRecord) -> Result<ListOptions, Status> {
    let text = |key: &str| record.query_value(key).unwrap_or_default().to_owned();
    let mut options = ListOptions::new();
    options.label_selector = text("labelSelector");
    options.field_selector = text("fieldSelector");
    options.limit = number(record, "limit")?;
    options.continue_token = text("continue");
    options.resource_version = text("resourceVersion");
    options.resource_version_match = text("resourceVersionMatch");
    options.send_initial_events = record.query_flag("sendInitialEvents");
    options.allow_watch_bookmarks = record.query_flag("allowWatchBookmarks").unwrap_or(false);
    Ok(options)
}

/// Reads a number from a query; absent and negative ones are 0.
fn number(record: &RequestRecord, key: &str) -> Result<u64, Status> {
    let Some(text) = record.query_value(key).filter(|text| !text.is_empty()) else {
        return Ok(0);
    };
    let number: i64 = text.parse().map_err(|_| {
        status::bad_request(format!(
            "strconv.ParseInt: parsing {text:?}: invalid syntax"
        ))
    })?;
    Ok(u64::try_from(number).unwrap_or(0))
}
