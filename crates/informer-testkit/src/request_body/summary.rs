//! The start of a body in an error's message.

use std::fmt::Write as _;

/// The number of bytes that are shown.
const SHOWN: usize = 30;

/// Shows how a body starts: text if it could be JSON's, otherwise the bytes in hexadecimal.
pub(super) fn summary(body: &[u8]) -> String {
    let Some(first) = body.first() else {
        return "<empty>".to_owned();
    };
    let shown = &body[..body.len().min(SHOWN)];
    let mut text = if *first == b'{' {
        String::from_utf8_lossy(shown).into_owned()
    } else {
        shown.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    if body.len() > SHOWN {
        text.push_str(" ...");
    }
    text
}
