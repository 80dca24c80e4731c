//! Output for programs: one JSON object a line, flushed line by line. The lines are a public interface.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

/// One line of output.
#[derive(Debug, Serialize)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub(crate) enum Line<'a> {
    Added {
        key: &'a str,
        resource_version: String,
        uid: String,
        initial: bool,
    },
    Updated {
        key: &'a str,
        resource_version: String,
        uid: String,
        cause: &'static str,
    },
    Deleted {
        key: &'a str,
        resource_version: String,
        uid: String,
        final_state_unknown: bool,
    },
    Synced {
        count: usize,
        resource_version: String,
        seconds: f64,
    },
    Error {
        message: &'a str,
    },
    Final {
        count: usize,
        resource_version: String,
        keys: BTreeMap<String, String>,
    },
}

/// Writes a line and flushes it.
///
/// # Errors
/// If standard output is closed.
pub(crate) fn write(line: &Line<'_>) -> io::Result<()> {
    self::line(line)
}

/// Writes any value as a line and flushes it.
///
/// # Errors
/// If standard output is closed.
pub(crate) fn line(line: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&text)?;
    stdout.flush()
}

/// Seconds with milliseconds, as the lines give them.
pub(crate) fn seconds(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &Line<'_>) -> String {
        serde_json::to_string(line).unwrap()
    }

    #[test]
    fn lines_have_the_documented_form() {
        assert_eq!(
            text(&Line::Added {
                key: "ns/name",
                resource_version: "12".into(),
                uid: "u".into(),
                initial: true
            }),
            r#"{"event":"added","key":"ns/name","resourceVersion":"12","uid":"u","initial":true}"#
        );
        assert_eq!(
            text(&Line::Deleted {
                key: "name",
                resource_version: "14".into(),
                uid: "u".into(),
                final_state_unknown: false
            }),
            r#"{"event":"deleted","key":"name","resourceVersion":"14","uid":"u","finalStateUnknown":false}"#
        );
        assert_eq!(
            text(&Line::Synced {
                count: 3,
                resource_version: "12".into(),
                seconds: 0.01
            }),
            r#"{"event":"synced","count":3,"resourceVersion":"12","seconds":0.01}"#
        );
        let keys = BTreeMap::from([("ns/name".to_owned(), "13".to_owned())]);
        assert_eq!(
            text(&Line::Final {
                count: 1,
                resource_version: "14".into(),
                keys
            }),
            r#"{"event":"final","count":1,"resourceVersion":"14","keys":{"ns/name":"13"}}"#
        );
    }
}
