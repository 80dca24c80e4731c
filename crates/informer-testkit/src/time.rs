//! Times as Kubernetes writes them.

use jiff::Timestamp;

/// Returns a time such as `2026-11-29T15:33:37Z`: RFC 3339 in whole seconds.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Returns a time such as `2026-11-29T15:33:37.987000Z`: RFC 3339 in microseconds.
pub(crate) fn rfc3339_micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_written_in_whole_seconds() {
        let time: Timestamp = "2026-11-29T15:33:37.987Z".parse().unwrap();
        assert_eq!(rfc3339(time), "2026-11-29T15:33:37Z");
        assert_eq!(rfc3339_micros(time), "2026-11-29T15:33:37.987000Z");
    }
}
