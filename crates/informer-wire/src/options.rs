//! The options of list and watch requests, as Kubernetes' `ListOptions`.

use std::time::Duration;

use informer_store::ResourceVersion;

/// A year, in seconds. Servers count in nanoseconds, in 64 bits.
const LONGEST_WATCH: u64 = 365 * 24 * 3600;

/// The parameters of a list or watch.
///
/// ```
/// use informer_wire::ListOptions;
///
/// let options = ListOptions::default().label_selector("app=shop").limit(500);
/// assert_eq!(
///     options.query_pairs(),
///     [("labelSelector", "app=shop".into()), ("limit", "500".into())],
/// );
/// ```
///
/// Source: [`ListOptions`](https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/list-options/)
/// of the Kubernetes API.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListOptions {
    /// Only objects whose labels match; a selector in Kubernetes' grammar.
    pub label_selector: Option<String>,
    /// Only objects whose fields match; a selector in Kubernetes' grammar.
    pub field_selector: Option<String>,
    /// The most objects in one page of a list. `None` or 0: no limit.
    pub limit: Option<u32>,
    /// The token of the next page, from the last page.
    pub continue_token: Option<String>,
    /// The point in history to read. `None`: the newest state.
    pub resource_version: Option<ResourceVersion>,
    /// How `resource_version` is meant.
    pub resource_version_match: Option<ResourceVersionMatch>,
    /// The time after which the server ends a watch, in whole seconds: at least one, at most those of a year.
    pub timeout: Option<Duration>,
    /// Whether a watch may carry bookmarks.
    pub allow_watch_bookmarks: bool,
    /// Whether a watch starts with initial events, the whole present state, and a bookmark at their end.
    pub send_initial_events: Option<bool>,
}

/// How the resource version of a request is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceVersionMatch {
    /// This version exactly.
    Exact,
    /// This version or a newer one.
    NotOlderThan,
}

impl ListOptions {
    /// Sets the label selector.
    #[must_use]
    pub fn label_selector(mut self, selector: impl Into<String>) -> Self {
        self.label_selector = Some(selector.into());
        self
    }

    /// Sets the field selector.
    #[must_use]
    pub fn field_selector(mut self, selector: impl Into<String>) -> Self {
        self.field_selector = Some(selector.into());
        self
    }

    /// Sets the most objects in one page of a list.
    #[must_use]
    pub const fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Sets the token of the page to read.
    #[must_use]
    pub fn continue_token(mut self, token: impl Into<String>) -> Self {
        self.continue_token = Some(token.into());
        self
    }

    /// Sets the point in history to read.
    #[must_use]
    pub fn resource_version(mut self, resource_version: ResourceVersion) -> Self {
        self.resource_version = Some(resource_version);
        self
    }

    /// Sets how the point in history is meant.
    #[must_use]
    pub const fn resource_version_match(mut self, how: ResourceVersionMatch) -> Self {
        self.resource_version_match = Some(how);
        self
    }

    /// Sets the time after which the server ends a watch.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets whether a watch may carry bookmarks.
    #[must_use]
    pub const fn allow_watch_bookmarks(mut self, allow: bool) -> Self {
        self.allow_watch_bookmarks = allow;
        self
    }

    /// Sets whether a watch starts with initial events.
    #[must_use]
    pub const fn send_initial_events(mut self, send: bool) -> Self {
        self.send_initial_events = Some(send);
        self
    }

    /// Returns the query parameters, not yet encoded. `watch=true` is not among them: it belongs to the request.
    #[must_use]
    pub fn query_pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        let mut push = |name, value: Option<String>| pairs.extend(value.map(|value| (name, value)));
        push(
            "labelSelector",
            self.label_selector.clone().filter(|s| !s.is_empty()),
        );
        push(
            "fieldSelector",
            self.field_selector.clone().filter(|s| !s.is_empty()),
        );
        push(
            "limit",
            self.limit
                .filter(|limit| *limit > 0)
                .map(|limit| limit.to_string()),
        );
        push(
            "continue",
            self.continue_token.clone().filter(|s| !s.is_empty()),
        );
        push(
            "resourceVersion",
            self.resource_version.as_ref().map(ToString::to_string),
        );
        push(
            "resourceVersionMatch",
            self.resource_version_match.map(|m| format!("{m:?}")),
        );
        push(
            "timeoutSeconds",
            self.timeout
                .map(|timeout| timeout.as_secs().clamp(1, LONGEST_WATCH).to_string()),
        );
        push(
            "allowWatchBookmarks",
            self.allow_watch_bookmarks.then(|| "true".to_owned()),
        );
        push(
            "sendInitialEvents",
            self.send_initial_events.map(|send| send.to_string()),
        );
        pairs
    }
}
