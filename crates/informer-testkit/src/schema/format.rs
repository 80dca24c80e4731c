//! Formats of texts that a real server checks.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::civil::Date;
use regex::Regex;

/// The formats of texts, without dashes.
const TEXTS: [&str; 26] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8slongname",
    "k8sshortname",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// Whether a server checks this format of this type.
pub(crate) fn is_supported(types: &[String], format: &str) -> bool {
    match types {
        [one] if one == "integer" => matches!(format, "int32" | "int64"),
        [one] if one == "number" => matches!(format, "float" | "double"),
        [one] if one != "string" => false,
        _ => TEXTS.contains(&format.replace('-', "").as_str()),
    }
}

/// Whether a text has a format; `None` for a format without a check.
pub(crate) fn has_format(format: &str, text: &str) -> Option<bool> {
    let format = format.replace('-', "");
    let pattern = PATTERNS.iter().find(|(name, _)| *name == format);
    if let Some((_, pattern)) = pattern {
        return Some(pattern.is_match(text) && fits_length(&format, text));
    }
    Some(match format.as_str() {
        "password" => true,
        "byte" => !text.is_empty() && STANDARD.decode(text).is_ok(),
        "date" => text.parse::<Date>().is_ok() && text.len() == 10,
        "datetime" => is_datetime(text),
        "duration" => is_duration(text),
        "email" => is_email(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok() || text.parse::<MappedV4>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "uri" => is_request_uri(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "creditcard" => is_credit_card(text),
        _ => return None,
    })
}

/// Formats that are an expression.
static PATTERNS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let name = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
    let long_name = format!(r"^{name}(\.{name})*$");
    let short_name = format!("^{name}$");
    let hexadecimal = |third: &str, fourth: &str| {
        format!("(?i)^[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{fourth}-?[0-9a-f]{{12}}$")
    };
    let any = "[0-9a-f]{4}";
    let variant = "[89ab][0-9a-f]{3}";
    [
        ("bsonobjectid", "^(?i)[0-9a-f]{24}$".to_owned()),
        (
            "hostname",
            r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\p{S}\p{L}-]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.))+([a-zA-Z\p{L}]){2,63})$".to_owned(),
        ),
        ("uuid", hexadecimal(any, any)),
        ("uuid3", hexadecimal("3[0-9a-f]{3}", any)),
        ("uuid4", hexadecimal("4[0-9a-f]{3}", variant)),
        ("uuid5", hexadecimal("5[0-9a-f]{3}", variant)),
        ("hexcolor", "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$".to_owned()),
        ("ssn", r"^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$".to_owned()),
        (
            "rgbcolor",
            r"^rgb\(\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*,\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*,\s*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*\)$".to_owned(),
        ),
        (
            "mac",
            "^(?i)([0-9a-f]{2}(:[0-9a-f]{2}){5}|[0-9a-f]{2}(:[0-9a-f]{2}){7}|[0-9a-f]{2}(:[0-9a-f]{2}){19}|[0-9a-f]{2}(-[0-9a-f]{2}){5}|[0-9a-f]{2}(-[0-9a-f]{2}){7}|[0-9a-f]{4}(\\.[0-9a-f]{4}){2}|[0-9a-f]{4}(\\.[0-9a-f]{4}){3})$".to_owned(),
        ),
        ("k8sshortname", short_name),
        ("k8slongname", long_name),
    ]
    .into_iter()
    .filter_map(|(name, pattern)| Some((name, Regex::new(&pattern).ok()?)))
    .collect()
});

fn fits_length(format: &str, text: &str) -> bool {
    match format {
        "hostname" => text.len() <= 255 && text.split('.').all(|label| label.len() <= 63),
        "k8sshortname" => text.len() <= 63,
        "k8slongname" => text.len() <= 253,
        _ => true,
    }
}

/// An address of four numbers, which Go lets begin with zeros, or stand behind `::ffff:`.
struct MappedV4;

impl std::str::FromStr for MappedV4 {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if !text.contains('.') {
            return Err(());
        }
        if text.contains(':') {
            return text.parse::<Ipv6Addr>().map(|_| Self).map_err(|_| ());
        }
        let parts: Vec<&str> = text.split('.').collect();
        let number = |part: &&str| {
            let digits = part.trim_start_matches('0');
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_digit())
                && (digits.is_empty() || digits.parse::<u8>().is_ok())
        };
        let fits = parts.len() == 4 && parts.iter().all(number);
        fits.then_some(Self).ok_or(())
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let digits = !bits.is_empty() && bits.len() <= 3 && bits.bytes().all(|b| b.is_ascii_digit());
    let bits = bits.parse::<u8>().unwrap_or(u8::MAX);
    let v4 = !address.contains(':') && address.parse::<MappedV4>().is_ok();
    digits && ((v4 && bits <= 32) || (address.parse::<Ipv6Addr>().is_ok() && bits <= 128))
}

/// A time with a zone, or without, of any precision.
fn is_datetime(text: &str) -> bool {
    let has_time = text.contains(['T', 't']);
    has_time
        && (text.parse::<jiff::Timestamp>().is_ok()
            || text.parse::<jiff::civil::DateTime>().is_ok())
}

/// A duration as Go writes them, or a number and a word as Scala does.
fn is_duration(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let units = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
    if unsigned == "0" {
        return true;
    }
    let mut rest = unsigned;
    let go = loop {
        if rest.is_empty() {
            break !unsigned.is_empty();
        }
        let digits = rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
                .len();
        let (number, tail) = rest.split_at(digits);
        let length = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(length);
        let number_fits = number.parse::<f64>().is_ok() && number != ".";
        if !number_fits || !units.contains(&unit) {
            break false;
        }
        rest = tail;
    };
    let words = [
        "ns",
        "nano",
        "nanosecond",
        "us",
        "µs",
        "micro",
        "microsecond",
        "ms",
        "milli",
        "millisecond",
        "s",
        "sec",
        "second",
        "m",
        "min",
        "minute",
        "h",
        "hr",
        "hour",
        "d",
        "day",
        "w",
        "wk",
        "week",
    ];
    let scala = || {
        let at = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (number, word) = text.split_at(at);
        let word = word.trim().to_lowercase();
        let singular = word.strip_suffix('s').unwrap_or(&word);
        !number.is_empty() && (words.contains(&word.as_str()) || words.contains(&singular))
    };
    go || scala()
}

/// An address with or without a name before it.
fn is_email(text: &str) -> bool {
    let address = match (text.rfind('<'), text.trim_end().strip_suffix('>')) {
        (Some(at), Some(inner)) if at < inner.len() => &inner[at + 1..],
        _ => text.trim(),
    };
    let atom = |text: &str| {
        let fits = |char: char| {
            char.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(char) || !char.is_ascii()
        };
        !text.is_empty()
            && text
                .split('.')
                .all(|atom| !atom.is_empty() && atom.chars().all(fits))
    };
    address
        .rsplit_once('@')
        .is_some_and(|(local, domain)| atom(local) && atom(domain))
}

/// An absolute address or path, as in the first line of a request.
fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.chars().any(|char| char.is_control() || char == ' ') {
        return false;
    }
    if text.starts_with('/') || text == "*" {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let mut letters = scheme.chars();
    let named = letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char));
    named && !rest.is_empty()
}

fn digits(text: &str) -> Vec<u32> {
    let kept = text.chars().filter(|char| !matches!(char, ' ' | '-'));
    kept.map(|char| {
        char.to_digit(10)
            .unwrap_or(if matches!(char, 'X') { 10 } else { 99 })
    })
    .collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = digits(text);
    let weighted = digits
        .iter()
        .zip((1..=10).rev())
        .map(|(digit, weight)| digit * weight);
    digits.len() == 10
        && digits[..9].iter().all(|digit| *digit < 10)
        && digits[9] <= 10
        && weighted.sum::<u32>() % 11 == 0
}

fn is_isbn13(text: &str) -> bool {
    let digits = digits(text);
    let weighted = digits
        .iter()
        .zip([1, 3].into_iter().cycle())
        .map(|(digit, weight)| digit * weight);
    digits.len() == 13
        && digits.iter().all(|digit| *digit < 10)
        && digits[0] == 9
        && digits[1] == 7
        && digits[2] >= 8
        && weighted.sum::<u32>() % 10 == 0
}

fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|char| char.to_digit(10)).collect();
    let issued = matches!(
        (digits.len(), digits.as_slice()),
        (13 | 16, [4, ..])
            | (
                16,
                [5, 1..=5, ..] | [6, 0, 1, 1, ..] | [6, 5, ..] | [3, 5, ..]
            )
            | (15, [3, 4 | 7, ..] | [2, 1, 3, 1, ..] | [1, 8, 0, 0, ..])
            | (14, [3, 0, 0..=5, ..] | [3, 6 | 8, ..])
    );
    let luhn = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| match at % 2 {
            0 => *digit,
            _ => digit * 2 / 10 + digit * 2 % 10,
        });
    issued && luhn.sum::<u32>() % 10 == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn formats_accept_what_they_should() {
        for (format, good, bad) in [
            ("date", "2026-02-28", "2026-02-30"),
            ("date-time", "2026-02-28T10:00:00Z", "2026-02-28"),
            ("duration", "1h30m", "1x"),
            ("duration", "22 ns", "ns"),
            ("email", "a@example.com", "a@"),
            ("email", "A B <a@example.com>", "a b@example.com"),
            ("hostname", "a-b.example.com", "-a"),
            ("ipv4", "10.0.0.1", "10.0.0.256"),
            ("ipv6", "::1", "10.0.0.1"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
            ("mac", "01:23:45:67:89:ab", "01:23:45"),
            ("uri", "https://example.com/a", "example"),
            ("uuid", "11111111-2222-4333-8444-555555555555", "1"),
            (
                "uuid4",
                "11111111-2222-4333-8444-555555555555",
                "11111111-2222-5333-8444-555555555555",
            ),
            ("isbn10", "0321751043", "0321751044"),
            ("isbn13", "978-0321751041", "978-0321751042"),
            ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
            ("ssn", "123-45-6789", "12-3"),
            ("hexcolor", "#fff", "#ff"),
            ("rgbcolor", "rgb(1, 2, 255)", "rgb(1,2,256)"),
            ("byte", "YQ==", "Y"),
            ("k8s-short-name", "a-b", "A"),
            ("k8s-long-name", "a.b", "a..b"),
            ("bsonobjectid", "0123456789abcdef01234567", "0"),
        ] {
            assert_eq!(has_format(format, good), Some(true), "{format} {good}");
            assert_eq!(has_format(format, bad), Some(false), "{format} {bad}");
        }
        assert_eq!(has_format("int32", "x"), None);
    }

    #[test]
    fn format_of_another_type_is_not_checked() {
        let types = |one: &str| vec![one.to_owned()];
        assert!(is_supported(&types("string"), "date-time"));
        assert!(is_supported(&types("integer"), "int32"));
        assert!(!is_supported(&types("integer"), "date"));
        assert!(!is_supported(&types("object"), "date"));
        assert!(!is_supported(&[], "nonsense"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,24}") {
            for format in TEXTS {
                let _ = has_format(format, &text);
            }
        }
    }
}
