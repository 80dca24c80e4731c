//! Scripted faults: the requests that they hit, and their effect.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use informer_wire::Status;

use crate::request::{RequestRecord, Verb};
use crate::status;

/// The effect on a request instead of, or on top of, the true response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// This response, whatever the request.
    Answer(Answer),
    /// A watch opens with 200, sends this `ERROR` event alone, and ends.
    ErrorEvent(Status),
    /// No response while the client waits; not even headers.
    HoldOpen,
    /// The true response, later by this much.
    Delay(Duration),
    /// The true response, but the connection breaks after this many bytes of the body.
    Cut {
        /// The number of bytes of the body that are sent.
        after: u64,
    },
    /// The true response, but the body ends after this many bytes, as if complete.
    End {
        /// The number of bytes of the body that are sent.
        after: u64,
    },
    /// The true response, but nothing follows after this many bytes of the body; the connection stays open.
    Stall {
        /// The number of bytes of the body that are sent.
        after: u64,
    },
    /// The connection breaks before any response.
    Disconnect,
    /// The request is carried out, then the connection breaks before any response.
    LoseResponse,
    /// The true response, but the request is carried out only after this time: whether the client still waits for it, has
    /// given up, or is [fenced](crate::ApiServer::fence).
    Late(Duration),
    /// The connection is refused in memory; over HTTP, where it is accepted already, it breaks.
    Refuse,
    /// These bytes, then the true body. Whole lines before a watch are events that the server did not send.
    Before(Bytes),
    /// The true response, but its body is sent in pieces of `bytes`.
    Trickle {
        /// The length of a piece; at least one byte.
        bytes: usize,
        /// The time before each piece.
        every: Duration,
    },
    /// The true response to the request without these query parameters, as from a server that does not know them.
    Ignore(Vec<String>),
    /// A streaming list without the bookmark `initial-events-end`.
    WithoutInitialEventsEnd,
    /// A streaming list whose initial events are in another order, some of them twice.
    Shuffled(u64),
}

/// A whole response: status code, headers, body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    code: u16,
    headers: Vec<(String, String)>,
    body: Bytes,
}

impl Answer {
    /// Makes a response in plain text, as proxies and early filters send it.
    pub fn text(code: u16, body: impl Into<Bytes>) -> Self {
        Self {
            code,
            headers: Vec::new(),
            body: body.into(),
        }
        .header("content-type", "text/plain; charset=utf-8")
    }

    /// Makes a response in JSON.
    pub fn json(code: u16, body: impl Into<Bytes>) -> Self {
        Self {
            code,
            headers: Vec::new(),
            body: body.into(),
        }
        .header("content-type", "application/json")
    }

    /// Adds a header. An invalid one is left out.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Returns the first value of a header; names are compared as HTTP does.
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
    /// Makes the response of a real server with this status: JSON, with `Retry-After` if it has one.
    fn from(status: Status) -> Self {
        // A real server indents this one.
        let body = match status.code {
            406 => status::to_pretty_json(&status),
            _ => status::to_json(&status),
        };
        // Of a success no server writes the code.
        let code = if status.code == 0 { 200 } else { status.code };
        let answer = Self::json(code, body);
        match status.retry_after() {
            None => answer,
            Some(wait) => answer.header("retry-after", wait.as_secs().to_string()),
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

/// Selects the requests that a fault hits: those that match everything that is set.
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
    client: Option<String>,
    query: Vec<(String, Option<String>)>,
}

impl RequestMatcher {
    /// Matches every request.
    pub fn any() -> Self {
        Self::default()
    }

    /// Matches requests with this verb.
    pub fn verb(verb: Verb) -> Self {
        Self {
            verb: Some(verb),
            ..Self::default()
        }
    }

    /// Matches only requests for this resource, by its plural.
    pub fn resource(mut self, plural: impl Into<String>) -> Self {
        self.resource = Some(plural.into());
        self
    }

    /// Matches only requests within this namespace.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Matches only requests for one object of this name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Matches only requests with this path, such as `/version`.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Matches only requests of the client of this name: see [`ApiServer::service_as`](crate::ApiServer::service_as).
    pub fn client(mut self, name: impl Into<String>) -> Self {
        self.client = Some(name.into());
        self
    }

    /// Matches only requests with this query parameter, whatever its value.
    pub fn has_query(mut self, key: impl Into<String>) -> Self {
        self.query.push((key.into(), None));
        self
    }

    /// Matches only requests with this query parameter and value.
    pub fn query(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.query.push((key.into(), Some(value.into())));
        self
    }

    /// Returns `true` if a request matches.
    pub fn matches(&self, request: &RequestRecord) -> bool {
        let fits = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|w| w == is);
        self.verb.is_none_or(|verb| verb == request.verb)
            && fits(&self.resource, &request.resource)
            && fits(&self.namespace, &request.namespace)
            && fits(&self.name, &request.name)
            && fits(&self.path, &request.path)
            && fits(&self.client, &request.client)
            && self.query.iter().all(|(key, value)| {
                request
                    .query_value(key)
                    .is_some_and(|is| value.as_ref().is_none_or(|v| v == is))
            })
    }
}

/// One entry of the script: it skips some matching requests, then hits some.
#[derive(Clone, Debug)]
pub(crate) struct FaultRule {
    pub(crate) matcher: RequestMatcher,
    pub(crate) fault: Fault,
    /// The number of matching requests still to be skipped.
    pub(crate) skip: usize,
    /// The number of requests still to be hit.
    pub(crate) times: usize,
}

/// The rules in force. The first rule that matches a request takes it; a used-up one is removed.
#[derive(Debug, Default)]
pub(crate) struct FaultQueue {
    rules: VecDeque<FaultRule>,
    source: Option<FaultSource>,
}

/// Decides for each request without a rule.
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

    /// Returns the fault of a request, if a rule or the source has one.
    pub(crate) fn take_any(&mut self, request: &RequestRecord) -> Option<Fault> {
        self.take(request)
            .or_else(|| self.source.as_mut().and_then(|source| source.0(request)))
    }

    pub(crate) fn set_source(&mut self, source: Option<FaultSource>) {
        self.source = source;
    }

    /// Returns the fault of a request, if a rule has one.
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
    fn fault_rules_hit_in_order_and_as_often_as_set() {
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
    fn matcher_checks_the_query() {
        let second_page = RequestMatcher::verb(Verb::List).has_query("continue");
        assert!(second_page.matches(&request(Verb::List, "pods", &[("continue", "abc")])));
        assert!(!second_page.matches(&request(Verb::List, "pods", &[("limit", "5")])));
        let zero = RequestMatcher::any().query("resourceVersion", "0");
        assert!(zero.matches(&request(Verb::List, "pods", &[("resourceVersion", "0")])));
        assert!(!zero.matches(&request(Verb::List, "pods", &[("resourceVersion", "00")])));
    }
}
