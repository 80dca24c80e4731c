//! Tables: the form of objects that `kubectl get` requests.

mod age;
mod cells;
mod cluster;
mod columns;
mod custom;
mod text;
mod workloads;

use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) use self::age::since_creation as age;
use self::columns::{Column, columns};
pub(crate) use self::custom::at;
pub(crate) use self::text::{NONE, labels, selector};
use crate::model::StoredObject;
use crate::resource::ResourceType;

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
    out.extend_from_slice(br#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":"#);
    out.extend_from_slice(metadata.to_string().as_bytes());
    out.extend_from_slice(br#","columnDefinitions":"#);
    out.extend_from_slice(definitions(resource).to_string().as_bytes());
    out.extend_from_slice(br#","rows":["#);
    for (at, object) in objects.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let cells = Value::from(cells(resource, &object.value(resource), now));
        out.extend_from_slice(format!("{{\"cells\":{cells},\"object\":").as_bytes());
        out.extend_from_slice(
            br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#,
        );
        object.write_metadata(object.revision(), out);
        out.extend_from_slice(b"}}");
    }
    out.extend_from_slice(b"]}");
}

/// Returns the columns of a resource as a table has them.
fn definitions(resource: &ResourceType) -> Value {
    if resource.custom {
        return custom::definitions(resource);
    }
    let each = columns(resource).iter().map(Column::definition);
    each.collect()
}

/// Returns the cells of an object, one for each column.
fn cells(resource: &ResourceType, object: &Value, now: Timestamp) -> Vec<Value> {
    if resource.custom {
        return custom::cells(resource, object, now);
    }
    let plural = resource.plural.as_str();
    let found = workloads::cells(plural, object, now)
        .or_else(|| cells::cells(plural, object, now))
        .or_else(|| cluster::cells(plural, object, now));
    found.unwrap_or_else(|| {
        vec![
            object["metadata"]["name"].clone(),
            age::since_creation(object, now),
        ]
    })
}

#[cfg(test)]
mod tests;
