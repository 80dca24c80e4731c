//! Quantities, such as `100m`.

/// What is said of a text that is none.
pub(super) const QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

pub(super) fn is_quantity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.trim_start_matches(|char: char| char.is_ascii_digit() || char == '.');
    let number = &unsigned[..unsigned.len() - digits.len()];
    const UNITS: [&str; 16] = [
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    ];
    let exponent = digits
        .strip_prefix(['e', 'E'])
        .is_some_and(|rest| rest.parse::<i32>().is_ok());
    let point =
        number.matches('.').count() <= 1 && number.bytes().any(|byte| byte.is_ascii_digit());
    point && (exponent || UNITS.contains(&digits))
}
