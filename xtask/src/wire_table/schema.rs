//! What `e2e/wire-schema` prints.

use std::collections::BTreeMap;

use anyhow::Context;
use serde_json::Value;

/// How Kubernetes' kinds lie in protobuf.
#[derive(Debug)]
pub(super) struct Schema {
    /// The version of `k8s.io/api`.
    pub(super) version: String,
    /// From `apiVersion/Kind` to a message.
    pub(super) kinds: BTreeMap<String, String>,
    pub(super) messages: BTreeMap<String, Vec<Field>>,
    /// Messages that write JSON by themselves.
    pub(super) special: Vec<String>,
}

/// One field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) no: u8,
    pub(super) json: String,
    pub(super) scalar: String,
    pub(super) message: String,
    pub(super) inline: bool,
    pub(super) repeated: bool,
    pub(super) map: bool,
    pub(super) omit_empty: bool,
    pub(super) omit_zero: bool,
    pub(super) pointer: bool,
}

impl Schema {
    pub(super) fn parse(json: &str) -> anyhow::Result<Self> {
        let json: Value = serde_json::from_str(json)?;
        let map = |key: &str| json[key].as_object().with_context(|| format!("no {key}"));
        let kinds = map("kinds")?.iter().map(|(k, v)| (k.clone(), text(v)));
        let messages = map("messages")?
            .iter()
            .map(|(name, fields)| Ok((name.clone(), fields_of(fields)?)));
        Ok(Self {
            version: text(&json["version"]),
            kinds: kinds.collect(),
            messages: messages.collect::<anyhow::Result<_>>()?,
            special: list(&json["special"]).iter().map(text).collect(),
        })
    }
}

fn fields_of(fields: &Value) -> anyhow::Result<Vec<Field>> {
    list(fields).iter().map(field).collect()
}

fn field(field: &Value) -> anyhow::Result<Field> {
    let flag = |key: &str| field[key].as_bool().unwrap_or(false);
    let no = field["no"].as_u64().and_then(|no| u8::try_from(no).ok());
    Ok(Field {
        no: no.with_context(|| format!("a field's number does not fit the table: {field}"))?,
        json: text(&field["json"]),
        scalar: text(&field["type"]),
        message: text(&field["ref"]),
        inline: flag("inline"),
        repeated: flag("repeated"),
        map: flag("map"),
        omit_empty: flag("omitempty"),
        omit_zero: flag("omitzero"),
        pointer: flag("pointer"),
    })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
