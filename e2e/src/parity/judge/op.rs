//! An operation as plain data: a request whose texts may hold symbols for values of earlier answers.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request. Path, query and body may hold symbols, which [`Session`](super::session::Session) replaces:
/// `${run}` is the prefix of this play's namespaces and cluster-scoped names; `${rv:3}`, `${uid:3}`, `${name:3}` and
/// `${continue:3}` are taken from the metadata of the answer to the operation 3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Op {
    /// Its number, by which symbols name it. It stays when other operations are removed.
    pub(crate) id: u32,
    /// What it is for the tally and the table: `create configmaps`.
    pub(crate) label: String,
    pub(crate) method: String,
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) query: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) media: Option<String>,
    /// JSON; a string is sent as it is, so that a body may be no JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<Value>,
}

impl Op {
    /// Whether the answer is a stream of events.
    pub(crate) fn is_watch(&self) -> bool {
        self.query.contains_key("watch")
    }

    /// The operations whose answers it needs.
    pub(crate) fn needs(&self) -> BTreeSet<u32> {
        let texts = self.query.values().map(String::as_str);
        let body = self.body.as_ref().map(Value::to_string).unwrap_or_default();
        let mut needs = BTreeSet::new();
        for text in texts.chain([self.path.as_str(), body.as_str()]) {
            for symbol in text.split("${").skip(1) {
                let inner = symbol.split('}').next().unwrap_or_default();
                let number = inner
                    .split_once(':')
                    .and_then(|(_, id)| id.parse::<u32>().ok());
                needs.extend(number);
            }
        }
        needs
    }
}
