//! Scripted misbehaviour: which requests it hits, and what happens to them.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use crate::request::{RequestRecord, Verb};
use crate::status::Status;

/// What happens to a request instead of, or on top of, the true answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// This answer, whatever was asked.
    Answer(Answer),
    /// A watch opens with 200, and the stream holds this `ERROR` event alone, then ends.
    ErrorEvent(Status),
    /// No answer at all while the client waits; not even headers.
    HoldOpen,
    /// The true answer, but later by this much.
    Delay(Duration),
    /// The true answer, but the connection breaks after this many bytes of the body.
    Cut {
        /// Bytes of the body that still arrive.
        after: u64,
    },
    /// The true answer, but the body ends after this many bytes, as if that were all.
    End {
        /// Bytes of the body that arrive.
        after: u64,
    },
    /// The true answer, but after this many bytes of the body nothing comes any more; the
    /// connection stays open.
    Stall {
        /// Bytes of the body that arrive.
        after: u64,
    },
    /// The connection breaks before any answer.
    Disconnect,
    /// Nobody listens: in memory the connection is refused; over HTTP, where it was accepted
    /// already, it breaks.
    Refuse,
    /// These bytes, then the true body. Whole lines before a watch are events that nobody sent.
    Before(Bytes),
    /// The true answer, but its body comes in pieces of `bytes`, one at a time.
    Trickle {
        /// How long a piece is; at least one byte.
        bytes: usize,
        /// The time before each piece.
        every: Duration,
    },
    /// The true answer to the request without these query parameters, as from a server that does
    /// not know them.
    Ignore(Vec<String>),
    /// A streaming list without the mark at the end of the present state.
    Unmarked,
    /// The present state of a streaming list comes in another order, some of it twice.
    Shuffled(u64),
}

/// A whole answer: status code, headers, body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    code: u16,
    headers: Vec<(String, String)>,
    body: Bytes,
}

impl Answer {
    /// An answer in plain text, as proxies and early filters give it.
    pub fn text(code: u16, body: impl Into<Bytes>) -> Self {
        Self {
            code,
            headers: Vec::new(),
            body: body.into(),
        }
        .header("content-type", "text/plain; charset=utf-8")
    }

    /// An answer in JSON.
    pub fn json(code: u16, body: impl Into<Bytes>) -> Self {
        Self {
            code,
            headers: Vec::new(),
            body: body.into(),
        }
        .header("content-type", "application/json")
    }

    /// Adds a header. What is no valid header is left out of the answer.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The first value of a header; names are compared as HTTP does.
    pub fn header_value(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter();
        let found = values.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn code(&self) -> u16 {
        self.code
    }

    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }
}

impl From<Status> for Answer {
    /// The answer a real server makes of a status: JSON, with `Retry-After` if it says so.
    fn from(status: Status) -> Self {
        // A real server indents this one.
        let body = match status.code() {
            406 => status.to_pretty_json(),
            _ => status.to_json(),
        };
        let answer = Self::json(status.code(), body);
        match status
            .details()
            .map_or(0, |details| details.retry_after_seconds)
        {
            0 => answer,
            seconds => answer.header("retry-after", seconds.to_string()),
        }
    }
}

impl From<Answer> for Fault {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

impl From<Status> for Fault {
    fn from(status: Status) -> Self {
        Self::Answer(status.into())
    }
}

/// Which requests a fault hits: those that fit everything that was set.
///
/// ```
/// use informer_testkit::{RequestMatcher, Verb};
///
/// // The second page and all later ones of any list of pods.
/// let pages = RequestMatcher::verb(Verb::List).resource("pods").has_query("continue");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct RequestMatcher {
    verb: Option<Verb>,
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    path: Option<String>,
    query: Vec<(String, Option<String>)>,
}

impl RequestMatcher {
    /// Every request.
    pub fn any() -> Self {
        Self::default()
    }

    /// Requests with this verb.
    pub fn verb(verb: Verb) -> Self {
        Self {
            verb: Some(verb),
            ..Self::default()
        }
    }

    /// Only requests for this resource, by its plural.
    pub fn resource(mut self, plural: impl Into<String>) -> Self {
        self.resource = Some(plural.into());
        self
    }

    /// Only requests within this namespace.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only requests for one object of this name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Only requests with this path, such as `/version`.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Only requests with this query parameter, whatever its value.
    pub fn has_query(mut self, key: impl Into<String>) -> Self {
        self.query.push((key.into(), None));
        self
    }

    /// Only requests with this query parameter and value.
    pub fn query(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.query.push((key.into(), Some(value.into())));
        self
    }

    /// Whether a request fits.
    pub fn matches(&self, request: &RequestRecord) -> bool {
        let fits = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|w| w == is);
        self.verb.is_none_or(|verb| verb == request.verb)
            && fits(&self.resource, &request.resource)
            && fits(&self.namespace, &request.namespace)
            && fits(&self.name, &request.name)
            && fits(&self.path, &request.path)
            && self.query.iter().all(|(key, value)| {
                request
                    .query_value(key)
                    .is_some_and(|is| value.as_ref().is_none_or(|v| v == is))
            })
    }
}

/// One entry of the script: it lets some matching requests pass, then hits some.
#[derive(Clone, Debug)]
pub(crate) struct FaultRule {
    pub(crate) matcher: RequestMatcher,
    pub(crate) fault: Fault,
    /// Matching requests still to be let through.
    pub(crate) skip: usize,
    /// Requests still to be hit.
    pub(crate) times: usize,
}

/// The rules in force. The first rule that matches a request takes it; a used-up one goes.
#[derive(Debug, Default)]
pub(crate) struct FaultQueue {
    rules: VecDeque<FaultRule>,
    source: Option<FaultSource>,
}

/// Decides for each request that the script leaves alone.
pub(crate) struct FaultSource(pub(crate) Box<Decide>);

type Decide = dyn FnMut(&RequestRecord) -> Option<Fault> + Send;

impl std::fmt::Debug for FaultSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FaultSource")
    }
}

impl FaultQueue {
    pub(crate) fn push(&mut self, rule: FaultRule) {
        if rule.times > 0 {
            self.rules.push_back(rule);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.rules.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The fault for a request, if the script or else the source has one.
    pub(crate) fn take_any(&mut self, request: &RequestRecord) -> Option<Fault> {
        self.take(request)
            .or_else(|| self.source.as_mut().and_then(|source| source.0(request)))
    }

    pub(crate) fn set_source(&mut self, source: Option<FaultSource>) {
        self.source = source;
    }

    /// The fault for a request, if one is due.
    pub(crate) fn take(&mut self, request: &RequestRecord) -> Option<Fault> {
        let at = self
            .rules
            .iter()
            .position(|rule| rule.matcher.matches(request))?;
        let rule = &mut self.rules[at];
        if rule.skip > 0 {
            rule.skip -= 1;
            return None;
        }
        let fault = rule.fault.clone();
        rule.times -= 1;
        if rule.times == 0 {
            self.rules.remove(at);
        }
        Some(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(verb: Verb, resource: &str, query: &[(&str, &str)]) -> RequestRecord {
        let query = query
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        RequestRecord {
            verb,
            resource: resource.to_owned(),
            query,
            ..RequestRecord::for_path("GET", "/")
        }
    }

    #[test]
    fn rules_hit_in_order_and_only_as_often_as_they_say() {
        let mut faults = FaultQueue::default();
        let watch = RequestMatcher::verb(Verb::Watch).resource("pods");
        let rule = |matcher: &RequestMatcher, fault: Fault, skip, times| FaultRule {
            matcher: matcher.clone(),
            fault,
            skip,
            times,
        };
        faults.push(rule(&watch, Fault::Disconnect, 1, 2));
        faults.push(rule(&watch, Fault::HoldOpen, 0, 1));
        faults.push(rule(&watch, Fault::HoldOpen, 0, 0));
        let mut hit = |verb, resource| faults.take(&request(verb, resource, &[]));
        assert_eq!(hit(Verb::List, "pods"), None);
        assert_eq!(hit(Verb::Watch, "nodes"), None);
        assert_eq!(
            hit(Verb::Watch, "pods"),
            None,
            "the first one is let through"
        );
        assert_eq!(hit(Verb::Watch, "pods"), Some(Fault::Disconnect));
        assert_eq!(hit(Verb::Watch, "pods"), Some(Fault::Disconnect));
        assert_eq!(hit(Verb::Watch, "pods"), Some(Fault::HoldOpen));
        assert_eq!(hit(Verb::Watch, "pods"), None);
        assert!(faults.is_empty());
    }

    #[test]
    fn a_matcher_looks_at_the_query() {
        let second_page = RequestMatcher::verb(Verb::List).has_query("continue");
        assert!(second_page.matches(&request(Verb::List, "pods", &[("continue", "abc")])));
        assert!(!second_page.matches(&request(Verb::List, "pods", &[("limit", "5")])));
        let zero = RequestMatcher::any().query("resourceVersion", "0");
        assert!(zero.matches(&request(Verb::List, "pods", &[("resourceVersion", "0")])));
        assert!(!zero.matches(&request(Verb::List, "pods", &[("resourceVersion", "00")])));
    }
}
