//! Validation of a value against a schema, with a real server's findings in its words.
//!
//! It follows the validator of a real server closely: which of the alternatives of `anyOf` is reported depends on how
//! many checks each of them got through, so the same checks are counted here.

use serde_json::Value;

use super::combined::check_combined;
use super::error::{FieldError, Path};
use super::format;
use super::go::{self, Num};
use super::lists;
use super::node::{Additional, ListType, Node};
use super::numbers;

/// What is wrong at one place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// The path from the root; empty for one that a real server reports without a field.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) kind: Kind,
}

/// How a finding is reported.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Required,
    Choice(Value, Vec<Value>),
    TooLong(i64),
    TooMany(usize, i64),
    WrongType(Value),
    Invalid(Value),
    /// Not of one field.
    Whole,
}

/// The findings of a check, and how many checks were made.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) findings: Vec<Finding>,
    pub(super) checks: usize,
}

impl Outcome {
    pub(super) fn add(&mut self, finding: Finding) {
        if self.findings.iter().all(|known| known.text != finding.text) {
            self.findings.push(finding);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.checks += other.checks;
        other
            .findings
            .into_iter()
            .for_each(|finding| self.add(finding));
    }

    pub(super) fn is_valid(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn find(&mut self, name: &str, kind: Kind, says: &str) {
        self.add(Finding {
            name: name.to_owned(),
            text: format!("{name} in body {says}"),
            kind,
        });
    }

    pub(super) fn whole(&mut self, text: String) {
        self.add(Finding {
            name: String::new(),
            text,
            kind: Kind::Whole,
        });
    }
}

/// Returns what is wrong with a value. With an old value, what did not change is not wrong.
pub(crate) fn validate(
    value: &Value,
    old: Option<&Value>,
    node: &Node,
    path: &Path,
) -> Vec<FieldError> {
    let outcome = check_changed(value, old, node, "");
    let report = |finding: Finding| {
        let name = finding.name.strip_prefix('.').unwrap_or(&finding.name);
        let field = if name.is_empty() {
            path.clone()
        } else {
            path.child(name)
        };
        match finding.kind {
            Kind::Required => FieldError::required(&field, ""),
            Kind::Choice(value, known) => {
                let known: Vec<String> = known
                    .iter()
                    .map(|one| one.as_str().map_or_else(|| go::json(one), str::to_owned))
                    .collect();
                FieldError::not_supported(&field, &value, &known)
            }
            Kind::TooLong(longest) => FieldError::too_long(&field, longest),
            Kind::TooMany(count, most) => FieldError::too_many(&field, count, most),
            Kind::WrongType(value) => FieldError::wrong_type(&field, &value, &finding.text),
            Kind::Invalid(value) => FieldError::invalid(&field, &value, &finding.text),
            Kind::Whole => FieldError::invalid(path, &"".into(), &finding.text),
        }
    };
    outcome.findings.into_iter().map(report).collect()
}

/// Checks a value that may be as it was: then nothing is wrong with it.
fn check_changed(value: &Value, old: Option<&Value>, node: &Node, name: &str) -> Outcome {
    let mut outcome = check(value, old, node, name);
    if old.is_some_and(|old| go::same(value, old)) {
        outcome.findings.clear();
    }
    outcome
}

pub(super) fn check(value: &Value, old: Option<&Value>, node: &Node, name: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let typed = !node.types.is_empty() || !node.format.is_empty();
    if value.is_null() {
        // Whatever the schema says but its type and its choices: null has nothing else to check.
        if let Some(finding) = check_type(value, node, name) {
            outcome.add(finding);
        } else {
            outcome.checks += 1;
        }
        check_choices(value, node, name, &mut outcome);
        return outcome;
    }
    if typed {
        match check_type(value, node, name) {
            Some(finding) => outcome.add(finding),
            None => outcome.checks += 1,
        }
        outcome.checks += 1;
    }
    outcome.merge(check_combined(value, old, node, name));
    outcome.checks += 1;
    match value {
        Value::String(text) => {
            check_text(text, node, name, &mut outcome);
            outcome.checks += 1;
            if format::has_format(&node.format, text).is_some() {
                if format::has_format(&node.format, text) == Some(false) {
                    let says = format!("must be of type {}: {}", node.format, go::quote(text));
                    outcome.find(name, Kind::WrongType(text.as_str().into()), &says);
                }
                outcome.checks += 1;
            }
        }
        Value::Number(number) => {
            outcome.merge(numbers::check(Num::of(number), value, node, name));
            outcome.checks += 1;
        }
        Value::Array(items) => {
            outcome.merge(check_list(items, old, node, name));
            outcome.checks += 1;
        }
        _ => {}
    }
    check_choices(value, node, name, &mut outcome);
    outcome.checks += 1;
    if let Value::Object(_) = value {
        outcome.merge(check_map(value, old, node, name));
        outcome.checks += 1;
    }
    outcome.checks += 1;
    outcome
}

fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) => match Num::of(number) {
            Num::Int(_) => ("integer", "int64"),
            Num::Float(_) => ("number", "float64"),
        },
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn check_type(value: &Value, node: &Node, name: &str) -> Option<Finding> {
    let wrong = |wanted: &str, is: &str| {
        Some(Finding {
            name: name.to_owned(),
            text: format!("{name} in body must be of type {wanted}: {}", go::quote(is)),
            kind: Kind::WrongType(is.into()),
        })
    };
    let wanted = node.types.join(",");
    let has = |wanted: &str| node.types.iter().any(|one| one == wanted);
    if value.is_null() {
        return match node.types.is_empty() || node.nullable {
            true => None,
            false => wrong(&wanted, "null"),
        };
    }
    let (is, is_format) = type_of(value);
    let whole = value
        .as_f64()
        .is_some_and(|number| is == "number" && numbers::is_whole(number));
    let fits = has(is) || (whole && has("integer")) || (is == "integer" && has("number"));
    let sized = value.is_string() || value.is_array();
    if !sized && !node.format.is_empty() && !fits && node.format != is_format {
        return wrong(&node.format, is_format);
    }
    if sized && !node.format.is_empty() && !has("number") && !has("integer") {
        return None;
    }
    match fits {
        true => None,
        false => wrong(&wanted, is),
    }
}

fn check_choices(value: &Value, node: &Node, name: &str, outcome: &mut Outcome) {
    let fits = |choice: &Value| match (choice, value) {
        (Value::Number(choice), Value::Number(value)) => match (Num::of(choice), Num::of(value)) {
            #[allow(clippy::cast_possible_truncation, reason = "as Go converts")]
            (Num::Int(choice), Num::Float(value)) => choice == value as i64,
            (choice, value) => choice.as_f64() == value.as_f64(),
        },
        (Value::Null, _) | (_, Value::Null) => false,
        _ => go::same(choice, value),
    };
    if !node.choices.is_empty() && !node.choices.iter().any(fits) {
        let known: Vec<String> = node.choices.iter().map(go::plain).collect();
        let says = format!("should be one of [{}]", known.join(" "));
        outcome.find(
            name,
            Kind::Choice(value.clone(), node.choices.clone()),
            &says,
        );
    }
}

/// Checks a text; only the first fault is told.
fn check_text(text: &str, node: &Node, name: &str, outcome: &mut Outcome) {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(most) = node.max_length.filter(|most| length > *most) {
        let says = format!("should be at most {most} chars long");
        return outcome.find(name, Kind::TooLong(most), &says);
    }
    if let Some(least) = node.min_length.filter(|least| length < *least) {
        let says = format!("should be at least {least} chars long");
        return outcome.find(name, Kind::Invalid(text.into()), &says);
    }
    if let Some(pattern) = node
        .pattern
        .as_ref()
        .filter(|pattern| !pattern.matches(text))
    {
        let says = format!("should match '{}'", pattern.source());
        outcome.find(name, Kind::Invalid(text.into()), &says);
    }
}

fn check_list(items: &[Value], old: Option<&Value>, node: &Node, name: &str) -> Outcome {
    let mut outcome = Outcome::default();
    if let Some(schema) = &node.items {
        let olds = old
            .and_then(Value::as_array)
            .filter(|_| node.list_type == ListType::Map);
        for (at, item) in items.iter().enumerate() {
            // Only items of a list that is a map are the same ones as before.
            let old = olds.and_then(|olds| {
                let key = lists::key(item, node);
                olds.iter()
                    .find(|old| go::same(&lists::key(old, node), &key))
            });
            outcome.merge(check_changed(item, old, schema, &format!("{name}[{at}]")));
        }
    }
    let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
    if let Some(least) = node.min_items.filter(|least| count < *least) {
        let says = format!("should have at least {least} items");
        outcome.find(name, Kind::Invalid(count.into()), &says);
    }
    if let Some(most) = node.max_items.filter(|most| count > *most) {
        let says = format!("should have at most {most} items");
        outcome.find(name, Kind::TooMany(items.len(), most), &says);
    }
    let double =
        |(at, item): (usize, &Value)| items[..at].iter().any(|other| go::same(item, other));
    if node.unique_items && items.iter().enumerate().any(double) {
        outcome.find(
            name,
            Kind::Invalid("".into()),
            "shouldn't contain duplicates",
        );
    }
    outcome.checks += 1;
    outcome
}

fn check_map(value: &Value, old: Option<&Value>, node: &Node, name: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(fields) = value.as_object() else {
        return outcome;
    };
    let old_of = |field: &str| old.and_then(|old| old.get(field));
    let count = i64::try_from(fields.len()).unwrap_or(i64::MAX);
    if let Some(least) = node.min_properties.filter(|least| count < *least) {
        let says = format!("should have at least {least} properties");
        outcome.find(name, Kind::Invalid(count.into()), &says);
    }
    if let Some(most) = node.max_properties.filter(|most| count > *most) {
        let says = format!("should have at most {most} properties");
        outcome.find(name, Kind::TooMany(fields.len(), most), &says);
    }
    for (field, value) in fields {
        if node.properties.contains_key(field) {
            continue;
        }
        match &node.additional {
            Additional::Bool(false) => outcome.add(Finding {
                name: name.to_owned(),
                text: format!("{name}.{field} in body is a forbidden property"),
                kind: Kind::Invalid(field.as_str().into()),
            }),
            Additional::Node(schema) => {
                let name = format!("{name}.{field}");
                outcome.merge(check_changed(value, old_of(field), schema, &name));
            }
            _ => {}
        }
    }
    for (field, schema) in &node.properties {
        let Some(value) = fields.get(field) else {
            continue;
        };
        let below = match name.is_empty() {
            true => field.clone(),
            false => format!("{name}.{field}"),
        };
        // The type of the object is never as it was: it is converted to what was asked for.
        let typing = name.is_empty() && matches!(field.as_str(), "kind" | "apiVersion");
        let old = old_of(field).filter(|_| !typing);
        outcome.merge(check_changed(value, old, schema, &below));
    }
    for field in node
        .required
        .iter()
        .filter(|field| !fields.contains_key(*field))
    {
        outcome.find(&format!("{name}.{field}"), Kind::Required, "is required");
    }
    outcome
}
