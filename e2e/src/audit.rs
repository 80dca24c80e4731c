//! The server's audit log: who asked for what, when it was received, how it was answered.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// A line of the log. A request has one when it is received, and one when it is answered.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The user's name.
    pub(crate) user: String,
    pub(crate) verb: String,
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// When the server received the request, in both lines.
    pub(crate) received: Timestamp,
    /// How it was answered, in the second line.
    pub(crate) answer: Option<Answer>,
}

/// How a request was answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    /// The lease as it was written, if this is about one.
    pub(crate) lease: Option<Written>,
}

/// A lease as the server has stored it.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    /// Counts all writes of the server.
    pub(crate) version: u64,
    /// Empty if it was released.
    pub(crate) holder: String,
    pub(crate) renewed: Timestamp,
    pub(crate) duration: Duration,
}

impl Entry {
    /// Whether the request was answered, and did what it asked for.
    pub(crate) fn is_done(&self) -> bool {
        let code = self.answer.as_ref().map(|answer| answer.code);
        code.is_some_and(|code| (200..300).contains(&code))
    }
}

/// Reads the log as it grows.
#[derive(Debug)]
pub(crate) struct AuditLog {
    path: PathBuf,
    read: u64,
    entries: Vec<Entry>,
}

impl AuditLog {
    /// Of the log at this place.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            read: 0,
            entries: Vec::new(),
        }
    }

    /// All entries by now, in the order of the log.
    pub(crate) fn entries(&mut self) -> anyhow::Result<&[Entry]> {
        let context = || self.path.display().to_string();
        let mut file = File::open(&self.path).with_context(context)?;
        file.seek(SeekFrom::Start(self.read))
            .with_context(context)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).with_context(context)?;
        // The last line may be on its way.
        let whole = text.iter().rposition(|byte| *byte == b'\n');
        let whole = whole.map_or(0, |last| last + 1);
        for line in text[..whole].split(|byte| *byte == b'\n') {
            if !line.is_empty() {
                self.entries.extend(entry(line)?);
            }
        }
        self.read += whole as u64;
        Ok(&self.entries)
    }
}

/// Reads a line. Requests that are about no resource are left out.
pub(crate) fn entry(line: &[u8]) -> anyhow::Result<Option<Entry>> {
    let context = || format!("in the audit log: {}", String::from_utf8_lossy(line));
    let line: Line = serde_json::from_slice(line).with_context(context)?;
    let Some(about) = line.object_ref else {
        return Ok(None);
    };
    let answer = line.response_status.map(|status| Answer {
        code: status.code,
        lease: (about.resource == "leases")
            .then(|| written(&line.response_object))
            .flatten(),
    });
    Ok(Some(Entry {
        user: line.user.username,
        verb: line.verb,
        resource: about.resource,
        namespace: about.namespace,
        name: about.name,
        received: line.request_received_timestamp,
        answer,
    }))
}

fn written(lease: &Value) -> Option<Written> {
    let spec = &lease["spec"];
    Some(Written {
        version: lease["metadata"]["resourceVersion"]
            .as_str()?
            .parse()
            .ok()?,
        holder: spec["holderIdentity"].as_str().unwrap_or_default().into(),
        renewed: spec["renewTime"].as_str()?.parse().ok()?,
        duration: Duration::from_secs(spec["leaseDurationSeconds"].as_u64()?),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    verb: String,
    user: User,
    #[serde(with = "time")]
    request_received_timestamp: Timestamp,
    object_ref: Option<About>,
    response_status: Option<Status>,
    #[serde(default)]
    response_object: Value,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct About {
    resource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
struct Status {
    code: u16,
}

/// Moments as texts.
mod time {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<jiff::Timestamp, D::Error> {
        String::deserialize(from)?.parse().map_err(Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const RECEIVED: &str = r#"{"stage":"RequestReceived","verb":"update","user":{"username":"one"},
        "objectRef":{"resource":"leases","namespace":"default","name":"x"},
        "requestReceivedTimestamp":"2026-12-01T03:45:41.813133Z","stageTimestamp":"2026-12-01T03:45:41.813133Z"}"#;
    const ANSWERED: &str = r#"{"stage":"ResponseComplete","verb":"update","user":{"username":"one"},
        "objectRef":{"resource":"leases","namespace":"default","name":"x"},"responseStatus":{"metadata":{},"code":200},
        "responseObject":{"metadata":{"resourceVersion":"205"},
            "spec":{"holderIdentity":"me","leaseDurationSeconds":4,"renewTime":"2026-12-01T03:45:41.800000Z"}},
        "requestReceivedTimestamp":"2026-12-01T03:45:41.813133Z","stageTimestamp":"2026-12-01T03:45:41.815375Z"}"#;

    fn line(text: &str) -> String {
        text.replace('\n', "") + "\n"
    }

    #[test]
    fn log_is_read_on_by_whole_lines() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let mut log = AuditLog::new(file.path().to_owned());
        assert!(log.entries().expect("readable").is_empty());
        let (received, answered) = (line(RECEIVED), line(ANSWERED));
        let half = answered.len() / 2;
        write!(file, "{received}{}", &answered[..half]).expect("writable");
        assert_eq!(log.entries().expect("readable").len(), 1);
        write!(file, "{}", &answered[half..]).expect("writable");
        let entries = log.entries().expect("readable");
        let [received, answered] = entries else {
            panic!("{entries:?}");
        };
        assert_eq!((&*received.user, &*received.name), ("one", "x"));
        assert_eq!(received.received, answered.received);
        assert!(!received.is_done() && answered.is_done());
        let lease = answered.answer.as_ref().and_then(|it| it.lease.as_ref());
        let lease = lease.expect("it is about one");
        assert_eq!((lease.version, &*lease.holder), (205, "me"));
        assert_eq!(lease.duration, Duration::from_secs(4));
    }

    #[test]
    fn line_about_no_resource_is_left_out() {
        let line = line(RECEIVED).replace("objectRef", "other");
        assert!(entry(line.trim().as_bytes()).expect("fine").is_none());
    }
}
