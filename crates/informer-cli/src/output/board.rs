//! What the live table shows, as plain data: counts, rates and the latest changes.

use std::collections::VecDeque;
use std::time::Instant;

use comfy_table::{Table, presets};

use super::json::Line;
use crate::failure::printable;

/// How many of the latest changes are shown.
const SHOWN: usize = 12;
/// Over how many seconds the rate is taken.
const RATE_SECONDS: f64 = 5.0;

/// Counts, rate and the latest changes of one informer.
#[derive(Debug)]
pub(crate) struct Board {
    title: String,
    started: Instant,
    synced: bool,
    objects: usize,
    added: u64,
    updated: u64,
    deleted: u64,
    errors: u64,
    last_error: Option<String>,
    latest: VecDeque<Row>,
    recent: VecDeque<(f64, u64)>,
}

/// One of the latest changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) event: &'static str,
    pub(crate) key: String,
    pub(crate) resource_version: String,
    pub(crate) note: &'static str,
}

impl Board {
    pub(crate) fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            started: Instant::now(),
            synced: false,
            objects: 0,
            added: 0,
            updated: 0,
            deleted: 0,
            errors: 0,
            last_error: None,
            latest: VecDeque::with_capacity(SHOWN),
            recent: VecDeque::new(),
        }
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) const fn is_synced(&self) -> bool {
        self.synced
    }

    /// Takes one line in.
    pub(crate) fn take(&mut self, line: &Line<'_>) {
        match line {
            Line::Added {
                key,
                resource_version,
                initial,
                ..
            } => {
                self.added += 1;
                self.objects += 1;
                let note = if *initial { "initial" } else { "" };
                self.change("added", key, resource_version, note);
            }
            Line::Updated {
                key,
                resource_version,
                cause,
                ..
            } => {
                self.updated += 1;
                self.change("updated", key, resource_version, cause);
            }
            Line::Deleted {
                key,
                resource_version,
                final_state_unknown,
                ..
            } => {
                self.deleted += 1;
                self.objects = self.objects.saturating_sub(1);
                let note = if *final_state_unknown {
                    "final state unknown"
                } else {
                    ""
                };
                self.change("deleted", key, resource_version, note);
            }
            Line::Synced { .. } => self.synced = true,
            Line::Error { message } => {
                self.errors += 1;
                self.last_error = Some(printable(message));
            }
            Line::Final { .. } => {}
        }
    }

    fn change(&mut self, event: &'static str, key: &str, version: &str, note: &'static str) {
        let (key, resource_version) = (printable(key), printable(version));
        self.push(Row {
            event,
            key,
            resource_version,
            note,
        });
        let now = self.started.elapsed().as_secs_f64();
        match self.recent.back_mut() {
            Some((at, count)) if now - *at < 0.1 => *count += 1,
            _ => self.recent.push_back((now, 1)),
        }
        while self
            .recent
            .front()
            .is_some_and(|(at, _)| now - at > RATE_SECONDS)
        {
            self.recent.pop_front();
        }
    }

    fn push(&mut self, row: Row) {
        if self.latest.len() == SHOWN {
            self.latest.pop_back();
        }
        self.latest.push_front(row);
    }

    /// Changes a second over the last few seconds.
    fn rate(&self) -> f64 {
        let now = self.started.elapsed().as_secs_f64();
        let span = now.clamp(0.1, RATE_SECONDS);
        let changes = self
            .recent
            .iter()
            .filter(|(at, _)| now - at <= RATE_SECONDS);
        // Summed as whole numbers: the sum of no floats is -0.
        changes.map(|(_, count)| count).sum::<u64>() as f64 / span
    }

    /// The table as text, under a line of counts and the caller's own lines.
    pub(crate) fn render(&self, extra: &[String]) -> String {
        let mut text = format!(
            "{}: {} objects, {} added, {} updated, {} deleted, {} errors, {:.0} changes/s\n",
            self.title,
            self.objects,
            self.added,
            self.updated,
            self.deleted,
            self.errors,
            self.rate(),
        );
        for line in extra
            .iter()
            .chain(&self.last_error.as_ref().map(|e| format!("last error: {e}")))
        {
            text.push_str(line);
            text.push('\n');
        }
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_header(["EVENT", "KEY", "VERSION", "NOTE"]);
        for row in &self.latest {
            table.add_row([row.event, &row.key, &row.resource_version, row.note]);
        }
        text.push_str(&table.to_string());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(key: &str) -> Line<'_> {
        Line::Added {
            key,
            resource_version: "1".into(),
            uid: String::new(),
            initial: true,
        }
    }

    #[test]
    fn empty_board_shows_zeroes() {
        let mut board = Board::new("pods");
        board.take(&Line::Error { message: "refused" });
        let text = board.render(&[]);
        let counts = "pods: 0 objects, 0 added, 0 updated, 0 deleted, 1 errors, 0 changes/s\nlast error: refused\n";
        assert!(text.starts_with(counts), "{text}");
    }

    #[test]
    fn board_counts_objects_and_keeps_latest_changes() {
        let mut board = Board::new("pods");
        for at in 0..20 {
            board.take(&added(&format!("ns/{at}")));
        }
        board.take(&Line::Deleted {
            key: "ns/3",
            resource_version: "9".into(),
            uid: String::new(),
            final_state_unknown: true,
        });
        let text = board.render(&[]);
        assert!(
            text.starts_with("pods: 19 objects, 20 added, 0 updated, 1 deleted"),
            "{text}"
        );
        assert!(text.contains("final state unknown"), "{text}");
        assert!(!text.contains("ns/5 "), "only the latest are shown: {text}");
        assert_eq!(board.latest.len(), SHOWN);
    }
}
