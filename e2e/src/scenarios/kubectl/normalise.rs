//! What `kubectl` says, without what is never the same twice.

use anyhow::Context;
use regex::Regex;

/// Each pattern with what stands in its place.
const MASKS: &[(&str, &str)] = &[
    (
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "UID",
    ),
    (
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000)?",
        "TIME",
    ),
    (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000", "TIME"),
    (r#"((?i:resource ?version)"?: +)"?\d+"?"#, "${1}VERSION"),
    (r"https?://127\.0\.0\.1:\d+", "ADDRESS"),
    (r"\b(LIVE|MERGED)-\d+", "$1"),
    (r"\b[EIW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+", "LOG"),
    (r"(?m)(^|\s)\d+[smh](\d+s)?(\s|$)", "${1}AGE${3}"),
    (r"[ \t]+", " "),
    (r"(?m) $", ""),
    (r"(testkit|e2e-admin|e2e)\b", "USER"),
];

/// The masks, compiled.
pub(super) struct Normaliser {
    masks: Vec<(Regex, &'static str)>,
    /// A line of `explain` with a field and its type.
    field: Regex,
}

impl Normaliser {
    pub(super) fn new() -> anyhow::Result<Self> {
        let compile = |pattern: &str| Regex::new(pattern).with_context(|| pattern.to_owned());
        let masks = MASKS
            .iter()
            .map(|(pattern, with)| Ok((compile(pattern)?, *with)));
        Ok(Self {
            masks: masks.collect::<anyhow::Result<_>>()?,
            field: compile(r"^\s*\S+\t<.*>|^(GROUP|KIND|VERSION|FIELD|error|exit code)\b")?,
        })
    }

    /// Masks what a command said.
    pub(super) fn apply(&self, command: &str, said: &str) -> String {
        let mut said = said.to_owned();
        // The test kit's OpenAPI has no descriptions, and does not say what is required.
        if command.starts_with("explain") {
            let lines = said.lines().filter(|line| self.field.is_match(line));
            let lines = lines.map(|line| line.trim_end_matches(" -required-"));
            said = lines.collect::<Vec<_>>().join("\n");
        }
        for (mask, with) in &self.masks {
            said = mask.replace_all(&said, *with).into_owned();
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_never_the_same_twice_is_masked() {
        let normaliser = Normaliser::new().expect("valid patterns");
        for (command, said, masked) in [
            (
                "get pods",
                "a   1/1  5s\nb   0/1   2m3s",
                "a 1/1 AGE\nb 0/1 AGE",
            ),
            (
                "get pods",
                "  resourceVersion: \"17\"",
                " resourceVersion: VERSION",
            ),
            (
                "get pods",
                "uid: 12345678-1234-1234-1234-1234567890ab",
                "uid: UID",
            ),
            ("cluster-info", "at https://127.0.0.1:123", "at ADDRESS"),
            (
                "explain pods",
                "KIND: Pod\n\n  text\n  spec\t<PodSpec> -required-\n",
                "KIND: Pod\n spec <PodSpec>",
            ),
        ] {
            assert_eq!(normaliser.apply(command, said), masked);
        }
    }
}
