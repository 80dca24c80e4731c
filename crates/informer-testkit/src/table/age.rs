//! Spans of time as `kubectl` abbreviates them.

use jiff::Timestamp;
use serde_json::Value;

const UNKNOWN: &str = "<unknown>";

/// Returns the age of an object.
pub(crate) fn since_creation(object: &Value, now: Timestamp) -> Value {
    since(&object["metadata"]["creationTimestamp"], now)
}

/// Returns the span since a time.
pub(super) fn since(time: &Value, now: Timestamp) -> Value {
    match parse(time) {
        Some(time) => human(now.as_second().saturating_sub(time)).into(),
        None => UNKNOWN.into(),
    }
}

/// Returns the span between two times; until now without the second, nothing without the first.
pub(super) fn between(start: &Value, end: &Value, now: Timestamp) -> Value {
    let Some(start) = parse(start) else {
        return "".into();
    };
    let end = parse(end).unwrap_or_else(|| now.as_second());
    human(end.saturating_sub(start)).into()
}

fn parse(time: &Value) -> Option<i64> {
    let time: Timestamp = time.as_str()?.parse().ok()?;
    Some(time.as_second())
}

/// Returns seconds in the one or two largest units that say enough.
fn human(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let two = |large: i64, unit: &str, small: i64, part: &str| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{part}"),
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_is_abbreviated_as_kubectl_does() {
        for (seconds, text) in [
            (-5, "0s"),
            (119, "119s"),
            (120, "2m"),
            (599, "9m59s"),
            (600, "10m"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (176_400, "2d1h"),
            (691_200, "8d"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(human(seconds), text);
        }
    }
}
