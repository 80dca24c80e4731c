//! Times in protobuf, and as JSON writes them.

use super::fault::Fault;
use super::reader::{Payload, Reader};

/// A point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Time {
    seconds: i64,
    /// Microseconds, where they are shown.
    micros: Option<u32>,
}

/// The first second of the year 1, which is Go's zero time, and of the year 10000.
const YEAR_1: i64 = -62_135_596_800;
const YEAR_10000: i64 = 253_402_300_800;
const DAY: i64 = 86_400;

impl Time {
    /// Reads a message of seconds and nanoseconds; `None` if it is the zero time.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Self>, Fault> {
        let Some((seconds, nanos)) = parts(bytes)? else {
            return Ok(None);
        };
        let micros = u32::try_from(nanos / 1000).ok().filter(|&n| n < 1_000_000);
        let micros = micros.ok_or(Fault::Value)?;
        if !(YEAR_1..YEAR_10000).contains(&seconds) {
            return Err(Fault::Value);
        }
        let time = Self {
            seconds,
            micros: Some(micros),
        };
        Ok(Some(time).filter(|_| seconds != YEAR_1 || nanos != 0))
    }

    /// Without the fraction.
    pub(super) const fn seconds(self) -> Self {
        Self {
            micros: None,
            ..self
        }
    }

    /// Writes the time as `2026-11-29T15:33:37Z`.
    pub(super) fn write(self, out: &mut [u8; 27]) -> &str {
        let (year, month, day) = date(self.seconds.div_euclid(DAY));
        let second = self.seconds.rem_euclid(DAY) as u32;
        let digits = |out: &mut [u8], mut number: u32| {
            for digit in out.iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        };
        out.copy_from_slice(b"0000-00-00T00:00:00.000000Z");
        digits(&mut out[..4], year);
        digits(&mut out[5..7], month);
        digits(&mut out[8..10], day);
        digits(&mut out[11..13], second / 3600);
        digits(&mut out[14..16], second / 60 % 60);
        digits(&mut out[17..19], second % 60);
        let end = match self.micros {
            Some(micros) => {
                digits(&mut out[20..26], micros);
                27
            }
            None => {
                out[19] = b'Z';
                20
            }
        };
        // They are all digits and signs.
        std::str::from_utf8(&out[..end]).unwrap_or_default()
    }
}

/// Seconds and nanoseconds; `None` of an empty message.
pub(crate) fn parts(bytes: &[u8]) -> Result<Option<(i64, i32)>, Fault> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut reader = Reader(bytes);
    while let Some((no, payload)) = reader.field()? {
        match (no, payload) {
            (1, Payload::Varint(value)) => seconds = value as i64,
            (2, Payload::Varint(value)) => nanos = value as i32,
            (1 | 2, _) => return Err(Fault::Encoding),
            _ => {}
        }
    }
    Ok(Some((seconds, nanos)))
}

/// Year, month and day of a day since 1970, of the Gregorian calendar. Years are counted from March, so that the day
/// that not every year has is the last one.
fn date(days: i64) -> (u32, u32, u32) {
    const ERA: i64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (
        (year + 400 * era + next_year) as u32,
        month as u32,
        day as u32,
    )
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn text(seconds: i64, micros: Option<u32>) -> String {
        Time { seconds, micros }.write(&mut [0; 27]).to_owned()
    }

    #[test]
    fn time_is_written_as_in_json() {
        assert_eq!(text(0, None), "1970-01-01T00:00:00Z");
        assert_eq!(text(1_795_966_417, None), "2026-11-29T15:33:37Z");
        assert_eq!(text(1_795_966_417, Some(7)), "2026-11-29T15:33:37.000007Z");
        let mut seconds = YEAR_1;
        while seconds < YEAR_10000 {
            let expected = Timestamp::from_second(seconds).expect("the time is in range");
            assert_eq!(text(seconds, None), expected.to_string());
            seconds += 12_345_677;
        }
        assert_eq!(text(YEAR_10000 - 1, None), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn invalid_time_is_refused() {
        assert_eq!(Time::read(b""), Ok(None));
        let far = [&[0x08][..], &[0xff; 8], &[0x7f]].concat();
        assert_eq!(Time::read(&far), Err(Fault::Value));
        assert_eq!(Time::read(&[0x0a, 0]), Err(Fault::Encoding));
    }
}
