//! A source that follows a script.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use informer_reflector::{ListEvent, ListRequest, ListWatchError, ListerWatcher};
use informer_store::Object as _;
use informer_wire::{Decoded, ListMeta, ListOptions, Status, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::time::Instant;

pub const SECOND: Duration = Duration::from_secs(1);
pub const MINUTE: Duration = Duration::from_secs(60);

/// An object `shop/NAME` of this resource version and the UID `1`.
pub fn object(name: &str, version: u64) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.namespace = Some("shop".to_owned());
    object.metadata.uid = Some("1".to_owned());
    object.metadata.resource_version = Some(version.to_string());
    object
}

pub fn added(name: &str, version: u64) -> Beat {
    Beat::Event(WatchEvent::Added(Decoded::Object(object(name, version))))
}

pub fn modified(name: &str, version: u64) -> Beat {
    Beat::Event(WatchEvent::Modified(Decoded::Object(object(name, version))))
}

pub fn deleted(name: &str, version: u64) -> Beat {
    Beat::Event(WatchEvent::Deleted(Decoded::Object(object(name, version))))
}

pub fn bookmark(version: u64) -> Beat {
    Beat::Event(WatchEvent::Bookmark {
        resource_version: version.into(),
        initial_events_end: false,
    })
}

pub fn error_event(code: u16, reason: &str) -> Beat {
    Beat::Event(WatchEvent::Error(Status::failure(code, reason, "no")))
}

/// What a stream does next.
pub enum Beat {
    Item(Decoded<ConfigMap>),
    PageEnd(ListMeta),
    Event(WatchEvent<ConfigMap>),
    Pause(Duration),
    /// Never yields again.
    Hang,
    /// As `Hang`, and panics when it is dropped.
    HangAndPanic,
    Panic,
}

/// How the source answers a request.
pub enum Answer {
    List(Vec<Beat>),
    Watch(Vec<Beat>),
    Fail(ListWatchError),
    /// No answer, ever.
    Hang,
    Panic,
}

/// A whole list.
pub fn list(version: u64, items: Vec<ConfigMap>) -> Answer {
    page(items, ListMeta::at(version.into()))
}

pub fn page(items: Vec<ConfigMap>, meta: ListMeta) -> Answer {
    let items = items
        .into_iter()
        .map(|item| Beat::Item(Decoded::Object(item)));
    Answer::List(items.chain([Beat::PageEnd(meta)]).collect())
}

/// A watch that stays open after these.
pub fn watch(mut beats: Vec<Beat>) -> Answer {
    beats.push(Beat::Hang);
    Answer::Watch(beats)
}

/// A watch that ends after these.
pub fn short_watch(beats: Vec<Beat>) -> Answer {
    Answer::Watch(beats)
}

pub fn refusal(code: u16, reason: &str) -> Answer {
    Answer::Fail(Status::failure(code, reason, "no").into())
}

/// A request that the source received.
#[derive(Debug, Clone)]
pub struct Request {
    pub watch: bool,
    pub options: ListOptions,
    pub at: Duration,
}

impl Request {
    /// As `list@10`, `list+token`, `watch@10`.
    pub fn short(&self) -> String {
        let verb = if self.watch { "watch" } else { "list" };
        if let Some(token) = &self.options.continue_token {
            return format!("{verb}+{token}");
        }
        let version = self.options.resource_version.as_ref();
        format!(
            "{verb}@{}",
            version.map(ToString::to_string).unwrap_or_default()
        )
    }
}

/// A source that answers as its script says, and not at all after its end.
#[derive(Clone)]
pub struct Script(Arc<ScriptState>);

struct ScriptState {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Request>>,
    start: Instant,
}

impl Script {
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self(Arc::new(ScriptState {
            answers: Mutex::new(answers.into_iter().collect()),
            requests: Mutex::new(Vec::new()),
            start: Instant::now(),
        }))
    }

    pub fn requests(&self) -> Vec<Request> {
        self.0.requests.lock().clone()
    }

    /// All requests in short form.
    pub fn log(&self) -> Vec<String> {
        self.requests().iter().map(Request::short).collect()
    }

    /// The times between each request and the next.
    pub fn gaps(&self) -> Vec<Duration> {
        let requests = self.requests();
        requests
            .windows(2)
            .map(|pair| pair[1].at - pair[0].at)
            .collect()
    }

    async fn next(&self, watch: bool, options: ListOptions) -> Result<Vec<Beat>, ListWatchError> {
        let at = self.0.start.elapsed();
        self.0.requests.lock().push(Request { watch, options, at });
        let answer = self.0.answers.lock().pop_front();
        match answer.unwrap_or(Answer::Hang) {
            Answer::List(beats) if !watch => Ok(beats),
            Answer::Watch(beats) if watch => Ok(beats),
            Answer::Fail(error) => Err(error),
            Answer::Hang => std::future::pending().await,
            Answer::Panic => panic!("a request panicked on purpose"),
            Answer::List(_) | Answer::Watch(_) => {
                Err(ListWatchError::other("the script has another request here"))
            }
        }
    }
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a stream panicked on purpose while it was dropped");
    }
}

/// Plays a stream.
fn play<T: Send + 'static>(
    beats: Vec<Beat>,
    read: fn(Beat) -> Option<T>,
) -> BoxStream<'static, Result<T, ListWatchError>> {
    let beats = stream::unfold(beats.into_iter(), move |mut beats| async move {
        loop {
            match beats.next()? {
                Beat::Pause(time) => tokio::time::sleep(time).await,
                Beat::Hang => std::future::pending().await,
                Beat::HangAndPanic => {
                    let _bomb = Bomb;
                    std::future::pending().await
                }
                Beat::Panic => panic!("a stream panicked on purpose"),
                beat => {
                    let wrong = || ListWatchError::other("the script has another beat here");
                    return Some((read(beat).ok_or_else(wrong), beats));
                }
            }
        }
    });
    beats.boxed()
}

impl ListerWatcher for Script {
    type Object = ConfigMap;
    type List = BoxStream<'static, Result<ListEvent<ConfigMap>, ListWatchError>>;
    type Watch = BoxStream<'static, Result<WatchEvent<ConfigMap>, ListWatchError>>;

    async fn list(&self, request: ListRequest<ConfigMap>) -> Result<Self::List, ListWatchError> {
        let beats = self.next(false, request.options.clone()).await?;
        // As a decoder does: what is known in the same version is not decoded.
        let beats = beats.into_iter().map(|beat| match beat {
            Beat::Item(Decoded::Object(object)) => Beat::Item(known(&request, object)),
            beat => beat,
        });
        Ok(play(beats.collect(), |beat| match beat {
            Beat::Item(item) => Some(ListEvent::Item(item)),
            Beat::PageEnd(meta) => Some(ListEvent::End(meta)),
            _ => None,
        }))
    }

    async fn watch(&self, options: ListOptions) -> Result<Self::Watch, ListWatchError> {
        let beats = self.next(true, options).await?;
        Ok(play(beats, |beat| match beat {
            Beat::Event(event) => Some(event),
            _ => None,
        }))
    }

    fn supports_watch_list(&self) -> bool {
        false
    }
}

fn known(request: &ListRequest<ConfigMap>, object: ConfigMap) -> Decoded<ConfigMap> {
    use informer_store::{ObjectKey, ObjectVersion, Relation};
    let newest = request
        .newest
        .as_ref()
        .and_then(|newest| newest(&ObjectKey::of(&object)));
    match newest {
        Some((key, newest))
            if ObjectVersion::of(&object).relation_to(&ObjectVersion::of(&*newest))
                == Relation::Same =>
        {
            Decoded::Unchanged(key, newest)
        }
        _ => Decoded::Object(object),
    }
}

/// An event as `+a`, `~a`, `-a`.
pub fn line(event: &WatchEvent<ConfigMap>) -> String {
    let (what, item) = match event {
        WatchEvent::Added(item) => ("+", item),
        WatchEvent::Modified(item) => ("~", item),
        WatchEvent::Deleted(item) => ("-", item),
        other => return format!("{other:?}"),
    };
    match item {
        Decoded::Object(object) => format!("{what}{}", object.name()),
        other => format!("{what}{other:?}"),
    }
}
