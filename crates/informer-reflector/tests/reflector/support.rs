//! A source that follows a script, and a reflector that runs over it.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use informer_reflector::{
    ListEvent, ListMode, ListRequest, ListWatchError, ListerWatcher, Reflector, ReflectorConfig,
    ReflectorStatus, Report,
};
use informer_store::{ObjectKey, ObjectVersion, ResourceVersion};
use informer_wire::{DecodeError, Decoded, ListMeta, ListOptions, Status, Undecodable, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use crate::mirror::Mirror;

/// An object `shop/NAME` of this version, with UID `1`.
pub(crate) fn object(name: &str, version: u64) -> ConfigMap {
    object_of(name, version, "1")
}

/// An object of this version and UID.
pub(crate) fn object_of(name: &str, version: u64, uid: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.namespace = Some("shop".to_owned());
    object.metadata.uid = Some(uid.to_owned());
    object.metadata.resource_version = Some(version.to_string());
    object
}

pub(crate) fn added(name: &str, version: u64) -> Beat {
    Beat::Event(WatchEvent::Added(Decoded::Object(object(name, version))))
}

pub(crate) fn modified(name: &str, version: u64) -> Beat {
    Beat::Event(WatchEvent::Modified(Decoded::Object(object(name, version))))
}

pub(crate) fn deleted(name: &str, version: u64) -> Beat {
    Beat::Event(WatchEvent::Deleted(Decoded::Object(object(name, version))))
}

pub(crate) fn bookmark(version: u64) -> Beat {
    let resource_version = version.into();
    Beat::Event(WatchEvent::Bookmark {
        resource_version,
        initial_events_end: false,
    })
}

pub(crate) fn initial_events_end(version: u64) -> Beat {
    let resource_version = version.into();
    Beat::Event(WatchEvent::Bookmark {
        resource_version,
        initial_events_end: true,
    })
}

pub(crate) fn unknown(event_type: &str) -> Beat {
    Beat::Event(WatchEvent::Unknown(event_type.to_owned()))
}

pub(crate) fn error_event(code: u16, reason: &str) -> Beat {
    Beat::Event(WatchEvent::Error(Status::failure(code, reason, "no")))
}

/// An object that cannot be decoded.
pub(crate) fn broken(name: &str, version: u64) -> Decoded<ConfigMap> {
    let key = ObjectKey::namespaced("shop", name);
    let version = ObjectVersion::new(Some("1".into()), Some(version.into()));
    let error = DecodeError::Malformed {
        what: "ConfigMap",
        reason: "bad data".to_owned(),
    };
    Decoded::Undecodable(Undecodable::new(Some(key), version, error))
}

/// An event without an object of the kind.
pub(crate) fn keyless(error: DecodeError) -> Decoded<ConfigMap> {
    let version = ObjectVersion::new(None, Some(11.into()));
    Decoded::Undecodable(Undecodable::new(None, version, error))
}

/// What a stream does next.
pub(crate) enum Beat {
    Item(Decoded<ConfigMap>),
    /// The newest object of this name that the sink has.
    Unchanged(&'static str),
    PageEnd(ListMeta),
    Event(WatchEvent<ConfigMap>),
    Fail(ListWatchError),
    Pause(Duration),
    /// Never yields again.
    Hang,
    /// As `Hang`, and panics when it is dropped.
    HangAndPanic,
    Panic,
}

/// How the source answers one request.
pub(crate) enum Answer {
    /// The stream opens.
    List(Vec<Beat>),
    Watch(Vec<Beat>),
    Fail(ListWatchError),
    /// The same, after this time.
    Late(Duration, Box<Self>),
    /// No answer, ever.
    Hang,
    Panic,
}

/// A whole list.
pub(crate) fn list(version: u64, items: Vec<ConfigMap>) -> Answer {
    page(items, ListMeta::at(version.into()))
}

pub(crate) fn page(items: Vec<ConfigMap>, meta: ListMeta) -> Answer {
    let items = items
        .into_iter()
        .map(|item| Beat::Item(Decoded::Object(item)));
    Answer::List(items.chain([Beat::PageEnd(meta)]).collect())
}

/// A watch that stays open after these.
pub(crate) fn watch(mut beats: Vec<Beat>) -> Answer {
    beats.push(Beat::Hang);
    Answer::Watch(beats)
}

/// A watch that ends after these.
pub(crate) fn short_watch(beats: Vec<Beat>) -> Answer {
    Answer::Watch(beats)
}

pub(crate) fn refusal(code: u16, reason: &str) -> Answer {
    Answer::Fail(Status::failure(code, reason, "no").into())
}

/// A request that the source received.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) watch: bool,
    pub(crate) options: ListOptions,
    /// Which of three objects the sink had, if the source might ask.
    pub(crate) newest: Option<Vec<String>>,
    pub(crate) at: Duration,
}

impl Request {
    /// As `list@10`, `list+token`, `watch@10`, `stream@`.
    pub(crate) fn short(&self) -> String {
        let verb = match (self.watch, self.options.send_initial_events) {
            (false, _) => "list",
            (true, Some(true)) => "stream",
            (true, _) => "watch",
        };
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

/// A source that answers as its script says, and not at all when that is at its end.
#[derive(Clone)]
pub(crate) struct Script(Arc<ScriptState>);

struct ScriptState {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Request>>,
    start: Instant,
    relist_period: Option<Duration>,
}

type Newest = Option<Arc<informer_wire::NewestFn<ConfigMap>>>;

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("shop", name)
}

impl Script {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::with_relist_period(answers, None)
    }

    pub(crate) fn with_relist_period(
        answers: impl IntoIterator<Item = Answer>,
        relist_period: Option<Duration>,
    ) -> Self {
        Self(Arc::new(ScriptState {
            answers: Mutex::new(answers.into_iter().collect()),
            requests: Mutex::new(Vec::new()),
            start: Instant::now(),
            relist_period,
        }))
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.0.requests.lock().clone()
    }

    /// All requests in short form.
    pub(crate) fn log(&self) -> Vec<String> {
        self.requests().iter().map(Request::short).collect()
    }

    /// The times between each request and the next.
    pub(crate) fn gaps(&self) -> Vec<Duration> {
        self.requests()
            .windows(2)
            .map(|pair| pair[1].at - pair[0].at)
            .collect()
    }

    async fn next(&self, watch: bool, options: ListOptions, newest: &Newest) -> Answer {
        let has = |newest: &Arc<informer_wire::NewestFn<ConfigMap>>| {
            let names = ["a", "b", "c"].into_iter();
            let names = names.filter(|name| newest(&key(name)).is_some());
            names.map(ToString::to_string).collect()
        };
        let at = self.0.start.elapsed();
        self.0.requests.lock().push(Request {
            watch,
            options,
            newest: newest.as_ref().map(has),
            at,
        });
        let answer = self.0.answers.lock().pop_front();
        match answer.unwrap_or(Answer::Hang) {
            Answer::Late(time, answer) => {
                tokio::time::sleep(time).await;
                *answer
            }
            answer => answer,
        }
    }
}

/// What the sink has of this name, as a decoder recognises it.
fn unchanged(name: &str, newest: &Newest) -> Decoded<ConfigMap> {
    let newest = newest.as_ref().expect("the request looks up objects");
    let (key, object) = newest(&key(name)).expect("the sink has it");
    Decoded::Unchanged(key, object)
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
    read: impl Fn(Beat) -> Result<T, ListWatchError> + Copy + Send + 'static,
) -> BoxStream<'static, Result<T, ListWatchError>> {
    stream::unfold(beats.into_iter(), move |mut beats| async move {
        loop {
            match beats.next()? {
                Beat::Pause(time) => tokio::time::sleep(time).await,
                Beat::Hang => std::future::pending().await,
                Beat::HangAndPanic => {
                    let _bomb = Bomb;
                    std::future::pending().await
                }
                Beat::Panic => panic!("a stream panicked on purpose"),
                Beat::Fail(error) => return Some((Err(error), beats)),
                beat => return Some((read(beat), beats)),
            }
        }
    })
    .boxed()
}

impl ListerWatcher for Script {
    type Object = ConfigMap;
    type List = BoxStream<'static, Result<ListEvent<ConfigMap>, ListWatchError>>;
    type Watch = BoxStream<'static, Result<WatchEvent<ConfigMap>, ListWatchError>>;

    async fn list(&self, request: ListRequest<ConfigMap>) -> Result<Self::List, ListWatchError> {
        let newest = request.newest;
        let mut beats = match self.next(false, request.options, &newest).await {
            Answer::List(beats) => beats,
            other => refuse(other).await?,
        };
        for beat in &mut beats {
            if let Beat::Unchanged(name) = beat {
                *beat = Beat::Item(unchanged(name, &newest));
            }
        }
        Ok(play(beats, |beat| match beat {
            Beat::Item(item) => Ok(ListEvent::Item(item)),
            Beat::PageEnd(meta) => Ok(ListEvent::End(meta)),
            _ => Err(ListWatchError::other("the script has an event in a list")),
        }))
    }

    async fn watch(&self, options: ListOptions) -> Result<Self::Watch, ListWatchError> {
        self.watch_list(ListRequest::new(options)).await
    }

    async fn watch_list(
        &self,
        request: ListRequest<ConfigMap>,
    ) -> Result<Self::Watch, ListWatchError> {
        let newest = request.newest;
        let mut beats = match self.next(true, request.options, &newest).await {
            Answer::Watch(beats) => beats,
            other => refuse(other).await?,
        };
        for beat in &mut beats {
            if let Beat::Unchanged(name) = beat {
                *beat = Beat::Event(WatchEvent::Added(unchanged(name, &newest)));
            }
        }
        Ok(play(beats, |beat| match beat {
            Beat::Event(event) => Ok(event),
            _ => Err(ListWatchError::other("the script has an item in a watch")),
        }))
    }

    fn relist_period(&self) -> Option<Duration> {
        self.0.relist_period
    }
}

async fn refuse(answer: Answer) -> Result<Vec<Beat>, ListWatchError> {
    match answer {
        Answer::Fail(error) => Err(error),
        Answer::Hang => std::future::pending().await,
        Answer::Panic => panic!("a request panicked on purpose"),
        Answer::List(_) | Answer::Watch(_) | Answer::Late(..) => {
            Err(ListWatchError::other("the script has another request here"))
        }
    }
}

/// A reflector that runs.
pub(crate) struct Run {
    pub(crate) script: Script,
    pub(crate) mirror: Arc<Mirror>,
    pub(crate) status: watch::Receiver<ReflectorStatus>,
    pub(crate) stop: CancellationToken,
    pub(crate) task: JoinHandle<()>,
    pub(crate) reports: Arc<Mutex<Vec<String>>>,
}

/// One that lists.
pub(crate) fn lists() -> ReflectorConfig {
    ReflectorConfig::default().list_mode(ListMode::List).seed(5)
}

pub(crate) fn streams() -> ReflectorConfig {
    ReflectorConfig::default().seed(5)
}

impl Run {
    /// Runs a reflector over this script.
    pub(crate) fn new(config: ReflectorConfig, answers: Vec<Answer>) -> Self {
        Self::with(config, answers, |reflector| reflector)
    }

    pub(crate) fn with(
        config: ReflectorConfig,
        answers: Vec<Answer>,
        change: impl FnOnce(Reflector<Script, Mirror>) -> Reflector<Script, Mirror>,
    ) -> Self {
        let (script, mirror) = (Script::new(answers), Arc::new(Mirror::default()));
        let reports = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&reports);
        let handler = move |report: &Report| log.lock().push(report.to_string());
        let reflector = Reflector::new(script.clone(), Arc::clone(&mirror))
            .config(config)
            .expect("its selectors parse")
            .watch_error_handler(handler);
        let reflector = change(reflector);
        let (status, stop) = (reflector.status(), CancellationToken::new());
        let task = tokio::spawn(reflector.run(stop.clone()));
        Self {
            script,
            mirror,
            status,
            stop,
            task,
            reports,
        }
    }

    /// Lets virtual time pass.
    pub(crate) async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Waits until the status is as asked; virtual time passes, but not more than an hour of it.
    pub(crate) async fn until(
        &mut self,
        ask: impl FnMut(&ReflectorStatus) -> bool,
    ) -> ReflectorStatus {
        let waited = within(Duration::from_secs(3600), self.status.wait_for(ask)).await;
        waited.expect("the reflector runs").clone()
    }

    /// Waits until the sink has everything up to this version.
    pub(crate) async fn until_version(&mut self, version: u64) -> ReflectorStatus {
        let version = Some(ResourceVersion::from(version));
        self.until(|status| status.resource_version == version)
            .await
    }

    pub(crate) fn reports(&self) -> Vec<String> {
        self.reports.lock().clone()
    }

    pub(crate) fn now(&self) -> ReflectorStatus {
        self.status.borrow().clone()
    }
}

/// Fails if this takes longer, in virtual time.
pub(crate) async fn within<F: Future>(limit: Duration, future: F) -> F::Output {
    let future: Pin<Box<F>> = Box::pin(future);
    tokio::time::timeout(limit, future)
        .await
        .expect("it takes too long")
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
