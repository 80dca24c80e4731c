//! The settings of a reflector.

mod backoff;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use informer_store::{FieldSelector, LabelSelector, SelectorError};
use informer_wire::ListOptions;

pub use self::backoff::BackoffConfig;
pub(crate) use self::backoff::MIN_WAIT;
use crate::user_code::call_hook;

/// The settings of a [`Reflector`](crate::Reflector).
///
/// No duration is longer than a year: a longer one, such as [`Duration::MAX`] for "no limit", means a year.
///
/// ```
/// use std::time::Duration;
///
/// use informer_reflector::{ListMode, ReflectorConfig};
///
/// let config = ReflectorConfig::default()
///     .label_selector("app=shop")
///     .list_mode(ListMode::List)
///     .relist_period(Duration::from_secs(3600));
/// # let _ = config;
/// ```
#[derive(Clone)]
#[non_exhaustive]
#[doc(alias = "ReflectorOptions")]
pub struct ReflectorConfig {
    pub(crate) list_mode: ListMode,
    pub(crate) first_list_from_cache: bool,
    pub(crate) page_size: u32,
    pub(crate) page_relists: bool,
    pub(crate) label_selector: Option<String>,
    pub(crate) field_selector: Option<String>,
    modifiers: Vec<Arc<OptionsModifier>>,
    pub(crate) timeouts: Timeouts,
    pub(crate) internal_error_retries: u32,
    pub(crate) backoff: BackoffConfig,
    pub(crate) relist_period: Option<Duration>,
    seed: Option<u64>,
}

/// Changes the parameters of a request.
type OptionsModifier = dyn Fn(&mut ListOptions) + Send + Sync;

/// When a request takes too long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    pub(crate) answer: Duration,
    pub(crate) progress: Duration,
    pub(crate) silence: Duration,
    pub(crate) watch: Duration,
}

/// How a reflector gets the whole state of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ListMode {
    /// By a streaming list, the first part of a watch, and by a list where the server does not support that. A refusal
    /// is remembered for as long as the reflector runs; so are three failures in a row that might have been temporary:
    /// internal errors, half a minute without progress, or ends before the initial events were complete.
    #[default]
    Auto,
    /// By a list, page by page.
    List,
    /// As [`Auto`](Self::Auto), but a refusal is forgotten once the list that replaced the streaming list is complete.
    Stream,
}

/// A shorter watch than this costs the server more than it gives.
const MIN_WATCH: Duration = Duration::from_secs(5 * 60);
/// Requests that are given up sooner are a load for the server.
const MIN_TIMEOUT: Duration = Duration::from_secs(1);
/// The least time between two lists or resyncs without a failure.
const MIN_PERIOD: Duration = Duration::from_secs(1);
/// As good as for ever, and far from what times and durations can hold.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// Clamps a duration that was set: the one place where settings are made safe to calculate with.
fn clamped(duration: Duration, least: Duration) -> Duration {
    duration.clamp(least, YEAR)
}

/// Clamps a period of lists or resyncs; zero means none.
pub(crate) fn period(period: Duration) -> Option<Duration> {
    (!period.is_zero()).then(|| clamped(period, MIN_PERIOD))
}

impl Default for ReflectorConfig {
    fn default() -> Self {
        Self {
            list_mode: ListMode::default(),
            first_list_from_cache: false,
            page_size: 5000,
            page_relists: false,
            label_selector: None,
            field_selector: None,
            modifiers: Vec::new(),
            timeouts: Timeouts {
                // Servers give up after 60 s, and say why.
                answer: Duration::from_secs(75),
                progress: Duration::from_secs(30),
                // Servers send a bookmark a minute.
                silence: Duration::from_secs(70),
                watch: MIN_WATCH,
            },
            internal_error_retries: 3,
            backoff: BackoffConfig::default(),
            relist_period: None,
            seed: None,
        }
    }
}

impl ReflectorConfig {
    /// Sets how the whole state is fetched. Default: [`ListMode::Auto`].
    #[must_use]
    #[doc(alias = "UseWatchList")]
    pub const fn list_mode(mut self, mode: ListMode) -> Self {
        self.list_mode = mode;
        self
    }

    /// Sets whether the first list may be served from the server's cache (resource version `0`) and be outdated, which
    /// costs old servers less. Default: false, the newest state.
    ///
    /// Later lists are never older than what was received. No effect on a streaming list, which has the newest state in
    /// any case: it takes [`ListMode::List`], or a server without streaming lists.
    #[must_use]
    pub const fn first_list_from_cache(mut self, from_cache: bool) -> Self {
        self.first_list_from_cache = from_cache;
        self
    }

    /// Sets the most objects in one page of a list; 0 means no pages. Default: 5000. A page is decoded as it
    /// is received, so its length costs no memory here, while each request costs the server some ten milliseconds.
    ///
    /// No effect on streaming lists, and none on relists without [`page_relists`](Self::page_relists): a list that must
    /// not be older than a resource version has no pages, because a server takes a limit there for "exactly that version".
    #[must_use]
    #[doc(alias = "WatchListPageSize")]
    pub const fn page_size(mut self, size: u32) -> Self {
        self.page_size = size;
        self
    }

    /// Sets whether relists have pages too, as in client-go once `WatchListPageSize` is set. It saves memory on
    /// the server, costs more requests, and expires more often. Default: false. No effect on streaming lists.
    #[must_use]
    pub const fn page_relists(mut self, page: bool) -> Self {
        self.page_relists = page;
        self
    }

    /// Selects objects by their labels: a [`LabelSelector`] or its text. Empty for all. A second one replaces the first.
    ///
    /// A text that does not parse is an error of [`Reflector::config`](crate::Reflector::config).
    #[must_use]
    pub fn label_selector(mut self, selector: impl fmt::Display) -> Self {
        self.label_selector = Some(selector.to_string()).filter(|text| !text.is_empty());
        self
    }

    /// Selects objects by their fields: a [`FieldSelector`] or a text with any field that the server knows. Empty for
    /// all. A second one replaces the first.
    ///
    /// A text that does not parse is an error of [`Reflector::config`](crate::Reflector::config).
    #[must_use]
    pub fn field_selector(mut self, selector: impl fmt::Display) -> Self {
        self.field_selector = Some(selector.to_string()).filter(|text| !text.is_empty());
        self
    }

    /// Changes the parameters of every request, list and watch alike, after everything else was set. Several
    /// modifiers run in the order in which they were given. One that panics is logged and has no effect.
    ///
    /// Meant for selectors, which are not checked here. A modifier that touches resource versions, limits or bookmarks
    /// takes the reflector's guarantees away.
    #[must_use]
    #[doc(alias = "TweakListOptionsFunc")]
    pub fn with_options_modifier(
        mut self,
        modify: impl Fn(&mut ListOptions) + Send + Sync + 'static,
    ) -> Self {
        self.modifiers.push(Arc::new(modify));
        self
    }

    /// Sets how long the response to a list may take to begin. Default: 75 s, because servers give up after
    /// 60 s and say why. At least a second.
    #[must_use]
    pub fn answer_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.answer = clamped(limit, MIN_TIMEOUT);
        self
    }

    /// Sets how long a list, or the initial events of a streaming list, may pause between two objects. Default: 30 s. At
    /// least a second.
    #[must_use]
    pub fn progress_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.progress = clamped(limit, MIN_TIMEOUT);
        self
    }

    /// Sets how long a watch may be silent, and take to open, before it is opened again. Longer gaps between events make
    /// it longer; so does, before the first bookmark, each watch that was opened again in vain. Default: 70 s, because
    /// servers send a bookmark a minute. At least a second.
    #[must_use]
    pub fn silence_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.silence = clamped(limit, MIN_TIMEOUT);
        self
    }

    /// Sets how long a watch lasts at least. Each one requests a random time between this and twice
    /// this, so that watches do not end all at once. Default, and the least: 5 minutes.
    #[must_use]
    #[doc(alias = "MinWatchTimeout")]
    pub fn watch_timeout(mut self, least: Duration) -> Self {
        self.timeouts.watch = clamped(least, MIN_WATCH);
        self
    }

    /// Sets how many internal errors (5xx) in a row, less than a minute apart, a watch may meet before the reflector
    /// lists. Default: 3.
    #[must_use]
    #[doc(alias = "MaxInternalErrorRetryDuration")]
    pub const fn internal_error_retries(mut self, retries: u32) -> Self {
        self.internal_error_retries = retries;
        self
    }

    /// Sets the waits after failures.
    #[must_use]
    pub const fn backoff(mut self, backoff: BackoffConfig) -> Self {
        self.backoff = backoff;
        self
    }

    /// Sets how often to list although the watch is in order. Default, and zero: never, or what the source asks for by
    /// [`ListerWatcher::relist_period`](crate::ListerWatcher::relist_period). At least a second. Each time is up to a
    /// tenth longer, so that many reflectors do not list all at once.
    ///
    /// For resources whose watches may lose events, as [`events`](crate#the-resource-events) do, and for those who trust
    /// no watch: a list repairs a lost deletion.
    #[must_use]
    pub fn relist_period(mut self, every: Duration) -> Self {
        self.relist_period = period(every);
        self
    }

    /// Makes the random parts (jitter of waits and watch timeouts) repeatable, for tests.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Checks the texts of the selectors.
    ///
    /// # Errors
    /// If one does not parse.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), SelectorError> {
        if let Some(text) = &self.label_selector {
            text.parse::<LabelSelector>()?;
        }
        self.field_selector
            .as_deref()
            .map_or(Ok(()), FieldSelector::check_syntax)
    }

    /// The source of the random parts.
    #[doc(hidden)]
    #[must_use]
    pub fn rng(&self) -> Rng {
        self.seed.map_or_else(Rng::new, Rng::with_seed)
    }

    /// The options of a request after all modifiers.
    #[doc(hidden)]
    #[must_use]
    pub fn modified(&self, mut options: ListOptions) -> ListOptions {
        for modify in &self.modifiers {
            let before = options.clone();
            if call_hook("options modifier", || modify(&mut options)).is_none() {
                options = before;
            }
        }
        options
    }
}

impl fmt::Debug for ReflectorConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflectorConfig")
            .field("list_mode", &self.list_mode)
            .field("first_list_from_cache", &self.first_list_from_cache)
            .field("page_size", &self.page_size)
            .field("page_relists", &self.page_relists)
            .field("label_selector", &self.label_selector)
            .field("field_selector", &self.field_selector)
            .field("modifiers", &self.modifiers.len())
            .field("timeouts", &self.timeouts)
            .field("internal_error_retries", &self.internal_error_retries)
            .field("backoff", &self.backoff)
            .field("relist_period", &self.relist_period)
            .field("seed", &self.seed)
            .finish()
    }
}
