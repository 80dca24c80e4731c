//! An applied object merged into the one that there is.

use serde_json::{Map, Value};

use super::element::Element;
use super::value::identified;
use crate::fields::{List, Map as MapType, Shape, TypeRef};

/// Returns the live object with what the applied one names. Both are valid.
pub(super) fn merge(live: &Value, applied: &Value, of: &TypeRef) -> Value {
    one(Some(live), Some(applied), of).unwrap_or_default()
}

fn one(live: Option<&Value>, applied: Option<&Value>, of: &TypeRef) -> Option<Value> {
    let view = of.view();
    let decides = applied.or(live)?;
    match view.shape_of(decides) {
        Shape::Map(map, false) => {
            let fields = |value: Option<&Value>| {
                let fields = value.and_then(Value::as_object);
                fields.filter(|fields| !fields.is_empty()).cloned()
            };
            match (fields(live), fields(applied)) {
                (None, None) => Some(decides.clone()),
                (live, applied) => {
                    merge_fields(map, &live.unwrap_or_default(), &applied.unwrap_or_default())
                }
            }
        }
        Shape::List(list) if !list.atomic => {
            let entries = |value: Option<&Value>| {
                value
                    .and_then(Value::as_array)
                    .is_some_and(|entries| !entries.is_empty())
            };
            if !entries(live) && !entries(applied) {
                return Some(decides.clone());
            }
            let nothing = Value::Null;
            let merged = merge_entries(list, live.unwrap_or(&nothing), applied.unwrap_or(&nothing));
            (!merged.is_empty()).then(|| merged.into())
        }
        _ => Some(decides.clone()),
    }
}

fn merge_fields(
    map: &MapType,
    live: &Map<String, Value>,
    applied: &Map<String, Value>,
) -> Option<Value> {
    let mut merged = Map::new();
    let added = applied.keys().filter(|name| !live.contains_key(*name));
    for name in live.keys().chain(added) {
        let value = one(live.get(name), applied.get(name), &map.field(name));
        merged.extend(value.map(|value| (name.clone(), value)));
    }
    (!merged.is_empty()).then_some(Value::Object(merged))
}

/// Merges lists: applied entries in their order, the others where they stand between them.
fn merge_entries(list: &List, live: &Value, applied: &Value) -> Vec<Value> {
    let (live, applied) = (identified(list, live), identified(list, applied));
    let of = |entries: &[(Element, &Value)], step: &Element| -> Option<Value> {
        let mut same = entries.iter().filter(|(known, _)| known == step);
        let first = same.next()?.1.clone();
        // What is there twice is not merged.
        Some(same.next().map_or(first, |_| Value::Null))
    };
    let both = |step: &Element| {
        one(
            of(&live, step).as_ref(),
            of(&applied, step).as_ref(),
            &list.items,
        )
    };
    let is_applied = |step: &Element| applied.iter().any(|(known, _)| known == step);
    let mut shared = applied
        .iter()
        .map(|(step, _)| step)
        .filter(|step| live.iter().any(|(known, _)| known == *step));
    let mut next = shared.next();
    let mut merged: Vec<Element> = Vec::new();
    let mut out = Vec::new();
    let (mut l, mut r) = (0, 0);
    while l < live.len() || r < applied.len() {
        if let (Some((step, _)), Some((wanted, _))) = (live.get(l), applied.get(r)) {
            if step == wanted {
                merged.push(step.clone());
                out.extend(both(step));
                (l, r) = (l + 1, r + 1);
                next = shared.next();
                continue;
            }
            if is_applied(step) && next.is_some_and(|next| next != step) {
                l += 1;
                continue;
            }
        }
        if let Some((step, entry)) = live.get(l) {
            if !is_applied(step) {
                out.extend(one(Some(entry), None, &list.items));
                l += 1;
                continue;
            }
            if merged.contains(step) {
                l += 1;
            }
        }
        if let Some((step, _)) = applied.get(r) {
            merged.push(step.clone());
            out.extend(both(step));
            r += 1;
            if next == Some(step) {
                next = shared.next();
            }
        }
    }
    out
}
