//! Why a text is no JSON, in the words of Go's `encoding/json`.

/// Nested deeper than this, Go reads no JSON either.
const DEPTH: usize = 10_000;

/// Where a character stands that should not be there.
type Expected = &'static str;

const VALUE: Expected = "looking for beginning of value";

/// Why a text is no JSON.
#[derive(Debug)]
enum Fault {
    /// The text ends too early.
    End,
    /// This character, there.
    Byte(u8, String),
    TooDeep,
}

/// Says why a text is no JSON; `None` if it is.
pub(super) fn syntax_error(text: &[u8]) -> Option<String> {
    let mut scanner = Scanner { text, at: 0 };
    Some(match scanner.document().err()? {
        Fault::End => "unexpected end of JSON input".to_owned(),
        Fault::Byte(byte, place) => format!("invalid character {} {place}", quoted(byte)),
        Fault::TooDeep => "exceeded max depth".to_owned(),
    })
}

/// A byte as Go quotes it as a character.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        b'\x07' => r"'\a'".to_owned(),
        b'\x08' => r"'\b'".to_owned(),
        b'\x0c' => r"'\f'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        b'\x0b' => r"'\v'".to_owned(),
        0..0x20 | 0x7f => format!(r"'\x{byte:02x}'"),
        // Go takes the byte for a code point: Latin-1, of which the first half and the soft hyphen do not print.
        0x80..0xa0 => format!(r"'\u{byte:04x}'"),
        0xa0 | 0xad => format!(r"'\u{byte:04x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}

/// Reads JSON and keeps nothing of it.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn document(&mut self) -> Result<(), Fault> {
        self.value(0)?;
        match self.visible() {
            None => Ok(()),
            Some(byte) => Err(Fault::Byte(byte, "after top-level value".to_owned())),
        }
    }

    /// The next byte that is no blank, which it stays before.
    fn visible(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.text.get(self.at) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, Fault> {
        let byte = *self.text.get(self.at).ok_or(Fault::End)?;
        self.at += 1;
        Ok(byte)
    }

    /// The next byte, if it is one of those that fit.
    fn fitting(&mut self, place: &str, fits: impl FnOnce(u8) -> bool) -> Result<u8, Fault> {
        let byte = self.visible().ok_or(Fault::End)?;
        if !fits(byte) {
            return Err(Fault::Byte(byte, place.to_owned()));
        }
        self.at += 1;
        Ok(byte)
    }

    fn value(&mut self, depth: usize) -> Result<(), Fault> {
        if depth > DEPTH {
            return Err(Fault::TooDeep);
        }
        let begins = |byte: u8| {
            matches!(
                byte,
                b'{' | b'[' | b'"' | b'-' | b't' | b'f' | b'n' | b'0'..=b'9'
            )
        };
        match self.fitting(VALUE, begins)? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            first => self.number(first),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), Fault> {
        if self.visible() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.fitting("looking for beginning of object key string", |byte| {
                byte == b'"'
            })?;
            self.string()?;
            self.fitting("after object key", |byte| byte == b':')?;
            self.value(depth + 1)?;
            if self.fitting("after object key:value pair", |byte| {
                matches!(byte, b',' | b'}')
            })? == b'}'
            {
                return Ok(());
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Fault> {
        if self.visible() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            if self.fitting("after array element", |byte| matches!(byte, b',' | b']'))? == b']' {
                return Ok(());
            }
        }
    }

    fn string(&mut self) -> Result<(), Fault> {
        let wrong = |byte, place: &str| Err(Fault::Byte(byte, place.to_owned()));
        loop {
            match self.next()? {
                b'"' => return Ok(()),
                b'\\' => match self.next()? {
                    b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                    b'u' => {
                        for _ in 0..4 {
                            let byte = self.next()?;
                            if !byte.is_ascii_hexdigit() {
                                return wrong(byte, "in \\u hexadecimal character escape");
                            }
                        }
                    }
                    byte => return wrong(byte, "in string escape code"),
                },
                byte if byte < 0x20 => return wrong(byte, "in string literal"),
                _ => {}
            }
        }
    }

    /// The rest of a word. Where the text ends within it, Go finds a blank that is not there.
    fn literal(&mut self, word: &str) -> Result<(), Fault> {
        for expected in word.bytes().skip(1) {
            let byte = self.next().unwrap_or(b' ');
            if byte != expected {
                let place = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(Fault::Byte(byte, place));
            }
        }
        Ok(())
    }

    fn number(&mut self, first: u8) -> Result<(), Fault> {
        let mut first = first;
        if first == b'-' {
            first = self.digit("in numeric literal")?;
        }
        if first != b'0' {
            self.digits();
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.text.get(self.at) {
                self.at += 1;
            }
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(())
    }

    /// One digit. Where the text ends before it, Go finds a blank that is not there.
    fn digit(&mut self, place: &str) -> Result<u8, Fault> {
        let byte = self.next().unwrap_or(b' ');
        if byte.is_ascii_digit() {
            return Ok(byte);
        }
        Err(Fault::Byte(byte, place.to_owned()))
    }

    fn digits(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The texts of a real server's answers.
    #[test]
    fn syntax_error_is_worded_as_go_words_it() {
        for (text, error) in [
            ("", "unexpected end of JSON input"),
            ("   ", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            (r#"{"a":"b"#, "unexpected end of JSON input"),
            (
                "abc",
                "invalid character 'a' looking for beginning of value",
            ),
            (
                "{a",
                "invalid character 'a' looking for beginning of object key string",
            ),
            (r#"{"a" }"#, "invalid character '}' after object key"),
            (
                r#"{"a":}"#,
                "invalid character '}' looking for beginning of value",
            ),
            (
                r#"{"a":1,}"#,
                "invalid character '}' looking for beginning of object key string",
            ),
            (
                r#"{"a":tru"#,
                "invalid character ' ' in literal true (expecting 'e')",
            ),
            (
                r#"{"a":1.}"#,
                "invalid character '}' after decimal point in numeric literal",
            ),
            (
                r#"{"a":"\x"}"#,
                "invalid character 'x' in string escape code",
            ),
            (
                "{\"a\":\"\x01\"}",
                r"invalid character '\x01' in string literal",
            ),
            ("{} x", "invalid character 'x' after top-level value"),
            ("[1 2]", "invalid character '2' after array element"),
        ] {
            assert_eq!(
                syntax_error(text.as_bytes()).as_deref(),
                Some(error),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn error_is_found_where_there_is_one(
            text in r#"[\[\]{}",:tfn0-9eE.+\-\\ua]{0,12}|\{"a":[-0-9.eE\[\],truefalsn" ]{0,8}\}"#,
        ) {
            let valid = serde_json::from_str::<serde_json::Value>(&text);
            // A number may be too large, and half of a pair stand alone, for one that keeps what it reads.
            prop_assume!(!text.contains(['e', 'E', 'u']) || valid.is_ok());
            prop_assert_eq!(syntax_error(text.as_bytes()).is_none(), valid.is_ok(), "{}", text);
        }
    }
}
