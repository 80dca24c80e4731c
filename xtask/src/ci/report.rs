//! How each step of `ci` ended, and the table of them.

use std::fmt;
use std::time::Duration;

use super::steps::Skip;

/// How a step ended.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    Ok,
    Failed(String),
    Skipped(String),
}

impl Outcome {
    /// A step says by a [`Skip`] that a tool is missing; under `--strict` that is a failure.
    pub(super) fn of(result: anyhow::Result<()>, strict: bool) -> Self {
        match result {
            Ok(()) => Self::Ok,
            Err(error) => match error.downcast_ref::<Skip>() {
                Some(skip) if !strict => Self::Skipped(skip.to_string()),
                _ => Self::Failed(format!("{error:#}")),
            },
        }
    }

    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed(_) => "failed",
            Self::Skipped(_) => "skip",
        }
    }

    pub(super) fn reason(&self) -> Option<&str> {
        match self {
            Self::Ok => None,
            Self::Failed(reason) | Self::Skipped(reason) => Some(reason),
        }
    }
}

/// The ends of all steps, in order.
#[derive(Debug, Default)]
pub(super) struct Report {
    rows: Vec<(&'static str, Outcome, Duration)>,
}

impl Report {
    pub(super) fn add(&mut self, step: &'static str, outcome: Outcome, took: Duration) {
        self.rows.push((step, outcome, took));
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn failed(&self) -> usize {
        self.rows
            .iter()
            .filter(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_)))
            .count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<14} {:<7} {:>8}", "step", "result", "seconds")?;
        for (step, outcome, took) in &self.rows {
            write!(
                f,
                "{step:<14} {:<7} {:>8.1}",
                outcome.word(),
                took.as_secs_f64()
            )?;
            if let Some(reason) = outcome.reason().and_then(|reason| reason.lines().next()) {
                write!(f, "  {reason}")?;
            }
            writeln!(f)?;
        }
        let total: Duration = self.rows.iter().map(|(_, _, took)| *took).sum();
        let skipped = self
            .rows
            .iter()
            .filter(|row| matches!(row.1, Outcome::Skipped(_)))
            .count();
        let passed = self.len() - self.failed() - skipped;
        let failed = self.failed();
        write!(f, "ci: {passed} ok, {failed} failed, {skipped} skipped, ")?;
        write!(f, "{:.1} s", total.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_skips_and_fails_when_strict() {
        let skip = || Err(Skip::new("msrv", "rustup toolchain install 1.0").into());
        assert!(matches!(Outcome::of(skip(), false), Outcome::Skipped(_)));
        assert!(matches!(Outcome::of(skip(), true), Outcome::Failed(_)));
    }

    #[test]
    fn the_table_tells_every_step_and_the_totals() {
        let mut report = Report::default();
        report.add("fmt", Outcome::Ok, Duration::from_millis(1500));
        report.add(
            "test",
            Outcome::Failed("one\ntwo".into()),
            Duration::from_secs(2),
        );
        report.add(
            "msrv",
            Outcome::Skipped("no toolchain".into()),
            Duration::ZERO,
        );
        let table = report.to_string();
        assert!(table.contains("fmt            ok           1.5"), "{table}");
        assert!(table.contains("failed       2.0  one\n"), "{table}");
        assert!(
            table.ends_with("ci: 1 ok, 1 failed, 1 skipped, 3.5 s"),
            "{table}"
        );
    }
}
