//! Tables: the form of objects that `kubectl get` requests.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::model::StoredObject;
use crate::resource::ResourceType;

/// Name, type, format, description, priority; columns of priority 1 show with `-o wide` only.
type Column = (&'static str, &'static str, &'static str, &'static str, u8);

const NAME: Column = (
    "Name",
    "string",
    "name",
    "The name, unique within a namespace.",
    0,
);
const AGE: Column = (
    "Age",
    "string",
    "",
    "How long ago the object was created.",
    0,
);

/// Appends a `Table` of objects.
pub(crate) fn write(
    resource: &ResourceType,
    objects: &[&StoredObject],
    now: Timestamp,
    revision: &str,
    continue_token: &str,
    remaining: Option<u64>,
    out: &mut Vec<u8>,
) {
    let mut metadata = json!({"resourceVersion": revision});
    if !continue_token.is_empty() {
        metadata["continue"] = continue_token.into();
    }
    if let Some(remaining) = remaining {
        metadata["remainingItemCount"] = remaining.into();
    }
    let columns: Vec<Value> = columns(resource)
        .into_iter()
        .map(|(name, kind, format, description, priority)| {
            json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority})
        })
        .collect();
    out.extend_from_slice(br#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":"#);
    out.extend_from_slice(metadata.to_string().as_bytes());
    out.extend_from_slice(br#","columnDefinitions":"#);
    out.extend_from_slice(Value::from(columns).to_string().as_bytes());
    out.extend_from_slice(br#","rows":["#);
    for (at, object) in objects.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let cells = Value::from(cells(resource, object, now));
        out.extend_from_slice(format!("{{\"cells\":{cells},\"object\":").as_bytes());
        out.extend_from_slice(
            br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#,
        );
        object.write_metadata(object.revision(), out);
        out.extend_from_slice(b"}}");
    }
    out.extend_from_slice(b"]}");
}

fn is(resource: &ResourceType, plural: &str) -> bool {
    resource.group.is_empty() && resource.plural == plural
}

fn columns(resource: &ResourceType) -> Vec<Column> {
    if is(resource, "pods") {
        return vec![
            NAME,
            (
                "Ready",
                "string",
                "",
                "Ready containers of all containers.",
                0,
            ),
            ("Status", "string", "", "The phase.", 0),
            (
                "Restarts",
                "string",
                "",
                "How often containers were restarted.",
                0,
            ),
            AGE,
            ("IP", "string", "", "The address of the pod.", 1),
            ("Node", "string", "", "The node the pod is bound to.", 1),
        ];
    }
    if is(resource, "namespaces") {
        return vec![NAME, ("Status", "string", "", "The phase.", 0), AGE];
    }
    vec![NAME, AGE]
}

fn cells(resource: &ResourceType, object: &StoredObject, now: Timestamp) -> Vec<Value> {
    let value = object.value(resource);
    let name = Value::from(object.name());
    let age = Value::from(age(&value, now));
    if is(resource, "pods") {
        let containers = value["spec"]["containers"].as_array().map_or(0, Vec::len);
        let statuses = value["status"]["containerStatuses"].as_array();
        let statuses = statuses.map_or(&[][..], Vec::as_slice);
        let ready = statuses
            .iter()
            .filter(|status| status["ready"] == true)
            .count();
        let restarts: i64 = statuses
            .iter()
            .filter_map(|status| status["restartCount"].as_i64())
            .sum();
        let status = match value["metadata"]["deletionTimestamp"].is_string() {
            true => "Terminating",
            false => value["status"]["phase"].as_str().unwrap_or_default(),
        };
        return vec![
            name,
            format!("{ready}/{containers}").into(),
            status.into(),
            restarts.to_string().into(),
            age,
            or_none(&value["status"]["podIP"]),
            or_none(&value["spec"]["nodeName"]),
        ];
    }
    if is(resource, "namespaces") {
        return vec![name, value["status"]["phase"].clone(), age];
    }
    vec![name, age]
}

fn or_none(value: &Value) -> Value {
    value.as_str().unwrap_or("<none>").into()
}

/// Returns the age in the largest unit that fits, as `kubectl` abbreviates.
fn age(object: &Value, now: Timestamp) -> String {
    let created = object["metadata"]["creationTimestamp"]
        .as_str()
        .unwrap_or_default();
    let Ok(created) = created.parse::<Timestamp>() else {
        return "<unknown>".to_owned();
    };
    let seconds = now.as_second().saturating_sub(created.as_second()).max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}
