//! The parameters of a list or watch, and the checks that a real server makes before anything else.

use informer_wire::{Status, StatusCause};

use crate::status;

/// The parameters of a list or watch, as written in a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListOptions {
    /// A label selector; empty selects all.
    pub label_selector: String,
    /// A field selector; empty selects all.
    pub field_selector: String,
    /// The size of a page; 0 is one page for all.
    pub limit: u64,
    /// The token of the last page.
    pub continue_token: String,
    /// The requested resource version: empty, `0` or a number.
    pub resource_version: String,
    /// Empty, `Exact` or `NotOlderThan`.
    pub resource_version_match: String,
    /// Whether a watch starts with initial events; absent is up to the server.
    pub send_initial_events: Option<bool>,
    /// Whether a watch may carry bookmarks.
    pub allow_watch_bookmarks: bool,
}

impl ListOptions {
    /// Makes options without selector, paging and resource version.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn check_list(&self) -> Result<(), Status> {
        let mut causes = Vec::new();
        let wanted = self.resource_version_match.as_str();
        if !wanted.is_empty() {
            if self.resource_version.is_empty() {
                causes.push(forbidden_match(
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            if !self.continue_token.is_empty() {
                causes.push(forbidden_match(
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if !matches!(wanted, "Exact" | "NotOlderThan") {
                causes.push(unsupported_match(
                    wanted,
                    "\"Exact\", \"NotOlderThan\", \"\"",
                ));
            }
            if wanted == "Exact" && self.resource_version == "0" {
                causes.push(forbidden_match(
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                ));
            }
        }
        if self.send_initial_events.is_some() {
            causes.push(forbidden(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            ));
        }
        refuse(causes)
    }

    pub(crate) fn check_watch(&self, streaming_lists: bool) -> Result<(), Status> {
        let mut causes = Vec::new();
        let wanted = self.resource_version_match.as_str();
        if self.send_initial_events.is_some() {
            if wanted != "NotOlderThan" {
                causes.push(forbidden_match(
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                ));
            }
            if !streaming_lists {
                causes.push(forbidden(
                    "sendInitialEvents",
                    "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
                ));
            }
        }
        if !wanted.is_empty() {
            if self.send_initial_events.is_none() {
                causes.push(forbidden_match(
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                ));
            }
            if wanted != "NotOlderThan" {
                causes.push(unsupported_match(wanted, "\"NotOlderThan\""));
            }
            if !self.continue_token.is_empty() {
                causes.push(forbidden_match(
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
        }
        refuse(causes)
    }

    /// Returns the resource version as a number; `None` when unset. The error is the text of Go's parser.
    pub(crate) fn revision(&self) -> Result<Option<u64>, String> {
        let text = self.resource_version.as_str();
        if text.is_empty() {
            return Ok(None);
        }
        let why = match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => match text.parse() {
                Ok(revision) => return Ok(Some(revision)),
                Err(_) => "value out of range",
            },
            false => "invalid syntax",
        };
        Err(format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: {why}"
        ))
    }
}

fn forbidden(field: &str, why: &str) -> StatusCause {
    StatusCause::new("FieldValueForbidden", format!("Forbidden: {why}")).with_field(field)
}

fn forbidden_match(why: &str) -> StatusCause {
    forbidden("resourceVersionMatch", why)
}

fn unsupported_match(value: &str, supported: &str) -> StatusCause {
    let message = format!("Unsupported value: {value:?}: supported values: {supported}");
    StatusCause::new("FieldValueNotSupported", message).with_field("resourceVersionMatch")
}

fn refuse(causes: Vec<StatusCause>) -> Result<(), Status> {
    if causes.is_empty() {
        return Ok(());
    }
    Err(status::invalid("meta.k8s.io", "ListOptions", "", causes))
}
