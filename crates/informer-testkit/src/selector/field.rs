//! Field selectors: `path=value`, `path==value`, `path!=value`, joined with commas.

/// A parsed field selector; all its terms must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: String,
    value: String,
    equal: bool,
}

impl FieldSelector {
    /// Reads a selector. The error is the message for the client.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut terms = Vec::new();
        for part in split_unescaped(text)
            .into_iter()
            .filter(|part| !part.is_empty())
        {
            let term = parse_term(part)
                .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
            terms.push(term?);
        }
        Ok(Self { terms })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether it selects one name.
    pub(crate) fn is_of_one_name(&self) -> bool {
        self.terms
            .iter()
            .any(|term| term.field == "metadata.name" && term.equal)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|term| term.field.as_str())
    }

    /// Returns `true` if an object with these fields matches.
    pub(crate) fn matches<'a>(&self, value_of: impl Fn(&str) -> &'a str) -> bool {
        self.terms
            .iter()
            .all(|term| (value_of(&term.field) == term.value) == term.equal)
    }
}

/// Cuts at commas that have no backslash before them.
fn split_unescaped(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Reads one term; `None` when there is no operator.
fn parse_term(part: &str) -> Option<Result<Term, String>> {
    let at = part.find(['=', '!'])?;
    let (field, rest) = part.split_at(at);
    let (value, equal) = if let Some(value) = rest.strip_prefix("!=") {
        (value, false)
    } else if let Some(value) = rest.strip_prefix("==") {
        (value, true)
    } else {
        (rest.strip_prefix('=')?, true)
    };
    Some(unescape(value).map(|value| Term {
        field: field.to_owned(),
        value,
        equal,
    }))
}

fn unescape(value: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => plain.push(c),
                other => {
                    let sequence: String = other.into_iter().collect();
                    return Err(format!(
                        "invalid field selector: invalid escape sequence: \\{sequence}"
                    ));
                }
            },
            '=' => return Err("invalid field selector: unescaped character in value: =".to_owned()),
            c => plain.push(c),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(field: &str) -> &'static str {
        match field {
            "metadata.name" => "a,b=c",
            "spec.nodeName" => "node-1",
            _ => "",
        }
    }

    #[test]
    fn field_selector_terms_must_all_hold() {
        for (text, expected) in [
            ("", true),
            ("spec.nodeName=node-1", true),
            ("spec.nodeName==node-1", true),
            ("spec.nodeName!=node-1", false),
            ("spec.nodeName!=node-2,status.phase=", true),
            ("spec.nodeName=node-1,status.phase=Running", false),
            (r"metadata.name=a\,b\=c", true),
        ] {
            assert_eq!(
                FieldSelector::parse(text).unwrap().matches(pod),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn invalid_label_selector_is_refused() {
        for text in [
            "spec.nodeName",
            "spec.nodeName!node",
            r"a=\x",
            "a=b=c",
            r"a=b\",
        ] {
            assert!(FieldSelector::parse(text).is_err(), "{text}");
        }
    }
}
