//! What a reflector may be told about how to list and watch.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use informer_wire::ListOptions;

use crate::list_watch::OptionsModifier;
use crate::machine::BackoffConfig;

/// How a reflector lists and watches.
///
/// ```
/// use std::time::Duration;
///
/// use informer_reflector::{ListMode, ReflectorConfig};
///
/// let config = ReflectorConfig::default()
///     .label_selector("app=shop")
///     .list_mode(ListMode::List)
///     .resync_period(Duration::from_secs(600));
/// # let _ = config;
/// ```
#[derive(Clone)]
#[non_exhaustive]
#[doc(alias = "ReflectorOptions")]
pub struct ReflectorConfig {
    pub(crate) list_mode: ListMode,
    pub(crate) first_list: FirstList,
    pub(crate) page_size: u32,
    pub(crate) page_relists: bool,
    pub(crate) label_selector: Option<String>,
    pub(crate) field_selector: Option<String>,
    pub(crate) modifiers: Vec<Arc<OptionsModifier>>,
    pub(crate) watch_timeout: Duration,
    pub(crate) request_timeout: Duration,
    pub(crate) silence_timeout: Duration,
    pub(crate) internal_error_retries: u32,
    pub(crate) backoff: BackoffConfig,
    pub(crate) resync_period: Option<Duration>,
    pub(crate) relist_period: Option<Duration>,
    pub(crate) check_consistency: bool,
    pub(crate) cluster: Option<String>,
    pub(crate) seed: Option<u64>,
}

/// How a reflector gets the present state of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ListMode {
    /// As the first part of a watch (a streaming list), and by a list where the server cannot do that. A refusal
    /// is remembered for as long as the reflector lives; so are three failures in a row that might have passed:
    /// internal errors, half a minute without progress, or ends before the first state was complete.
    #[default]
    Auto,
    /// By a list, page by page.
    List,
    /// As [`Auto`](Self::Auto), but every time anew: a refusal is forgotten once the list that replaced it is done.
    Stream,
}

/// How fresh the first list has to be. Later ones are never older than what was seen before, and a streaming list
/// gives the newest state in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FirstList {
    /// The newest state (resource version unset).
    #[default]
    Consistent,
    /// Any state that the server has at hand (resource version `0`), even one from long ago. It costs old servers
    /// less.
    Any,
}

/// A shorter watch than this costs the server more than it gives.
const MIN_WATCH_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Watches that are opened again more often than this are a load for the server, and no sooner found broken.
const MIN_SILENCE: Duration = Duration::from_secs(1);

impl Default for ReflectorConfig {
    fn default() -> Self {
        Self {
            list_mode: ListMode::default(),
            first_list: FirstList::default(),
            page_size: 5000,
            page_relists: false,
            label_selector: None,
            field_selector: None,
            modifiers: Vec::new(),
            watch_timeout: MIN_WATCH_TIMEOUT,
            // With the first wait of the backoff behind it, a new try comes within a minute.
            request_timeout: Duration::from_secs(55),
            silence_timeout: Duration::from_secs(70),
            internal_error_retries: 3,
            backoff: BackoffConfig::default(),
            resync_period: None,
            relist_period: None,
            check_consistency: false,
            cluster: None,
            seed: None,
        }
    }
}

impl ReflectorConfig {
    /// How the present state is got. Default: [`ListMode::Auto`].
    #[must_use]
    #[doc(alias = "UseWatchList")]
    pub const fn list_mode(mut self, mode: ListMode) -> Self {
        self.list_mode = mode;
        self
    }

    /// How fresh the first list has to be. Default: [`FirstList::Consistent`].
    #[must_use]
    pub const fn first_list(mut self, first: FirstList) -> Self {
        self.first_list = first;
        self
    }

    /// The most objects in one page of a list; 0 means that lists have no pages. Default: 5000: a page is decoded as it
    /// arrives, so that its length costs no memory here, while each request costs the server some ten milliseconds.
    ///
    /// Lists that must not be older than what was seen have no pages, because a server reads a limit there as
    /// "exactly that version". See [`page_relists`](Self::page_relists).
    #[must_use]
    #[doc(alias = "WatchListPageSize")]
    pub const fn page_size(mut self, size: u32) -> Self {
        self.page_size = size;
        self
    }

    /// Whether all lists have pages, as they do in client-go once `WatchListPageSize` is set. It saves memory on
    /// the server, costs more requests, and gets "expired" for an answer more often. Default: false.
    #[must_use]
    pub const fn page_relists(mut self, page: bool) -> Self {
        self.page_relists = page;
        self
    }

    /// Only objects whose labels match, in Kubernetes' grammar.
    #[must_use]
    pub fn label_selector(mut self, selector: impl Into<String>) -> Self {
        self.label_selector = Some(selector.into());
        self
    }

    /// Only objects whose fields match, in Kubernetes' grammar.
    #[must_use]
    pub fn field_selector(mut self, selector: impl Into<String>) -> Self {
        self.field_selector = Some(selector.into());
        self
    }

    /// Changes the options of every request, list and watch alike, after everything else was set. Several
    /// modifiers run in the order in which they were given.
    ///
    /// Meant for selectors. A modifier that touches resource versions, limits or bookmarks takes the reflector's
    /// promises into its own hands.
    #[must_use]
    #[doc(alias = "TweakListOptionsFunc")]
    pub fn with_options_modifier(
        mut self,
        modify: impl Fn(&mut ListOptions) + Send + Sync + 'static,
    ) -> Self {
        self.modifiers.push(Arc::new(modify));
        self
    }

    /// For how long a watch is asked to last at least. Each one asks for a random time between this and twice
    /// this, so that watches do not end all at once. Default, and the least that is asked for: 5 minutes.
    #[must_use]
    #[doc(alias = "MinWatchTimeout")]
    pub fn watch_timeout(mut self, least: Duration) -> Self {
        self.watch_timeout = least.max(MIN_WATCH_TIMEOUT);
        self
    }

    /// For how long a list may make no progress, and for how long a watch may take to open. Default: 55 s.
    #[must_use]
    pub const fn request_timeout(mut self, limit: Duration) -> Self {
        self.request_timeout = limit;
        self
    }

    /// For how long a watch may be silent before it is opened again. Longer gaps that were seen make it longer; so
    /// does, before the first bookmark, each watch that was opened again for nothing. Default: 70 s, because servers
    /// send a bookmark a minute. At least a second, whatever is said: with less, watches would be opened again as fast as
    /// the server answers.
    #[must_use]
    pub const fn silence_timeout(mut self, limit: Duration) -> Self {
        self.silence_timeout = if limit.as_nanos() < MIN_SILENCE.as_nanos() {
            MIN_SILENCE
        } else {
            limit
        };
        self
    }

    /// How many internal errors (5xx) a watch may meet in a row, with less than a minute between them, before
    /// the reflector lists. Default: 3.
    #[must_use]
    #[doc(alias = "MaxInternalErrorRetryDuration")]
    pub const fn internal_error_retries(mut self, retries: u32) -> Self {
        self.internal_error_retries = retries;
        self
    }

    /// How long to wait after failures.
    #[must_use]
    pub const fn backoff(mut self, backoff: BackoffConfig) -> Self {
        self.backoff = backoff;
        self
    }

    /// How often consumers are reminded of all objects. Never asks the server. Default: never; 0 means never.
    #[must_use]
    pub const fn resync_period(mut self, period: Duration) -> Self {
        self.resync_period = if period.is_zero() { None } else { Some(period) };
        self
    }

    /// How often to list although the watch is in order. Default: never; 0 means never; at least a second. Each
    /// time is up to a tenth longer, so that many reflectors do not list all at once.
    ///
    /// For resources whose watches may lose something, as [`events`](crate#the-resource-events) do; what asks for
    /// it by [`ListerWatcher::relist_period`](crate::ListerWatcher::relist_period) needs no setting.
    #[must_use]
    pub fn relist_period(mut self, period: Duration) -> Self {
        self.relist_period = (!period.is_zero()).then(|| period.max(Duration::from_secs(1)));
        self
    }

    /// Lists a second time after each list, at exactly its version, and reports what differs
    /// ([`Report::Inconsistent`](crate::Report::Inconsistent)). For finding faults; it costs a whole list each time.
    /// Default: false.
    #[must_use]
    #[doc(alias = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR")]
    pub const fn check_consistency(mut self, check: bool) -> Self {
        self.check_consistency = check;
        self
    }

    /// Puts all keys into a named cluster, so that one store can hold the objects of several.
    #[must_use]
    pub fn cluster(mut self, name: impl Into<String>) -> Self {
        self.cluster = Some(name.into());
        self
    }

    /// Makes the random parts (jitter of waits and watch timeouts) repeatable. For tests.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }
}

impl fmt::Debug for ReflectorConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflectorConfig")
            .field("list_mode", &self.list_mode)
            .field("first_list", &self.first_list)
            .field("page_size", &self.page_size)
            .field("page_relists", &self.page_relists)
            .field("label_selector", &self.label_selector)
            .field("field_selector", &self.field_selector)
            .field("modifiers", &self.modifiers.len())
            .field("watch_timeout", &self.watch_timeout)
            .field("request_timeout", &self.request_timeout)
            .field("silence_timeout", &self.silence_timeout)
            .field("internal_error_retries", &self.internal_error_retries)
            .field("backoff", &self.backoff)
            .field("resync_period", &self.resync_period)
            .field("relist_period", &self.relist_period)
            .field("check_consistency", &self.check_consistency)
            .field("cluster", &self.cluster)
            .field("seed", &self.seed)
            .finish()
    }
}
