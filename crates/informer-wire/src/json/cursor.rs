//! Walks through one complete JSON text, member by member, skipping what nobody asks for.

use std::borrow::Cow;

use super::scan::{Scan, ValueScan, is_space};

/// The text is no JSON at this byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Syntax {
    pub(crate) at: usize,
}

/// A place in a JSON text.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// An object or array that is being walked through: whether its first entry is still to come.
#[derive(Debug)]
pub(crate) struct Walk {
    first: bool,
}

/// The key of a member, as it is written: between its quotes, not unescaped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key<'a> {
    raw: &'a [u8],
    /// Where the member starts.
    pub(crate) at: usize,
}

impl<'a> Key<'a> {
    /// The key's text. `None` if it is no text.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        unescape(self.raw)
    }

    /// The key, if it can be compared byte by byte; else one that equals nothing.
    ///
    /// Kubernetes escapes no key that matters here, but others may write `"kind"` with escapes.
    pub(crate) fn name(self) -> Cow<'a, [u8]> {
        if !self.raw.contains(&b'\\') {
            return Cow::Borrowed(self.raw);
        }
        match unescape(self.raw) {
            Some(text) => Cow::Owned(text.into_owned().into_bytes()),
            None => Cow::Borrowed(b"\\"),
        }
    }
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the cursor's place.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    const fn fail<T>(&self) -> Result<T, Syntax> {
        Err(Syntax { at: self.at })
    }

    /// The next byte that is no white space, without passing it.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !is_space(byte) {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    fn expect(&mut self, byte: u8) -> Result<(), Syntax> {
        if self.peek() != Some(byte) {
            return self.fail();
        }
        self.at += 1;
        Ok(())
    }

    /// Enters an object.
    pub(crate) fn open_object(&mut self) -> Result<Walk, Syntax> {
        self.expect(b'{')?;
        Ok(Walk { first: true })
    }

    /// Enters an array.
    pub(crate) fn open_array(&mut self) -> Result<Walk, Syntax> {
        self.expect(b'[')?;
        Ok(Walk { first: true })
    }

    /// Goes on to the next member's value, which the caller must pass, or leaves the object.
    pub(crate) fn next_key(&mut self, walk: &mut Walk) -> Result<Option<Key<'a>>, Syntax> {
        if !self.next_entry(walk, b'}')? {
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return self.fail();
        }
        let at = self.at;
        let quoted = self.skip_value()?;
        self.expect(b':')?;
        self.peek();
        Ok(Some(Key {
            raw: &quoted[1..quoted.len() - 1],
            at,
        }))
    }

    /// Goes on to the next element, which the caller must pass, or leaves the array.
    pub(crate) fn next_element(&mut self, walk: &mut Walk) -> Result<bool, Syntax> {
        let more = self.next_entry(walk, b']')?;
        self.peek();
        Ok(more)
    }

    fn next_entry(&mut self, walk: &mut Walk, close: u8) -> Result<bool, Syntax> {
        let first = std::mem::replace(&mut walk.first, false);
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') if !first => {
                self.at += 1;
                // No entry may follow but this one: `{"a":1,}` is no JSON.
                if self.peek() == Some(close) {
                    self.fail()
                } else {
                    Ok(true)
                }
            }
            Some(_) if first => Ok(true),
            _ => self.fail(),
        }
    }

    /// Skips a value of any kind and returns its text.
    pub(crate) fn skip_value(&mut self) -> Result<&'a [u8], Syntax> {
        let Some(first) = self.peek() else {
            return self.fail();
        };
        let Some(mut scan) = ValueScan::of(first) else {
            return self.fail();
        };
        let from = self.at;
        let rest = &self.bytes[from..];
        let bare = matches!(scan, ValueScan::Bare);
        match scan.scan(rest, u32::MAX) {
            Scan::End(end) => self.at = from + end,
            Scan::More if bare => self.at = self.bytes.len(),
            Scan::More | Scan::TooDeep => return self.fail(),
        }
        Ok(&self.bytes[from..self.at])
    }

    /// Skips a value and returns its text if it is a string; `None` if it is something else.
    pub(crate) fn text(&mut self) -> Result<Option<Cow<'a, str>>, Syntax> {
        self.skip_value().map(text_of)
    }

    /// Checks that nothing but white space follows.
    pub(crate) fn end(&mut self) -> Result<(), Syntax> {
        if self.peek().is_some() {
            self.fail()
        } else {
            Ok(())
        }
    }
}

/// The text of a JSON string with its quotes; `None` if it is another value, or no text.
pub(crate) fn text_of(value: &[u8]) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    unescape(inner)
}

fn unescape(raw: &[u8]) -> Option<Cow<'_, str>> {
    if !raw.contains(&b'\\') {
        return std::str::from_utf8(raw).ok().map(Cow::Borrowed);
    }
    let mut quoted = Vec::with_capacity(raw.len() + 2);
    quoted.push(b'"');
    quoted.extend_from_slice(raw);
    quoted.push(b'"');
    serde_json::from_slice(&quoted).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Result<Vec<String>, Syntax> {
        let mut cursor = Cursor::new(text.as_bytes());
        let mut walk = cursor.open_object()?;
        let mut keys = Vec::new();
        while let Some(key) = cursor.next_key(&mut walk)? {
            keys.push(key.text().map(Cow::into_owned).unwrap_or_default());
            cursor.skip_value()?;
        }
        cursor.end()?;
        Ok(keys)
    }

    #[test]
    fn members_are_walked_in_order() {
        let text = r#" { "a" : {"x":[1,"}"]} , "\u0062":"\"", "c":null,"d":-1.5e3 } "#;
        assert_eq!(
            keys(text),
            Ok(vec!["a".into(), "b".into(), "c".into(), "d".into()])
        );
        assert_eq!(keys("{}"), Ok(vec![]));
    }

    #[test]
    fn broken_object_is_refused_at_the_broken_byte() {
        for (text, at) in [
            ("", 0),
            ("[]", 0),
            ("{,}", 1),
            (r#"{"a":1,}"#, 7),
            (r#"{"a" 1}"#, 5),
            (r#"{"a":}"#, 5),
            (r#"{"a":1 "b":2}"#, 7),
            (r#"{"a":1} x"#, 8),
            (r#"{"a":"x"#, 5),
            (r#"{"a":{"#, 5),
            (r#"{a:1}"#, 1),
        ] {
            assert_eq!(keys(text), Err(Syntax { at }), "{text}");
        }
    }
}
