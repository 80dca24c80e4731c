//! The name of a field manager.

use std::fmt;

use informer_wire::StatusCause;

/// The longest name that a real server takes, in bytes.
const LONGEST: usize = 128;

/// The name under which a write takes ownership of fields. A longer one than a real server takes is cut.
///
/// ```
/// use informer_testkit::model::FieldManager;
///
/// assert_eq!(FieldManager::new("kubectl").as_str(), "kubectl");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FieldManager {
    bytes: [u8; LONGEST],
    len: usize,
}

impl FieldManager {
    /// Makes the name of a manager.
    pub fn new(name: &str) -> Self {
        let mut len = name.len().min(LONGEST);
        while !name.is_char_boundary(len) {
            len -= 1;
        }
        let mut bytes = [0; LONGEST];
        bytes[..len].copy_from_slice(&name.as_bytes()[..len]);
        Self { bytes, len }
    }

    /// Makes the name of a client that gives none: the first part of its user agent.
    pub(crate) fn of_user_agent(agent: &str) -> Self {
        let program = agent.split('/').next().unwrap_or_default();
        let printed: String = program.chars().filter(|c| is_printed(*c)).collect();
        Self::new(&printed)
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl fmt::Debug for FieldManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FieldManager").field(&self.as_str()).finish()
    }
}

fn is_printed(c: char) -> bool {
    !c.is_control() && (c == ' ' || !c.is_whitespace())
}

/// Returns why a real server does not take a name; nothing if it does.
pub(crate) fn refusals(name: &str) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    if name.len() > LONGEST {
        let message = format!("Too long: may not be more than {LONGEST} bytes");
        causes.push(StatusCause::new("FieldValueTooLong", message));
    }
    for (at, c) in name.char_indices().filter(|(_, c)| !is_printed(*c)) {
        let code = u32::from(c);
        let message =
            format!("Invalid value: {name:?}: invalid character U+{code:04X} (at position {at})");
        causes.push(StatusCause::new("FieldValueInvalid", message));
    }
    let causes = causes.into_iter();
    causes
        .map(|cause| cause.with_field("fieldManager"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_cut_at_a_character_and_agent_at_its_first_part() {
        let long = "é".repeat(100);
        assert_eq!(FieldManager::new(&long).as_str(), "é".repeat(64));
        let agent = FieldManager::of_user_agent("kubectl\u{7}/v1.36.0 (linux)");
        assert_eq!(agent.as_str(), "kubectl");
        assert_eq!(refusals("kubectl"), []);
        assert_eq!(refusals(&long)[0].reason, "FieldValueTooLong");
        assert_eq!(refusals("a\nb")[0].reason, "FieldValueInvalid");
    }
}
