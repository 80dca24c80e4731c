//! Lists in a strategic merge patch: merged by a key, in the order that patch and object have.

use informer_wire::Status;
use serde_json::Value;

use super::{
    DIRECTIVE, Fields, SET_ORDER, declared, go, go_map, go_type, list_of_lists, merge_map, refuse,
    unknown_directive, without_directives, wrong_type,
};
use crate::fields::{Strategy, TypeRef};
use crate::status;

/// Applies `$deleteFromPrimitiveList/NAME`.
pub(super) fn delete_from(original: &mut Fields, name: &str, values: Value) -> Result<(), Status> {
    let Some(present) = original.get_mut(name) else {
        return Ok(());
    };
    match (present, values) {
        (_, Value::Null) => {
            original.remove(name);
        }
        (Value::Array(present), Value::Array(values)) => {
            present.retain(|entry| !values.contains(entry));
        }
        _ => {}
    }
    Ok(())
}

/// Merges the lists for which the patch says an order, and orders them.
pub(super) fn set_orders(
    original: &mut Fields,
    patch: &mut Fields,
    of: &TypeRef,
) -> Result<(), Status> {
    let directives = patch.keys().filter(|name| name.starts_with(SET_ORDER));
    let directives: Vec<String> = directives.cloned().collect();
    for directive in directives {
        let order = patch.remove(&directive).unwrap_or_default();
        let Value::Array(order) = order else {
            return Err(wrong_type("[]interface {}", &order));
        };
        let Some(name) = directive[SET_ORDER.len()..].strip_prefix('/') else {
            return Err(status::bad_request(
                "invalid patch format of setElementOrder list",
            ));
        };
        let list = |value: Option<Value>| match value {
            Some(Value::Array(entries)) => Ok(Some(entries)),
            Some(other) => Err(wrong_type("[]interface {}", &other)),
            None => Ok(None),
        };
        let old = list(original.get(name).cloned())?;
        let new = list(patch.get(name).cloned())?;
        let key = match declared(of, name).map(|field| &field.strategy) {
            Some(Strategy::Merge(key)) => key.as_str(),
            _ => "",
        };
        check_order(new.as_deref().unwrap_or_default(), &order, key)?;
        let merged = match (old.clone(), new) {
            (Some(old), None) => old,
            (None, Some(new)) => {
                let kept = new.into_iter().filter_map(without_directives);
                kept.collect()
            }
            (Some(old), Some(new)) => merge(old, new, key, of, name)?,
            (None, None) => continue,
        };
        let ordered = arrange(merged, &order, &old.unwrap_or_default(), key)?;
        original.insert(name.to_owned(), ordered.into());
        patch.remove(name);
    }
    Ok(())
}

/// Refuses a patch whose entries do not stand in the order that it says.
fn check_order(patch: &[Value], order: &[Value], key: &str) -> Result<(), Status> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut left = patch
        .iter()
        .filter(|entry| entry.get(DIRECTIVE).is_none())
        .peekable();
    for wanted in order {
        let Some(entry) = left.peek() else {
            return Ok(());
        };
        if identity(entry, key)? == identity(wanted, key)? {
            left.next();
        }
    }
    if left.peek().is_none() {
        return Ok(());
    }
    let (patch, order) = (go(&patch.into()), go(&order.into()));
    Err(refuse(format!(
        "The order in patch list:\n{patch}\n doesn't match {SET_ORDER} list:\n{order}\n"
    )))
}

/// What identifies an entry: its key, or for plain values itself.
fn identity<'v>(entry: &'v Value, key: &str) -> Result<&'v Value, Status> {
    if key.is_empty() {
        return Ok(entry);
    }
    let Some(fields) = entry.as_object() else {
        return Err(wrong_type("map[string]interface {}", entry));
    };
    let missing = || {
        let map = go_map(fields);
        refuse(format!(
            "map: {map} does not contain declared merge key: {key}"
        ))
    };
    fields.get(key).ok_or_else(missing)
}

/// Merges two lists: by the key, or plain values as a set.
pub(super) fn merge(
    mut old: Vec<Value>,
    new: Vec<Value>,
    key: &str,
    of: &TypeRef,
    name: &str,
) -> Result<Vec<Value>, Status> {
    let Some(first) = old.first().or_else(|| new.first()) else {
        return Ok(old);
    };
    if first.is_array() {
        return Err(list_of_lists());
    }
    if old
        .iter()
        .chain(&new)
        .any(|entry| go_type(entry) != go_type(first))
    {
        let all = [Value::from(old), new.into()];
        let all = go(&Value::from(all.to_vec()));
        return Err(refuse(format!(
            "list element types are not identical: {all}"
        )));
    }
    if !first.is_object() {
        let before = old.clone();
        for entry in &new {
            if !old.contains(entry) {
                old.push(entry.clone());
            }
        }
        return arrange(old, &new, &before, "");
    }
    if key.is_empty() {
        return Err(refuse("cannot merge lists without merge key for struct"));
    }
    let (mut old, new) = directives(old, new, key)?;
    let field = of.view().as_map().map(|map| map.field(name));
    let items = field.as_ref().and_then(|field| field.view().as_list());
    let items = items.map_or_else(TypeRef::deduced, |list| list.items.clone());
    let mut merged = old.clone();
    for entry in &new {
        let id = identity(entry, key)?;
        let place = merged.iter().position(|known| known.get(key) == Some(id));
        match (place, entry) {
            (Some(place), Value::Object(patch)) => {
                let Value::Object(known) = merged[place].take() else {
                    continue;
                };
                merged[place] = Value::Object(merge_map(known, patch.clone(), &items)?);
                // The order counts by what there is now.
                if let Some(old) = old.get_mut(place) {
                    *old = merged[place].clone();
                }
            }
            _ => merged.push(entry.clone()),
        }
    }
    arrange(merged, &new, &old, key)
}

/// Applies the entries of a patch that have a directive; returns what is left of both lists.
fn directives(
    mut old: Vec<Value>,
    new: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Status> {
    let (mut kept, mut replaces) = (Vec::new(), false);
    for entry in new {
        let Some(directive) = entry.get(DIRECTIVE) else {
            kept.push(entry);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let id = identity(&entry, key)?;
                old.retain(|known| known.get(key) != Some(id));
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                return Err(refuse("merging lists cannot yet be specified in the patch"));
            }
            _ => {
                let nothing = Fields::new();
                let fields = entry.as_object().unwrap_or(&nothing);
                return Err(unknown_directive(directive, fields));
            }
        }
    }
    if replaces {
        return Ok((kept, Vec::new()));
    }
    Ok((old, kept))
}

/// Orders the entries that the order names by it, and the others by the object; where the object has both, its order
/// decides between them, else the named ones are first.
fn arrange(
    entries: Vec<Value>,
    order: &[Value],
    object: &[Value],
    key: &str,
) -> Result<Vec<Value>, Status> {
    let place = |list: &[Value], entry: &Value| -> Result<Option<usize>, Status> {
        let id = identity(entry, key)?;
        for (at, known) in list.iter().enumerate() {
            if identity(known, key)? == id {
                return Ok(Some(at));
            }
        }
        Ok(None)
    };
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for entry in entries {
        let in_object = place(object, &entry)?;
        match place(order, &entry)? {
            Some(at) => named.push((at, in_object, entry)),
            None => others.push((in_object, entry)),
        }
    }
    named.sort_by_key(|(at, ..)| *at);
    others.sort_by_key(|(at, _)| *at);
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    let mut all = Vec::new();
    loop {
        let other_first = match (named.peek(), others.peek()) {
            (None, None) => return Ok(all),
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (Some((_, at, _)), Some((other, _))) => {
                matches!((other, at), (Some(other), Some(at)) if other < at)
            }
        };
        all.extend(match other_first {
            true => others.next().map(|(_, entry)| entry),
            false => named.next().map(|(.., entry)| entry),
        });
    }
}
