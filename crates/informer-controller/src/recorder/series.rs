//! Which events are the same: plain data, with the time as an argument.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::{EventType, ObjectReference};

/// After so long without a repetition the next is a new event, as with client-go.
const SERIES_ENDS: Duration = Duration::from_secs(360);

/// How many series are kept. Beyond it those without unwritten repetitions are dropped, which may split a series in two.
const MAX_SERIES: usize = 4096;

/// What servers accept.
const MAX_WORD: usize = 128;
const MAX_NOTE: usize = 1024;

/// What makes two events the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) regarding: ObjectReference,
    pub(super) event_type: EventType,
    pub(super) reason: String,
    pub(super) action: String,
}

impl Key {
    pub(super) fn new(
        regarding: &ObjectReference,
        event_type: EventType,
        reason: &str,
        action: &str,
    ) -> Self {
        Self {
            regarding: regarding.clone(),
            event_type,
            reason: cut(reason, MAX_WORD),
            action: cut(action, MAX_WORD),
        }
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
    pub(super) fn new(key: Key, note: &str) -> Self {
        Self {
            key,
            note: cut(note, MAX_NOTE),
            at: Timestamp::now(),
        }
    }
}

/// An event that was written, and its repetitions.
#[derive(Debug, Clone)]
pub(super) struct Series {
    /// The event's name.
    pub(super) name: String,
    pub(super) count: u32,
    pub(super) last: Timestamp,
    seen: Instant,
    is_changed: bool,
}

/// All series that have not ended.
#[derive(Debug, Default)]
pub(super) struct AllSeries(HashMap<Key, Series>);

impl AllSeries {
    /// Counts a repetition. Returns `false` if it repeats nothing: then it is a new event.
    pub(super) fn repeat(&mut self, notice: &Notice, now: Instant) -> bool {
        let Some(series) = self.0.get_mut(&notice.key) else {
            return false;
        };
        if now >= series.seen + SERIES_ENDS {
            return false;
        }
        series.count = series.count.saturating_add(1);
        series.last = notice.at;
        series.seen = now;
        series.is_changed = true;
        true
    }

    /// Starts the series of an event that was written under this name.
    pub(super) fn begin(&mut self, notice: &Notice, name: String, now: Instant) {
        if self.0.len() >= MAX_SERIES {
            self.0.retain(|_, series| series.is_changed);
        }
        let series = Series {
            name,
            count: 1,
            last: notice.at,
            seen: now,
            is_changed: false,
        };
        self.0.insert(notice.key.clone(), series);
    }

    /// Returns the series with unwritten repetitions, and drops those that have ended.
    pub(super) fn take_changed(&mut self, now: Instant) -> Vec<(Key, Series)> {
        let mut changed = Vec::new();
        for (key, series) in &mut self.0 {
            if std::mem::take(&mut series.is_changed) {
                changed.push((key.clone(), series.clone()));
            }
        }
        self.0.retain(|_, series| now < series.seen + SERIES_ENDS);
        changed
    }

    /// Drops a series whose event is deleted: the next repetition is a new event.
    pub(super) fn forget(&mut self, key: &Key) {
        self.0.remove(key);
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

    fn notice(reason: &str) -> Notice {
        let regarding = ObjectReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            namespace: None,
            name: "a".to_owned(),
            uid: None,
        };
        Notice::new(
            Key::new(&regarding, EventType::Normal, reason, "Act"),
            "words",
        )
    }

    #[test]
    fn repetitions_are_counted_and_returned_once() {
        let (mut all, now) = (AllSeries::default(), Instant::now());
        assert!(!all.repeat(&notice("A"), now));
        all.begin(&notice("A"), "a.1".to_owned(), now);
        assert!(all.take_changed(now).is_empty());
        assert!(all.repeat(&notice("A"), now) && all.repeat(&notice("A"), now));
        assert!(!all.repeat(&notice("B"), now));
        let changed = all.take_changed(now);
        assert_eq!(changed.len(), 1);
        assert_eq!((changed[0].1.count, changed[0].1.name.as_str()), (3, "a.1"));
        assert!(all.take_changed(now).is_empty());
        all.forget(&notice("A").key);
        assert!(!all.repeat(&notice("A"), now));
    }

    #[test]
    fn series_ends_after_six_minutes_and_memory_is_bounded() {
        let (mut all, now) = (AllSeries::default(), Instant::now());
        all.begin(&notice("A"), "a.1".to_owned(), now);
        assert!(!all.repeat(&notice("A"), now + SERIES_ENDS));
        for reason in 0..3 * MAX_SERIES {
            all.begin(&notice(&reason.to_string()), String::new(), now);
        }
        assert!(all.0.len() <= MAX_SERIES);
        all.take_changed(now + SERIES_ENDS);
        assert!(all.0.is_empty());
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(cut("äää", 3), "ä");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(notice(&"x".repeat(1000)).key.reason.len(), MAX_WORD);
    }
}
