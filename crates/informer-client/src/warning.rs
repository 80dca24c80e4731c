//! `Warning` headers of a server, for instance that an API is deprecated.

use std::collections::HashSet;

use http::HeaderMap;
use parking_lot::Mutex;

/// The most different warnings that are kept.
const MAX_REMEMBERED: usize = 1_000;

/// The most characters of a warning that are logged.
const MAX_LENGTH: usize = 1_000;

/// Warnings that were logged.
#[derive(Default)]
pub(crate) struct Warnings {
    seen: Mutex<HashSet<String>>,
}

impl Warnings {
    /// Logs each new warning of a response.
    pub(crate) fn log(&self, headers: &HeaderMap) {
        for value in headers.get_all(http::header::WARNING) {
            let Some(text) = value.to_str().ok().and_then(parse) else {
                continue;
            };
            if self.is_new(&text) {
                tracing::warn!(warning = text, "the API server warns");
            }
        }
    }

    fn is_new(&self, text: &str) -> bool {
        let mut seen = self.seen.lock();
        seen.len() < MAX_REMEMBERED && seen.insert(text.to_owned())
    }
}

/// Returns the text of `299 - "text"`. Other codes are not Kubernetes'.
fn parse(value: &str) -> Option<String> {
    let rest = value.trim().strip_prefix("299 ")?;
    let (_, quoted) = rest.split_once('"')?;
    let mut text = String::new();
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => return Some(text).filter(|text| !text.is_empty()),
            '\\' => text.extend(characters.next().filter(|c| !c.is_control())),
            c if !c.is_control() && text.len() < MAX_LENGTH => text.push(c),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Warnings, parse};

    #[test]
    fn warning_text_is_unquoted() {
        assert_eq!(
            parse("299 - \"v1beta1 is \\\"old\\\"\" \"Mon, 01 Jan 2026 00:00:00 GMT\"").as_deref(),
            Some("v1beta1 is \"old\"")
        );
        for bad in [
            "",
            "199 - \"x\"",
            "299 - x",
            "299 - \"never ends",
            "299 - \"\"",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn warning_is_logged_once() {
        let warnings = Warnings::default();
        assert!(warnings.is_new("a") && warnings.is_new("b"));
        assert!(!warnings.is_new("a"));
        for n in 0..2_000 {
            warnings.is_new(&n.to_string());
        }
        assert_eq!(warnings.seen.lock().len(), super::MAX_REMEMBERED);
    }
}
