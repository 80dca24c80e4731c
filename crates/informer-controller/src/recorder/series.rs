//! Which events are the same, and what is still to be written of them: plain data, with the time as an argument.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::error::is_subdomain;
use super::{EventType, ObjectReference};

/// After so long without a repetition the next is a new event, as with client-go.
const SERIES_ENDS: Duration = Duration::from_secs(360);

/// How many series are kept.
const MAX_SERIES: usize = 4096;

/// What servers accept.
const MAX_WORD: usize = 128;
const MAX_NOTE: usize = 1024;

/// What of an object's name is in that of its events.
const MAX_NAME: usize = 200;

/// What makes two events the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) regarding: ObjectReference,
    pub(super) related: Option<ObjectReference>,
    pub(super) event_type: EventType,
    pub(super) reason: String,
    pub(super) action: String,
}

impl Key {
    pub(super) fn new(
        regarding: &ObjectReference,
        related: Option<&ObjectReference>,
        event_type: EventType,
        reason: &str,
        action: &str,
    ) -> Self {
        Self {
            regarding: regarding.clone(),
            related: related.cloned(),
            event_type,
            reason: cut(reason, MAX_WORD),
            action: cut(action, MAX_WORD),
        }
    }

    /// A name for a new event: that of its object as far as names of events allow, and a random number.
    fn event_name(&self) -> String {
        let lower = cut(&self.regarding.name, MAX_NAME).to_ascii_lowercase();
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
        let text = lower.replace(|letter| !allowed(letter), "-");
        let labels = text.split('.').map(|label| label.trim_matches('-'));
        let labels: Vec<_> = labels.filter(|label| !label.is_empty()).collect();
        let name = format!("{}.{:016x}", labels.join("."), fastrand::u64(..));
        debug_assert!(labels.is_empty() || is_subdomain(&name));
        name.trim_start_matches('.').to_owned()
    }
}

/// An event to be written.
#[derive(Debug, Clone)]
pub(super) struct Notice {
    pub(super) key: Key,
    pub(super) note: String,
    pub(super) at: Timestamp,
}

impl Notice {
    pub(super) fn new(key: Key, note: &str, at: Timestamp) -> Self {
        Self {
            key,
            note: cut(note, MAX_NOTE),
            at,
        }
    }
}

/// An event and its repetitions.
#[derive(Debug, Clone)]
struct Series {
    /// The event's name.
    name: String,
    count: u32,
    /// How many of them the server has.
    written: u32,
    last: Timestamp,
    seen: Instant,
    is_writing: bool,
}

impl Series {
    const fn is_changed(&self) -> bool {
        self.count > self.written
    }

    fn has_ended(&self, now: Instant) -> bool {
        now >= self.seen + SERIES_ENDS && !self.is_writing
    }
}

/// What follows from a notice.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Create an event of this name.
    Create(String),
    /// Nothing: it repeats one.
    Counted,
    /// Nothing: there are too many series that are not written.
    Full,
}

/// A number of repetitions to be written.
#[derive(Debug, Clone)]
pub(super) struct Repetitions {
    pub(super) key: Key,
    /// The event's name.
    pub(super) name: String,
    pub(super) count: u32,
    pub(super) last: Timestamp,
}

/// How a write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The server has this many.
    Written(u32),
    /// The event does not exist any more: the next repetition is a new one.
    Gone,
    /// The event was refused. It is not tried again.
    Refused,
    /// No server could be asked. Repetitions are tried again.
    Unanswered,
}

/// All series that have not ended.
#[derive(Debug, Default)]
pub(super) struct AllSeries(HashMap<Key, Series>);

impl AllSeries {
    /// Counts an event.
    pub(super) fn note(&mut self, notice: &Notice, now: Instant) -> Step {
        if let Some(series) = self.0.get_mut(&notice.key)
            && !series.has_ended(now)
        {
            series.count = series.count.saturating_add(1);
            series.last = notice.at;
            series.seen = now;
            return Step::Counted;
        }
        if self.0.len() >= MAX_SERIES {
            // May split a series in two.
            self.0
                .retain(|_, series| series.is_changed() || series.is_writing);
            if self.0.len() >= MAX_SERIES {
                return Step::Full;
            }
        }
        let name = notice.key.event_name();
        let series = Series {
            name: name.clone(),
            count: 1,
            written: 0,
            last: notice.at,
            seen: now,
            is_writing: true,
        };
        self.0.insert(notice.key.clone(), series);
        Step::Create(name)
    }

    /// Returns the repetitions to be written now, and drops series that have ended.
    pub(super) fn begin_writes(&mut self, now: Instant) -> Vec<Repetitions> {
        let keys: Vec<_> = self.0.keys().cloned().collect();
        let writes = keys
            .iter()
            .filter_map(|key| self.begin_write(key))
            .collect();
        self.0.retain(|_, series| !series.has_ended(now));
        writes
    }

    /// Returns the repetitions of a key to be written now.
    pub(super) fn begin_write(&mut self, key: &Key) -> Option<Repetitions> {
        let series = self.0.get_mut(key)?;
        if series.is_writing || !series.is_changed() {
            return None;
        }
        series.is_writing = true;
        Some(Repetitions {
            key: key.clone(),
            name: series.name.clone(),
            count: series.count,
            last: series.last,
        })
    }

    /// A write has ended. Returns how many events are lost by that.
    pub(super) fn end_write(&mut self, key: &Key, ended: Ended) -> u32 {
        let Some(series) = self.0.get_mut(key) else {
            return 0;
        };
        series.is_writing = false;
        match ended {
            Ended::Written(count) => {
                series.written = count;
                0
            }
            Ended::Unanswered if series.written > 0 => 0,
            Ended::Gone | Ended::Refused | Ended::Unanswered => {
                let lost = series.count - series.written;
                self.0.remove(key);
                lost
            }
        }
    }

    /// The keys of which something is unwritten, and how many writes that takes.
    pub(super) fn unwritten(&self) -> HashMap<Key, u8> {
        let writes = |series: &Series| u8::from(series.is_writing) + u8::from(series.is_changed());
        let writes = |(key, series): (&Key, &Series)| (key.clone(), writes(series));
        let unwritten = self.0.iter().map(writes);
        unwritten.filter(|(_, writes)| *writes > 0).collect()
    }
}

/// At most so many bytes, whole characters.
fn cut(text: &str, max: usize) -> String {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, reason: &str) -> Key {
        let regarding = ObjectReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            namespace: None,
            name: name.to_owned(),
            uid: None,
        };
        Key::new(&regarding, None, EventType::Normal, reason, "Act")
    }

    fn notice(reason: &str) -> Notice {
        Notice::new(key("a", reason), "words", Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn repetitions_are_counted_and_written_once() {
        let (mut all, now) = (AllSeries::default(), Instant::now());
        let a = notice("A");
        let Step::Create(name) = all.note(&a, now) else {
            panic!("it is the first");
        };
        // While it is created.
        assert_eq!(all.note(&a, now), Step::Counted);
        assert!(all.begin_writes(now).is_empty());
        assert_eq!(all.end_write(&a.key, Ended::Written(1)), 0);
        assert_eq!(all.note(&a, now), Step::Counted);
        let writes = all.begin_writes(now);
        assert_eq!(
            (writes.len(), writes[0].count, &writes[0].name),
            (1, 3, &name)
        );
        // What comes meanwhile is not lost, and neither is a write without an answer.
        assert_eq!(all.note(&a, now), Step::Counted);
        assert_eq!(all.end_write(&a.key, Ended::Unanswered), 0);
        assert_eq!(all.begin_writes(now)[0].count, 4);
        assert_eq!(all.end_write(&a.key, Ended::Written(4)), 0);
        assert!(all.begin_writes(now).is_empty() && all.unwritten().is_empty());
    }

    #[test]
    fn events_that_are_refused_or_gone_are_new_ones_later() {
        let (mut all, now) = (AllSeries::default(), Instant::now());
        let a = notice("A");
        for ended in [Ended::Refused, Ended::Unanswered] {
            assert!(matches!(all.note(&a, now), Step::Create(_)));
            assert_eq!(all.note(&a, now), Step::Counted);
            assert_eq!(all.end_write(&a.key, ended), 2, "{ended:?}");
        }
        assert!(matches!(all.note(&a, now), Step::Create(_)));
        assert_eq!(all.end_write(&a.key, Ended::Written(1)), 0);
        assert_eq!(all.note(&a, now), Step::Counted);
        assert_eq!(all.begin_writes(now).len(), 1);
        assert_eq!(all.end_write(&a.key, Ended::Gone), 1);
        assert!(matches!(all.note(&a, now), Step::Create(_)));
    }

    #[test]
    fn series_ends_after_six_minutes_and_memory_is_bounded() {
        let (mut all, now) = (AllSeries::default(), Instant::now());
        let a = notice("A");
        all.note(&a, now);
        all.end_write(&a.key, Ended::Written(1));
        assert!(matches!(all.note(&a, now + SERIES_ENDS), Step::Create(_)));
        for reason in 0..2 * MAX_SERIES {
            let notice = notice(&reason.to_string());
            assert!(matches!(all.note(&notice, now), Step::Create(_)));
            all.end_write(&notice.key, Ended::Written(1));
        }
        assert!(all.0.len() <= MAX_SERIES);
        // None of those that are being written is dropped for another.
        let written = (0..MAX_SERIES)
            .filter(|reason| all.note(&notice(&format!("x{reason}")), now) != Step::Full);
        assert!(written.count() < MAX_SERIES);
        assert!(all.0.len() <= MAX_SERIES);
    }

    #[test]
    fn events_have_valid_names_whatever_their_objects_are_called() {
        let long = [
            "a".repeat(62),
            "b".repeat(62),
            "c".repeat(62),
            "d".repeat(62),
        ]
        .join(".");
        let names = [
            "plain",
            "system:kubelet-api-admin",
            "fd00:10::103",
            "UpperCase",
            ":",
            "",
            "a.-.b",
            "-",
            "ä.ö",
            &long,
        ];
        for name in names {
            let event = key(name, "A").event_name();
            assert!(is_subdomain(&event), "{name:?}: {event:?}");
        }
        assert!(key("system:a", "A").event_name().starts_with("system-a."));
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(cut("äää", 3), "ä");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(notice(&"x".repeat(1000)).key.reason.len(), MAX_WORD);
    }
}
