//! The form of a response by the `Accept` header.

use informer_wire::Status;
use jiff::Timestamp;

use crate::encode::{Encoding, Form, Format};
use crate::status;

/// The kind of a response.
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

/// What exists in protobuf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Protobuf {
    /// Whether the server has protobuf at all.
    pub(crate) spoken: bool,
    /// Whether whole objects of the resource have a message.
    pub(crate) whole: bool,
}

impl Protobuf {
    const fn has(self, form: Form) -> bool {
        match form {
            Form::Full => self.spoken && self.whole,
            Form::Metadata => self.spoken,
            Form::Table(_) => false,
        }
    }
}

/// Returns the encoding of the first clause, by quality, that this server can satisfy.
pub(crate) fn negotiate(
    accept: &str,
    shape: Shape,
    protobuf: Protobuf,
    now: Timestamp,
) -> Result<Encoding, Status> {
    if accept.trim().is_empty() {
        return Ok(Encoding {
            form: Form::Full,
            format: Format::Json,
        });
    }
    clauses(accept)
        .iter()
        .find_map(|clause| {
            let form = form(clause, shape, now)?;
            let format = format(clause)?;
            let can = format == Format::Json || protobuf.has(form);
            can.then_some(Encoding { form, format })
        })
        .ok_or_else(status::not_acceptable)
}

/// Returns the format of an error: the first requested one, whatever the resource has.
pub(crate) fn error_format(accept: &str, protobuf: Protobuf) -> Format {
    let known = clauses(accept).iter().find_map(format);
    match known {
        Some(Format::Protobuf) if protobuf.spoken => Format::Protobuf,
        _ => Format::Json,
    }
}

fn format(clause: &Clause<'_>) -> Option<Format> {
    match clause.media_type {
        "application/json" | "application/*" | "*/*" => Some(Format::Json),
        "application/vnd.kubernetes.protobuf" => Some(Format::Protobuf),
        _ => None,
    }
}

/// Returns the clauses by quality; equal ones keep their order.
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

/// Returns the form of a clause; `None` if this response has no such form.
fn form(clause: &Clause<'_>, shape: Shape, now: Timestamp) -> Option<Form> {
    let kind = clause.param("as");
    if kind.is_empty() {
        return Some(Form::Full);
    }
    let known = clause.param("g") == "meta.k8s.io" && matches!(clause.param("v"), "v1" | "v1beta1");
    match (kind, shape) {
        _ if !known => None,
        ("Table", _) => Some(Form::Table(now)),
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

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn accept_clauses_are_tried_by_quality() {
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
                Some(Form::Table(NOW)),
            ),
            (
                "application/json;as=Table;v=v9;g=meta.k8s.io",
                Shape::List,
                None,
            ),
        ] {
            let negotiated = negotiate(accept, shape, Protobuf::default(), NOW).ok();
            assert_eq!(
                negotiated.map(|encoding| encoding.form),
                expected,
                "{accept} {shape:?}"
            );
        }
    }

    #[test]
    fn protobuf_is_used_for_kinds_with_a_message() {
        let both = "application/vnd.kubernetes.protobuf,application/json";
        let only = "application/vnd.kubernetes.protobuf;stream=watch";
        let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
        let table = "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1";
        let spoken = |whole| Protobuf {
            spoken: true,
            whole,
        };
        let (json, protobuf) = (Some(Format::Json), Some(Format::Protobuf));
        for (accept, has, expected) in [
            (both, spoken(true), protobuf),
            (both, spoken(false), json),
            (both, Protobuf::default(), json),
            (only, spoken(true), protobuf),
            (only, spoken(false), None),
            (only, Protobuf::default(), None),
            (metadata, spoken(false), protobuf),
            (metadata, Protobuf::default(), json),
            (table, spoken(true), None),
            ("application/*", spoken(true), json),
        ] {
            let negotiated = negotiate(accept, Shape::Watch, has, NOW).ok();
            assert_eq!(
                negotiated.map(|found| found.format),
                expected,
                "{accept} {has:?}"
            );
        }
        assert_eq!(error_format(both, spoken(false)), Format::Protobuf);
        assert_eq!(error_format(both, Protobuf::default()), Format::Json);
        assert_eq!(error_format("", spoken(true)), Format::Json);
    }
}
