//! Validation by `anyOf`, `oneOf`, `allOf` and `not`.

use serde_json::Value;

use super::go;
use super::node::Node;
use super::validate::{Outcome, check};

pub(super) fn check_combined(
    value: &Value,
    old: Option<&Value>,
    node: &Node,
    name: &str,
) -> Outcome {
    let mut outcome = Outcome::default();
    let quoted = go::quote(name);
    if !node.any_of.is_empty() {
        let (valid, best) = alternatives(&node.any_of, value, old, name, true);
        if valid == 0 {
            outcome.whole(format!(
                "{quoted} must validate at least one schema (anyOf)"
            ));
        }
        outcome.merge(best);
    }
    if !node.one_of.is_empty() {
        let (valid, best) = alternatives(&node.one_of, value, old, name, false);
        if valid != 1 {
            let found = match valid {
                0 => "Found none valid".to_owned(),
                _ => format!("Found {valid} valid alternatives"),
            };
            outcome.whole(format!(
                "{quoted} must validate one and only one schema (oneOf). {found}"
            ));
        }
        if valid < 2 {
            outcome.merge(best);
        }
    }
    if !node.all_of.is_empty() {
        let mut valid = 0;
        for schema in &node.all_of {
            let result = check(value, old, schema, name);
            valid += usize::from(result.is_valid());
            outcome.merge(result);
        }
        if valid != node.all_of.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            outcome.whole(format!(
                "{quoted} must validate all the schemas (allOf){none}"
            ));
        }
    }
    if let Some(schema) = &node.not
        && check(value, old, schema, name).is_valid()
    {
        outcome.whole(format!("{quoted} must not validate the schema (not)"));
    }
    outcome.checks += 1;
    outcome
}

/// Checks alternatives: how many are valid, and the outcome of the first of those, or of the one that got furthest.
fn alternatives(
    schemas: &[Node],
    value: &Value,
    old: Option<&Value>,
    name: &str,
    first_suffices: bool,
) -> (usize, Outcome) {
    let mut valid = 0;
    let mut best: Option<Outcome> = None;
    for schema in schemas {
        let result = check(value, old, schema, name);
        if result.is_valid() {
            valid += 1;
            if valid == 1 {
                best = Some(result);
            }
            if first_suffices {
                break;
            }
        } else if valid == 0 && best.as_ref().is_none_or(|best| result.checks > best.checks) {
            best = Some(result);
        }
    }
    (valid, best.unwrap_or_default())
}
