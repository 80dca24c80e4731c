//! What is asked for on the command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};

/// The fewest sequences of a run that is bounded by time.
const FEWEST: u64 = 100;

/// What is asked for: how many sequences, from which seed on.
#[derive(Debug, PartialEq)]
pub(crate) struct Wish {
    pub(crate) first: u64,
    seeds: u64,
    /// Instead of a number: as many as fit, but at least [`FEWEST`].
    time: Option<Duration>,
    /// Where to write the shrunk sequences with the real server's answers.
    pub(crate) record: Option<PathBuf>,
    /// Whether controllers run on both sides, and what is compared is what is left when they rest.
    pub(crate) actors: bool,
    /// A folder of transcripts to which the real server is to answer anew, instead of a run.
    pub(crate) renew: Option<PathBuf>,
}

impl Wish {
    pub(crate) fn read(arguments: &[String]) -> anyhow::Result<Self> {
        let mut wish = Self {
            first: 0,
            seeds: FEWEST,
            time: None,
            record: None,
            renew: None,
            actors: false,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument == "--actors" {
                wish.actors = true;
                continue;
            }
            let value = rest
                .next()
                .with_context(|| format!("{argument} needs a value"))?;
            let number = || {
                value
                    .parse::<u64>()
                    .with_context(|| format!("{argument} needs a number"))
            };
            match argument.as_str() {
                "--seeds" => wish.seeds = number()?,
                "--first" | "--seed" => wish.first = number()?,
                "--minutes" => wish.time = Some(Duration::from_secs(number()?.saturating_mul(60))),
                "--record" => wish.record = Some(value.into()),
                "--renew" => wish.renew = Some(value.into()),
                _ => bail!(
                    "parity takes --seeds N, --first SEED, --minutes N, --record FOLDER, --renew FOLDER, --actors; not {argument}"
                ),
            }
        }
        Ok(wish)
    }

    /// Whether there is to be another sequence after so many.
    pub(crate) fn goes_on(&self, played: u64, elapsed: Duration) -> bool {
        match self.time {
            Some(time) => played < FEWEST || elapsed < time,
            None => played < self.seeds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(line: &str) -> anyhow::Result<Wish> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Wish::read(&words)
    }

    #[test]
    fn a_run_is_bounded_by_number_or_by_time_but_never_tiny() {
        let minute = Duration::from_secs(60);
        let by_number = wish("--seeds 3 --first 7").expect("valid");
        assert_eq!(by_number.first, 7);
        assert!(by_number.goes_on(2, minute * 100) && !by_number.goes_on(3, Duration::ZERO));
        let by_time = wish("--minutes 5").expect("valid");
        assert!(by_time.goes_on(FEWEST - 1, minute * 9));
        assert!(by_time.goes_on(FEWEST, minute) && !by_time.goes_on(FEWEST, minute * 5));
        assert!(wish("--seeds").is_err() && wish("--nonsense 1").is_err());
    }
}
