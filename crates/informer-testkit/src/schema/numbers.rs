//! Validation of numbers.

use serde_json::Value;

use super::go::Num;
use super::node::Node;
use super::validate::{Kind, Outcome};

/// The largest whole number that a float holds exactly.
const LARGEST: f64 = 9_007_199_254_740_991.0;

/// Whether a number has no fraction, as far as a float can tell.
pub(super) fn is_whole(number: f64) -> bool {
    number.abs() <= LARGEST && (number - number.round()).abs() <= 1e-9 * number.abs()
}

/// Checks a number against the limits of a schema.
pub(super) fn check(number: Num, value: &Value, node: &Node, name: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let kind = || Kind::Invalid(value.clone());
    let range = Range::of(node);
    if let Some(text) = range.refuses(number, "Checked", name) {
        outcome.whole(text);
    }
    let mut limit =
        |bound: Option<f64>, what: &str, check: &mut dyn FnMut(Num, Num, &mut Outcome)| {
            let Some(bound) = bound else { return };
            // A limit that the type cannot hold is told, and compared all the same.
            let (number, bound) = match (range.refuses(Num::Float(bound), what, name), number) {
                (Some(text), _) => {
                    outcome.whole(text);
                    (Num::Float(number.as_f64()), Num::Float(bound))
                }
                #[allow(clippy::cast_possible_truncation, reason = "as Go converts")]
                (None, Num::Int(_)) => (number, Num::Int(bound as i64)),
                (None, Num::Float(_)) => (number, Num::Float(bound)),
            };
            check(number, bound, &mut outcome);
        };
    limit(
        node.multiple_of,
        "MultipleOf",
        &mut |number, factor, outcome| {
            if factor.as_f64() <= 0.0 {
                outcome.add(super::validate::Finding {
                    name: name.to_owned(),
                    text: format!(
                        "factor MultipleOf declared for {name} must be positive: {}",
                        factor.text()
                    ),
                    kind: Kind::Invalid(to_value(factor)),
                });
            } else if !is_multiple(number, factor) {
                let says = format!("should be a multiple of {}", factor.text());
                outcome.find(name, kind(), &says);
            }
        },
    );
    limit(
        node.minimum,
        "Minimum boundary",
        &mut |number, least, outcome| {
            let (below, or_equal) = (number.as_f64() < least.as_f64(), number == least);
            if below || (node.exclusive_minimum && or_equal) {
                let or = if node.exclusive_minimum {
                    ""
                } else {
                    " or equal to"
                };
                let says = format!("should be greater than{or} {}", least.text());
                outcome.find(name, kind(), &says);
            }
        },
    );
    limit(
        node.maximum,
        "Maximum boundary",
        &mut |number, most, outcome| {
            let (above, or_equal) = (number.as_f64() > most.as_f64(), number == most);
            if above || (node.exclusive_maximum && or_equal) {
                let or = if node.exclusive_maximum {
                    ""
                } else {
                    " or equal to"
                };
                outcome.find(
                    name,
                    kind(),
                    &format!("should be less than{or} {}", most.text()),
                );
            }
        },
    );
    outcome.checks += 1;
    outcome
}

fn to_value(number: Num) -> Value {
    match number {
        Num::Int(number) => number.into(),
        Num::Float(number) => number.into(),
    }
}

fn is_multiple(number: Num, factor: Num) -> bool {
    match (number, factor) {
        (Num::Int(number), Num::Int(factor)) => number.checked_rem(factor) == Some(0),
        (number, factor) => {
            let (number, factor) = (number.as_f64(), factor.as_f64());
            is_whole(if factor < 1.0 {
                1.0 / factor * number
            } else {
                number / factor
            })
        }
    }
}

/// The numbers that a type holds.
struct Range<'a> {
    of_type: &'a str,
    format: &'a str,
}

impl<'a> Range<'a> {
    fn of(node: &'a Node) -> Self {
        let (of_type, format) = match node.types.as_slice() {
            [one] if one == "integer" || one == "number" => (one.as_str(), node.format.as_str()),
            _ => ("", ""),
        };
        Self { of_type, format }
    }

    fn refuses(&self, number: Num, what: &str, name: &str) -> Option<String> {
        let whole = match number {
            Num::Int(number) => Some(number),
            #[allow(clippy::cast_possible_truncation, reason = "it has no fraction")]
            Num::Float(number) if number.fract() == 0.0 && number.abs() < 9.2e18 => {
                Some(number as i64)
            }
            Num::Float(_) => None,
        };
        let fits = match (self.of_type, self.format) {
            ("integer", "int32") => whole.is_some_and(|whole| i32::try_from(whole).is_ok()),
            ("integer", _) => whole.is_some(),
            (_, "float") => number.as_f64().abs() <= f64::from(f32::MAX),
            _ => true,
        };
        if fits {
            return None;
        }
        let format = match self.format {
            "" => "(default format)".to_owned(),
            format => format!("with format {format}"),
        };
        let of_type = self.of_type;
        Some(format!(
            "{what} value must be of type {of_type} {format} in {name}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(schema: Value, value: Value) -> Vec<String> {
        let node = Node::read(&schema);
        let Value::Number(number) = &value else {
            return Vec::new();
        };
        let outcome = check(Num::of(number), &value, &node, "n");
        outcome
            .findings
            .into_iter()
            .map(|finding| finding.text)
            .collect()
    }

    #[test]
    fn limits_are_told_as_a_server_tells_them() {
        let integer = |more: Value| {
            let mut schema = json!({"type": "integer"});
            for (key, value) in more.as_object().into_iter().flatten() {
                schema[key] = value.clone();
            }
            schema
        };
        for (schema, value, text) in [
            (
                integer(json!({"minimum": 1})),
                json!(0),
                "n in body should be greater than or equal to 1",
            ),
            (
                integer(json!({"minimum": 1, "exclusiveMinimum": true})),
                json!(1),
                "n in body should be greater than 1",
            ),
            (
                integer(json!({"maximum": 1})),
                json!(2),
                "n in body should be less than or equal to 1",
            ),
            (
                integer(json!({"maximum": 2, "exclusiveMaximum": true})),
                json!(2),
                "n in body should be less than 2",
            ),
            (
                integer(json!({"multipleOf": 3})),
                json!(4),
                "n in body should be a multiple of 3",
            ),
            (
                integer(json!({"format": "int32"})),
                json!(3_000_000_000_i64),
                "Checked value must be of type integer with format int32 in n",
            ),
            (
                json!({"type": "number", "multipleOf": 0.1}),
                json!(0.25),
                "n in body should be a multiple of 0.1",
            ),
        ] {
            assert_eq!(texts(schema, value), [text]);
        }
        assert!(texts(json!({"type": "number", "multipleOf": 0.1}), json!(0.3)).is_empty());
        assert!(!is_whole(1.5));
    }
}
