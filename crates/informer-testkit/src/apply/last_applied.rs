//! `kubectl apply --server-side` on objects that `kubectl apply` wrote: its annotation says what it owns.

use serde_json::Value;

use super::compare::Comparison;
use super::conflict::Conflict;
use super::set::FieldSet;
use super::value::field_set;
use crate::fields::TypeRef;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
const KUBECTL: &str = "kubectl";

fn annotation(object: &Value) -> Option<&str> {
    let text = object["metadata"]["annotations"][ANNOTATION].as_str()?;
    (!text.is_empty()).then_some(text)
}

/// Returns the conflicts that remain when fields that still have the value of the annotation may be taken.
pub(super) fn unexplained(
    manager: &str,
    conflicts: Vec<Conflict>,
    live: &Value,
    of: &TypeRef,
) -> Vec<Conflict> {
    let text = annotation(live).filter(|_| manager == KUBECTL);
    let last: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
    let Some(last) = last.filter(|last| last["apiVersion"] == live["apiVersion"]) else {
        return conflicts;
    };
    let comparison = Comparison::of(&last, live, of);
    let own = field_set(&last, of)
        .difference(&comparison.set())
        .difference(&comparison.removed);
    let explained = |conflict: &Conflict| {
        let mut path = FieldSet::default();
        path.insert(&conflict.path);
        !own.intersection(&path).is_empty()
    };
    let conflicts = conflicts.into_iter();
    conflicts.filter(|conflict| !explained(conflict)).collect()
}

/// Writes what kubectl applied into the annotation, if there is one.
pub(super) fn renew(manager: &str, object: &mut Value, applied: &Value) {
    if manager != KUBECTL || annotation(object).is_none() {
        return;
    }
    let mut applied = applied.clone();
    if let Some(annotations) = applied["metadata"]["annotations"].as_object_mut() {
        annotations.remove(ANNOTATION);
    }
    object["metadata"]["annotations"][ANNOTATION] = format!("{applied}\n").into();
}
