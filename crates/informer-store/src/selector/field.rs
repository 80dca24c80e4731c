//! Field selectors, on the fields of the metadata that every object has.

use std::fmt;
use std::str::FromStr;

use crate::object::ObjectMetadata;
use crate::selector::Selector;
use crate::selector::error::SelectorError;

/// Chooses objects by `metadata.name` and `metadata.namespace`: all terms must be met. The empty one chooses
/// everything.
///
/// Servers have more fields for some kinds (`spec.nodeName` of pods), which only a server selects by.
///
/// ```
/// use informer_store::FieldSelector;
///
/// let parsed: FieldSelector = "metadata.namespace=shop,metadata.name!=cart-1".parse()?;
/// assert_eq!(parsed, FieldSelector::everything().with_namespace("shop").without_name("cart-1"));
/// # Ok::<(), informer_store::SelectorError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Term {
    field: Field,
    equals: bool,
    value: Box<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Field {
    Name,
    Namespace,
}

impl Field {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "metadata.name",
            Self::Namespace => "metadata.namespace",
        }
    }
}

impl FieldSelector {
    /// Chooses every object.
    #[must_use]
    pub fn everything() -> Self {
        Self::default()
    }

    fn with(mut self, field: Field, equals: bool, value: &str) -> Self {
        self.terms.push(Term {
            field,
            equals,
            value: Box::from(value),
        });
        self
    }

    /// Requires this name.
    #[must_use]
    pub fn with_name(self, name: &str) -> Self {
        self.with(Field::Name, true, name)
    }

    /// Requires another name.
    #[must_use]
    pub fn without_name(self, name: &str) -> Self {
        self.with(Field::Name, false, name)
    }

    /// Requires this namespace.
    #[must_use]
    pub fn with_namespace(self, namespace: &str) -> Self {
        self.with(Field::Namespace, true, namespace)
    }

    /// Requires another namespace.
    #[must_use]
    pub fn without_namespace(self, namespace: &str) -> Self {
        self.with(Field::Namespace, false, namespace)
    }
}

impl Term {
    fn matches<M: ObjectMetadata>(&self, metadata: &M) -> bool {
        let value = match self.field {
            Field::Name => metadata.name(),
            Field::Namespace => metadata.namespace(),
        };
        (value.unwrap_or_default() == &*self.value) == self.equals
    }
}

impl Selector for FieldSelector {
    fn matches<M: ObjectMetadata>(&self, metadata: &M) -> bool {
        self.terms.iter().all(|term| term.matches(metadata))
    }

    fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    fn is_nothing(&self) -> bool {
        false
    }
}

impl FromStr for FieldSelector {
    type Err = SelectorError;

    /// Reads terms `field=value`, `field==value` or `field!=value` between commas. In a value `\\`, `\,` and `\=`
    /// stand for the characters after the backslash.
    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let mut selector = Self::default();
        let mut start = 0;
        for term in split_terms(text) {
            let at = start;
            start += term.len() + 1;
            if !term.is_empty() {
                selector.terms.push(parse_term(text, term, at)?);
            }
        }
        Ok(selector)
    }
}

impl FieldSelector {
    /// Checks the syntax of a text, whatever fields it has: the server knows more of them.
    ///
    /// # Errors
    /// If a term has no operator, or its value is not escaped.
    #[doc(hidden)]
    pub fn check_syntax(text: &str) -> Result<(), SelectorError> {
        let mut start = 0;
        for term in split_terms(text) {
            let at = start;
            start += term.len() + 1;
            let parsed = (!term.is_empty()).then(|| parse_term(text, term, at));
            match parsed {
                None | Some(Ok(_) | Err(SelectorError::Field { .. })) => {}
                Some(Err(error)) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Returns the parts between commas that no backslash precedes.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn parse_term(text: &str, term: &str, start: usize) -> Result<Term, SelectorError> {
    let syntax = |at: usize, found: String, expected| SelectorError::Syntax {
        text: text.to_owned(),
        at: start + at,
        found,
        expected,
    };
    let Some(equals_at) = term.find('=') else {
        return Err(syntax(
            term.len(),
            "the end of the term".to_owned(),
            "=, == or !=",
        ));
    };
    let (name, equals) = match term[..equals_at].strip_suffix('!') {
        Some(name) => (name, false),
        None => (&term[..equals_at], true),
    };
    let after = &term[equals_at + 1..];
    let escaped = if equals {
        after.strip_prefix('=').unwrap_or(after)
    } else {
        after
    };
    let value_at = term.len() - escaped.len();
    let value = unescape(escaped).map_err(|(at, found)| {
        syntax(value_at + at, found, "'\\' before one of '\\', ',' and '='")
    })?;
    let field = match name.trim() {
        "metadata.name" => Field::Name,
        "metadata.namespace" => Field::Namespace,
        other => {
            return Err(SelectorError::Field {
                field: other.to_owned(),
            });
        }
    };
    Ok(Term {
        field,
        equals,
        value: value.into_boxed_str(),
    })
}

/// Removes the backslashes; the error has the place of one that is wrong, or missing.
fn unescape(text: &str) -> Result<String, (usize, String)> {
    let mut value = String::with_capacity(text.len());
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, c @ ('\\' | ',' | '='))) => value.push(c),
                Some((_, c)) => return Err((at, format!("{:?}", format!("\\{c}")))),
                None => return Err((at, "a backslash at the end".to_owned())),
            },
            '=' => return Err((at, "\"=\"".to_owned())),
            c => value.push(c),
        }
    }
    Ok(value)
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, term) in self.terms.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let operator = if term.equals { "=" } else { "!=" };
            write!(f, "{comma}{}{operator}", term.field.as_str())?;
            for c in term.value.chars() {
                if matches!(c, '\\' | ',' | '=') {
                    f.write_str("\\")?;
                }
                write!(f, "{c}")?;
            }
        }
        Ok(())
    }
}
