//! Requests, read from method, path and query; also what the log keeps of them.

use std::collections::VecDeque;
use std::time::SystemTime;

use bytes::Bytes;
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The verb of a request, as in Kubernetes' authorisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// Reads one object.
    Get,
    /// Reads a collection.
    List,
    /// Follows a collection.
    Watch,
    /// Creates an object.
    Create,
    /// Replaces an object.
    Update,
    /// Patches an object.
    Patch,
    /// Deletes an object.
    Delete,
    /// Deletes a collection.
    DeleteCollection,
    /// Anything else: discovery, health, a method that does not exist.
    Other,
}

impl Verb {
    /// Returns the word that Kubernetes' authorisation has for it; that of HTTP's method in small letters for others.
    pub(crate) fn word(self, method: &str) -> String {
        match self {
            Self::Other => method.to_ascii_lowercase(),
            Self::DeleteCollection => "deletecollection".to_owned(),
            known => format!("{known:?}").to_ascii_lowercase(),
        }
    }
}

/// Of which requests the log keeps the bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordedBodies {
    /// Of none.
    #[default]
    None,
    /// Of all but those for Secrets and reviews of tokens.
    WithoutSecrets,
    /// Of all.
    All,
}

impl RecordedBodies {
    pub(crate) fn has(self, request: &RequestRecord) -> bool {
        let is_secret = matches!(
            (request.group.as_str(), request.resource.as_str()),
            ("", "secrets") | ("authentication.k8s.io", "tokenreviews")
        );
        match self {
            Self::None => false,
            Self::WithoutSecrets => !is_secret,
            Self::All => true,
        }
    }
}

/// One request that the server received. It holds no headers but the two that are named here, and
/// a body only by [choice](crate::ApiServerBuilder::recorded_bodies), so no credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestRecord {
    /// The time at which it was received, by the server's clock.
    pub time: SystemTime,
    /// The client that sent it, by the name it was made with: see [`ApiServer::service_as`](crate::ApiServer::service_as).
    /// Empty for others, and for all over a socket.
    pub client: String,
    /// The HTTP method.
    pub method: String,
    /// The path, as sent.
    pub path: String,
    /// The query parameters in the order in which they were sent, decoded.
    pub query: Vec<(String, String)>,
    /// The verb.
    pub verb: Verb,
    /// The API group; empty for the core group and for paths that name no resource.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The plural of the resource; empty for paths that name none.
    pub resource: String,
    /// The namespace; empty for all and for cluster-scoped resources.
    pub namespace: String,
    /// The object's name; empty for collections.
    pub name: String,
    /// The subresource, such as `status`.
    pub subresource: String,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The `Accept` header.
    pub accept: String,
    /// The body, which may be empty; `None` if the log [keeps none](crate::ApiServerBuilder::recorded_bodies).
    pub body: Option<Bytes>,
}

impl RequestRecord {
    /// Reads a path and its query, both as sent.
    pub(crate) fn parse(method: &str, path: &str, query: &str) -> Self {
        let mut record = Self::for_path(method, path);
        record.query = url::form_urlencoded::parse(query.as_bytes())
            .map(|(key, value)| (key.into_owned(), value.into_owned()))
            .collect();
        record.read_path();
        record.verb = record.read_verb();
        record
    }

    /// Makes a request from its parts, without a text.
    pub(crate) fn of_parts(
        method: &str,
        path: &str,
        query: impl Iterator<Item = (&'static str, String)>,
        accept: &str,
    ) -> Self {
        let mut record = Self::for_path(method, path);
        record.query = query.map(|(key, value)| (key.to_owned(), value)).collect();
        accept.clone_into(&mut record.accept);
        record.read_path();
        record.verb = record.read_verb();
        record
    }

    pub(crate) fn for_path(method: &str, path: &str) -> Self {
        Self {
            // Set when it is logged.
            time: SystemTime::UNIX_EPOCH,
            client: String::new(),
            method: method.to_owned(),
            path: path.to_owned(),
            query: Vec::new(),
            verb: Verb::Other,
            group: String::new(),
            version: String::new(),
            resource: String::new(),
            namespace: String::new(),
            name: String::new(),
            subresource: String::new(),
            user_agent: String::new(),
            accept: String::new(),
            body: None,
        }
    }

    /// Returns the body, if it was kept and is JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(self.body.as_ref()?).ok()
    }

    /// Returns the first value of a query parameter.
    pub fn query_value(&self, key: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| value.as_str())
    }

    /// Returns all values of a query parameter.
    pub(crate) fn query_values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let all = self.query.iter().filter(move |(known, _)| known == key);
        all.map(|(_, value)| value.as_str())
    }

    /// Returns whether a query parameter is set, as Kubernetes reads it: anything but `false` and `0`.
    pub(crate) fn query_flag(&self, key: &str) -> Option<bool> {
        let value = self.query_value(key)?;
        Some(value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// Returns the decoded segments of the path.
    pub(crate) fn segments(&self) -> Vec<String> {
        self.path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
            .collect()
    }

    fn read_path(&mut self) {
        let segments = self.segments();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (group, version, rest) = match segments.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return,
        };
        let (namespace, rest) = match rest {
            // A namespace is an object too, and has subresources of its own.
            ["namespaces"] | ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => {
                ("", rest)
            }
            ["namespaces", namespace, rest @ ..] => (*namespace, rest),
            rest => ("", rest),
        };
        let mut rest = rest.iter().map(|part| (*part).to_owned());
        self.group = group.to_owned();
        self.version = version.to_owned();
        self.namespace = namespace.to_owned();
        self.resource = rest.next().unwrap_or_default();
        self.name = rest.next().unwrap_or_default();
        self.subresource = rest.collect::<Vec<_>>().join("/");
    }

    fn read_verb(&self) -> Verb {
        if self.resource.is_empty() {
            return Verb::Other;
        }
        let whole = self.name.is_empty();
        match self.method.as_str() {
            "GET" | "HEAD" if whole && self.query_flag("watch") == Some(true) => Verb::Watch,
            "GET" | "HEAD" if whole => Verb::List,
            "GET" | "HEAD" => Verb::Get,
            "POST" => Verb::Create,
            "PUT" => Verb::Update,
            "PATCH" => Verb::Patch,
            "DELETE" if whole => Verb::DeleteCollection,
            "DELETE" => Verb::Delete,
            _ => Verb::Other,
        }
    }
}

/// The most requests that the log keeps; older ones are dropped first.
const LOG_LIMIT: usize = 100_000;

/// The last requests, oldest first.
#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    records: VecDeque<RequestRecord>,
}

impl RequestLog {
    pub(crate) fn push(&mut self, record: RequestRecord) {
        if self.records.len() == LOG_LIMIT {
            self.records.pop_front();
        }
        self.records.push_back(record);
    }

    pub(crate) fn all(&self) -> Vec<RequestRecord> {
        self.records.iter().cloned().collect()
    }

    pub(crate) fn clear(&mut self) {
        self.records.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(method: &str, path: &str, query: &str) -> (Verb, [String; 6]) {
        let r = RequestRecord::parse(method, path, query);
        (
            r.verb,
            [
                r.group,
                r.version,
                r.namespace,
                r.resource,
                r.name,
                r.subresource,
            ],
        )
    }

    #[test]
    fn path_names_its_resource() {
        for (method, path, query, verb, expected) in [
            (
                "GET",
                "/api/v1/pods",
                "",
                Verb::List,
                ["", "v1", "", "pods", "", ""],
            ),
            (
                "GET",
                "/api/v1/pods",
                "watch=1",
                Verb::Watch,
                ["", "v1", "", "pods", "", ""],
            ),
            (
                "GET",
                "/api/v1/pods",
                "watch=false",
                Verb::List,
                ["", "v1", "", "pods", "", ""],
            ),
            (
                "GET",
                "/api/v1/namespaces/n/pods/p",
                "",
                Verb::Get,
                ["", "v1", "n", "pods", "p", ""],
            ),
            (
                "PUT",
                "/api/v1/namespaces/n/pods/p/status",
                "",
                Verb::Update,
                ["", "v1", "n", "pods", "p", "status"],
            ),
            (
                "GET",
                "/api/v1/namespaces",
                "",
                Verb::List,
                ["", "v1", "", "namespaces", "", ""],
            ),
            (
                "DELETE",
                "/api/v1/namespaces/n",
                "",
                Verb::Delete,
                ["", "v1", "", "namespaces", "n", ""],
            ),
            (
                "PUT",
                "/api/v1/namespaces/n/status",
                "",
                Verb::Update,
                ["", "v1", "", "namespaces", "n", "status"],
            ),
            (
                "DELETE",
                "/apis/apps/v1/namespaces/n/deployments",
                "",
                Verb::DeleteCollection,
                ["apps", "v1", "n", "deployments", "", ""],
            ),
            (
                "POST",
                "/apis/g/v1/widgets",
                "",
                Verb::Create,
                ["g", "v1", "", "widgets", "", ""],
            ),
            (
                "GET",
                "/apis/apps/v1",
                "",
                Verb::Other,
                ["apps", "v1", "", "", "", ""],
            ),
            ("GET", "/version", "", Verb::Other, ["", "", "", "", "", ""]),
        ] {
            assert_eq!(
                parts(method, path, query),
                (verb, expected.map(str::to_owned)),
                "{path}"
            );
        }
    }

    #[test]
    fn segments_and_queries_are_decoded() {
        let record = RequestRecord::parse("GET", "/api/v1/nodes/a%2Fb", "labelSelector=a%3Db%2Cc");
        assert_eq!(record.name, "a/b");
        assert_eq!(record.query_value("labelSelector"), Some("a=b,c"));
    }
}
