//! Patterns of schemas: Go's regular expressions, matched by Rust's.
//!
//! Both have the same roots and no backtracking. What differs is rewritten: `\d`, `\w`, `\s` and `\b` know ASCII alone in
//! Go; inside brackets Go knows no nested class and no set operators; `\Q…\E` and octal escapes are Go's only.

use std::fmt;

use regex::{Regex, RegexBuilder};

/// How large a compiled pattern may become.
const SIZE_LIMIT: usize = 32 << 20;

/// The pattern of a text.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    source: String,
    regex: Result<Regex, Refusal>,
}

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is no regular expression, for Go as well.
    Invalid(String),
    /// It is one, but too large for us: every text matches it.
    TooLarge,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(why) => f.write_str(why),
            Self::TooLarge => f.write_str("too large"),
        }
    }
}

impl Pattern {
    pub(crate) fn new(source: &str) -> Self {
        let compiled = RegexBuilder::new(&translate(source))
            .size_limit(SIZE_LIMIT)
            .build();
        Self {
            source: source.to_owned(),
            regex: compiled.map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => Refusal::TooLarge,
                error => {
                    let text = error.to_string();
                    let last = text.lines().last().unwrap_or_default();
                    Refusal::Invalid(last.trim_start_matches("error: ").to_owned())
                }
            }),
        }
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Returns why it is no regular expression, if so.
    pub(crate) fn invalid(&self) -> Option<&Refusal> {
        let refusal = self.regex.as_ref().err();
        refusal.filter(|refusal| **refusal != Refusal::TooLarge)
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        match &self.regex {
            Ok(regex) => regex.is_match(text),
            Err(Refusal::TooLarge) => true,
            Err(Refusal::Invalid(_)) => false,
        }
    }
}

/// Rewrites a pattern of Go.
fn translate(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 16);
    let mut chars = source.chars().peekable();
    let mut in_class = false;
    while let Some(char) = chars.next() {
        match char {
            '\\' => {
                let Some(escaped) = chars.next() else {
                    out.push('\\');
                    break;
                };
                if escaped == 'Q' && !in_class {
                    let mut literal: String = chars.by_ref().collect();
                    let rest = match literal.split_once("\\E") {
                        Some((text, rest)) => {
                            let rest = rest.to_owned();
                            literal = text.to_owned();
                            rest
                        }
                        None => String::new(),
                    };
                    out.push_str(&regex::escape(&literal));
                    out.push_str(&translate(&rest));
                    break;
                }
                let mut octal = || {
                    let mut code = escaped.to_digit(8).unwrap_or_default();
                    for _ in 0..2 {
                        let Some(digit) = chars.peek().and_then(|next| next.to_digit(8)) else {
                            break;
                        };
                        code = code * 8 + digit;
                        chars.next();
                    }
                    format!("\\x{{{code:x}}}")
                };
                match escaped {
                    'd' => out.push_str("[0-9]"),
                    'D' => out.push_str("[^0-9]"),
                    'w' => out.push_str("[0-9A-Za-z_]"),
                    'W' => out.push_str("[^0-9A-Za-z_]"),
                    's' => out.push_str("[\\t\\n\\f\\r ]"),
                    'S' => out.push_str("[^\\t\\n\\f\\r ]"),
                    'b' | 'B' if !in_class => out.push_str(&format!("(?-u:\\{escaped})")),
                    '0' => out.push_str(&octal()),
                    // Go has no such escapes; Rust has.
                    'u' | 'U' => out.push_str("(?!"),
                    '<' | '>' => out.push(escaped),
                    _ => out.extend(['\\', escaped]),
                }
            }
            // Braces are a repetition with numbers in them, else a text.
            '{' if !in_class && !is_repetition(chars.clone()) => out.push_str("\\{"),
            '[' if in_class => {
                // A named class as [:alpha:] is the same; any other bracket is a text here.
                if chars.peek() == Some(&':') {
                    out.push('[');
                } else {
                    out.push_str("\\[");
                }
            }
            '[' => {
                in_class = true;
                out.push('[');
                if chars.peek() == Some(&'^') {
                    out.extend(chars.next());
                }
                // First in a class, it does not end it.
                if chars.peek() == Some(&']') {
                    chars.next();
                    out.push_str("\\]");
                }
            }
            ':' if in_class && chars.peek() == Some(&']') && ends_named_class(&out) => {
                out.push_str(":]");
                chars.next();
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => out.extend(['\\', char]),
            // Two are a range that ends, or begins, with a dash.
            '-' if in_class && chars.peek() == Some(&'-') => {
                chars.next();
                let begins = out.ends_with(['[', '^']);
                out.push_str(if begins { "\\--" } else { "-\\-" });
            }
            char => out.push(char),
        }
    }
    out
}

/// Whether what follows an opening brace makes it a repetition.
fn is_repetition(rest: impl Iterator<Item = char>) -> bool {
    let inner: String = rest.take_while(|char| *char != '}').take(16).collect();
    let (low, high) = inner.split_once(',').unwrap_or((&inner, ""));
    let digits = |text: &str| text.chars().all(|char| char.is_ascii_digit());
    !low.is_empty() && digits(low) && digits(high)
}

/// Whether the text so far ends with `[:` and letters.
fn ends_named_class(out: &str) -> bool {
    let name = out.rsplit("[:").next().unwrap_or_default();
    name.len() < out.len()
        && name
            .chars()
            .all(|char| char.is_ascii_lowercase() || char == '^')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_of_go_match_what_they_match_in_go() {
        for (pattern, text, matches) in [
            (r"^\d+$", "12", true),
            (r"^\d+$", "٣", false),
            (r"^\w+$", "é", false),
            (r"^[\w-]+$", "a-b_1", true),
            (r"^[^\s]+$", "a b", false),
            (r"^[[]$", "[", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]]$", "]", false),
            (r"^[a&&b]+$", "&a", true),
            (r"^[[:alpha:]]+$", "ab", true),
            (r"^[[:alpha:]_:]+$", "ab:_", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^\012$", "\n", true),
            (r"\bcat\b", "a cat", true),
            (r"^[+--]$", ",", true),
            (r"^[--a]$", "A", true),
            (r"^(?i)abc$", "ABC", true),
            (r"^\pL+$", "é", true),
            ("a$", "a\n", false),
            (r"^a{,2}$", "a{,2}", true),
            (r"^{}$", "{}", true),
            (r"^a{2}$", "aa", true),
            (r"^\<\_$", "<_", true),
        ] {
            assert_eq!(
                Pattern::new(pattern).matches(text),
                matches,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for pattern in [
            "[", "(", "a**b(", r"(?=a)", r"\1", r"(?!a)", "a{2,1}", r"\u0041", "\\",
        ] {
            assert!(Pattern::new(pattern).invalid().is_some(), "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn no_pattern_panics(pattern in r"[\[\]\\a-z0-9(){}^$.*+?|:&~QE-]{0,24}", text in ".{0,12}") {
            let _ = Pattern::new(&pattern).matches(&text);
        }
    }
}
