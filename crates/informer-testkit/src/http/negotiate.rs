//! Which form of the answer an `Accept` header asks for.

use crate::encode::Form;
use crate::status::Status;

/// What kind of answer is to be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    One,
    List,
    Watch,
}

/// One clause of an `Accept` header.
#[derive(Debug)]
struct Clause<'a> {
    media_type: &'a str,
    quality: f32,
    params: Vec<(&'a str, &'a str)>,
}

impl Clause<'_> {
    fn param(&self, name: &str) -> &str {
        let found = self
            .params
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }
}

/// The form of the first clause, by quality, that this server can satisfy.
pub(crate) fn negotiate(accept: &str, shape: Shape) -> Result<Form, Status> {
    if accept.trim().is_empty() {
        return Ok(Form::Full);
    }
    clauses(accept)
        .iter()
        .filter(|clause| {
            matches!(
                clause.media_type,
                "application/json" | "application/*" | "*/*"
            )
        })
        .find_map(|clause| form(clause, shape))
        .ok_or_else(Status::not_acceptable)
}

/// Sorted by quality; equal ones keep their order.
fn clauses(accept: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = accept.split(',').map(clause).collect();
    clauses.retain(|clause| clause.quality > 0.0);
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    clauses
}

fn clause(text: &str) -> Clause<'_> {
    let mut parts = text.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    let params: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
    let mut clause = Clause {
        media_type,
        quality: 1.0,
        params,
    };
    clause.quality = clause.param("q").parse().unwrap_or(1.0);
    clause
}

/// `None` when the clause asks for what this answer cannot be turned into.
fn form(clause: &Clause<'_>, shape: Shape) -> Option<Form> {
    let kind = clause.param("as");
    if kind.is_empty() {
        return Some(Form::Full);
    }
    let known = clause.param("g") == "meta.k8s.io" && matches!(clause.param("v"), "v1" | "v1beta1");
    match (kind, shape) {
        _ if !known => None,
        ("Table", _) => Some(Form::Table),
        ("PartialObjectMetadata", Shape::One | Shape::Watch) => Some(Form::Metadata),
        ("PartialObjectMetadataList", Shape::List) => Some(Form::Metadata),
        // A real server notes the mistake in its log and sends the objects as they are.
        ("PartialObjectMetadataList", Shape::Watch) => Some(Form::Full),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_tried_by_quality() {
        let list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        let one = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        for (accept, shape, expected) in [
            ("", Shape::List, Some(Form::Full)),
            ("*/*", Shape::List, Some(Form::Full)),
            ("application/json", Shape::Watch, Some(Form::Full)),
            (
                "application/json;stream=watch",
                Shape::Watch,
                Some(Form::Full),
            ),
            ("application/vnd.kubernetes.protobuf", Shape::List, None),
            (
                "application/vnd.kubernetes.protobuf, application/json",
                Shape::List,
                Some(Form::Full),
            ),
            ("application/json;q=0, application/yaml", Shape::List, None),
            ("application/x-unknown", Shape::List, None),
            (list, Shape::List, Some(Form::Metadata)),
            (one, Shape::List, None),
            (one, Shape::Watch, Some(Form::Metadata)),
            (list, Shape::Watch, Some(Form::Full)),
            (
                &format!("{one},application/json"),
                Shape::List,
                Some(Form::Full),
            ),
            (
                &format!("application/json;q=0.5,{list}"),
                Shape::List,
                Some(Form::Metadata),
            ),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io",
                Shape::List,
                Some(Form::Table),
            ),
            (
                "application/json;as=Table;v=v9;g=meta.k8s.io",
                Shape::List,
                None,
            ),
        ] {
            assert_eq!(
                negotiate(accept, shape).ok(),
                expected,
                "{accept} {shape:?}"
            );
        }
    }
}
