//! What must be known of an object before it is decoded: which one it is, and where its metadata stands.

use std::borrow::Cow;
use std::ops::Range;

use informer_store::{ObjectVersion, ResourceVersion, Uid};

use super::cursor::{Cursor, Syntax};
use crate::error::DecodeError;

/// The outline of one object's JSON text.
#[derive(Debug, Default)]
pub(crate) struct Outline<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) api_version: Option<Cow<'a, str>>,
    pub(crate) kind: Option<Cow<'a, str>>,
    /// The metadata, if it is an object.
    pub(crate) metadata: Option<Range<usize>>,
    /// The member `metadata.managedFields` with one comma, so that the text without it is JSON.
    pub(crate) managed_fields: Option<Range<usize>>,
    name: Option<Cow<'a, str>>,
    namespace: Option<Cow<'a, str>>,
    uid: Option<Uid>,
    resource_version: Option<ResourceVersion>,
    pub(crate) initial_events_end: bool,
    /// The members `apiVersion`, `kind` and `metadata`, in the order of the text.
    taken: [Range<usize>; 3],
    /// The members seen so far, one bit each.
    seen: u8,
    /// Where the object's members start and end, within its brackets.
    members: Range<usize>,
}

/// The bits of `apiVersion`, `kind` and `metadata`.
const ALL_SEEN: u8 = 1 | 2 | 4;
/// The annotation of the bookmark that ends the first state of a streaming list.
const INITIAL_EVENTS_END: &[u8] = b"k8s.io/initial-events-end";

impl<'a> Outline<'a> {
    /// Reads the outline of an object. Only the top level and the metadata are looked at.
    pub(crate) fn read(what: &'static str, text: &'a [u8]) -> Result<Self, DecodeError> {
        Self {
            text,
            ..Self::default()
        }
        .filled(what, false)
    }

    /// Reads the outline of a text that a splitter cut out, so that its last byte closes what its first opens. What
    /// follows the type and metadata is not looked at.
    pub(crate) fn read_cut_out(what: &'static str, text: &'a [u8]) -> Result<Self, DecodeError> {
        Self {
            text,
            ..Self::default()
        }
        .filled(what, true)
    }

    fn filled(mut self, what: &'static str, cut_out: bool) -> Result<Self, DecodeError> {
        match self.read_object(cut_out) {
            Ok(()) => Ok(self),
            Err(Syntax { at }) => Err(DecodeError::malformed(
                what,
                format!("no valid JSON object at byte {at}"),
            )),
        }
    }

    fn read_object(&mut self, cut_out: bool) -> Result<(), Syntax> {
        let mut cursor = Cursor::new(self.text);
        let mut walk = cursor.open_object()?;
        self.members = cursor.at()..cursor.at();
        while let Some(key) = cursor.next_key(&mut walk)? {
            let seen = match &*key.name() {
                b"apiVersion" => {
                    self.api_version = non_empty(cursor.text()?);
                    1
                }
                b"kind" => {
                    self.kind = non_empty(cursor.text()?);
                    2
                }
                b"metadata" => {
                    self.read_metadata(&mut cursor)?;
                    4
                }
                _ => {
                    cursor.skip_value()?;
                    self.members.end = cursor.at();
                    continue;
                }
            };
            // A member that comes twice would be read one way here and another way later.
            if self.seen & seen != 0 {
                return Err(Syntax { at: key.at });
            }
            self.taken[self.seen.count_ones() as usize] = key.at..cursor.at();
            self.seen |= seen;
            self.members.end = cursor.at();
            if cut_out && self.seen == ALL_SEEN {
                self.members.end = self.text.len() - 1;
                return Ok(());
            }
        }
        cursor.end()
    }

    fn read_metadata(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Syntax> {
        if cursor.peek() != Some(b'{') {
            cursor.skip_value()?;
            return Ok(());
        }
        let from = cursor.at();
        let mut walk = cursor.open_object()?;
        let mut last_end = None;
        // Set while the member behind managed fields that came first is still to be seen.
        let mut cut_from = None;
        while let Some(key) = cursor.next_key(&mut walk)? {
            if let Some(start) = cut_from.take() {
                self.managed_fields = Some(start..key.at);
            }
            match &*key.name() {
                b"name" => self.name = cursor.text()?,
                b"namespace" => self.namespace = cursor.text()?,
                b"uid" => self.uid = non_empty(cursor.text()?).map(|uid| Uid::new(&uid)),
                b"resourceVersion" => {
                    let version = non_empty(cursor.text()?);
                    self.resource_version = version.map(|version| ResourceVersion::new(&version));
                }
                b"annotations" => self.read_annotations(cursor)?,
                b"managedFields" => {
                    cursor.skip_value()?;
                    self.managed_fields = Some(last_end.unwrap_or(key.at)..cursor.at());
                    cut_from = if last_end.is_none() {
                        Some(key.at)
                    } else {
                        None
                    };
                }
                _ => {
                    cursor.skip_value()?;
                }
            }
            last_end = Some(cursor.at());
        }
        self.metadata = Some(from..cursor.at());
        Ok(())
    }

    fn read_annotations(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Syntax> {
        let mut inner = Cursor::new(cursor.skip_value()?);
        if inner.peek() != Some(b'{') {
            return Ok(());
        }
        let mut walk = inner.open_object()?;
        while let Some(key) = inner.next_key(&mut walk)? {
            let value = inner.skip_value()?;
            if &*key.name() == INITIAL_EVENTS_END {
                self.initial_events_end = value == br#""true""#;
            }
        }
        Ok(())
    }

    /// The object's name; empty if it has none.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// The object's namespace; empty if it is in none.
    pub(crate) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    /// Returns the object's UID and resource version.
    pub(crate) fn version(&self) -> ObjectVersion {
        ObjectVersion::new(self.uid.clone(), self.resource_version.clone())
    }

    pub(crate) const fn resource_version(&self) -> Option<&ResourceVersion> {
        self.resource_version.as_ref()
    }

    /// Writes the metadata without its managed fields; `null` if there is none.
    pub(crate) fn write_metadata(&self, out: &mut Vec<u8>) {
        let Some(whole) = self.metadata.clone() else {
            out.extend_from_slice(b"null");
            return;
        };
        let cut = self.managed_fields.clone().unwrap_or(whole.end..whole.end);
        out.extend_from_slice(&self.text[whole.start..cut.start]);
        out.extend_from_slice(&self.text[cut.end..whole.end]);
    }

    /// Writes the members that are neither `apiVersion`, `kind` nor `metadata`, separated by commas. True if there
    /// are any.
    pub(crate) fn write_rest(&self, out: &mut Vec<u8>) -> bool {
        let mut from = self.members.start;
        let mut wrote = false;
        let end = self.members.end;
        let taken = self.taken[..self.seen.count_ones() as usize]
            .iter()
            .cloned()
            .chain(std::iter::once(end..end));
        for gap in taken {
            let run = self.text[from..gap.start].trim_ascii();
            let run = run.strip_prefix(b",").unwrap_or(run);
            let run = run.strip_suffix(b",").unwrap_or(run).trim_ascii();
            if !run.is_empty() {
                if wrote {
                    out.push(b',');
                }
                out.extend_from_slice(run);
                wrote = true;
            }
            from = gap.end;
        }
        wrote
    }

    /// Where the first member would start.
    pub(crate) const fn members_start(&self) -> usize {
        self.members.start
    }

    /// True if the object has no member at all.
    pub(crate) const fn is_empty(&self) -> bool {
        self.members.start == self.members.end
    }
}

fn non_empty(text: Option<Cow<'_, str>>) -> Option<Cow<'_, str>> {
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(text: &str) -> (String, String) {
        let outline = Outline::read("object", text.as_bytes()).expect("the text is an object");
        let (mut metadata, mut rest) = (Vec::new(), Vec::new());
        outline.write_metadata(&mut metadata);
        outline.write_rest(&mut rest);
        let cut_out = Outline::read_cut_out("object", text.trim().as_bytes());
        let mut same = Vec::new();
        cut_out
            .expect("the text is an object")
            .write_rest(&mut same);
        assert_eq!(same, rest, "{text}");
        let text = |bytes| String::from_utf8(bytes).expect("the parts are text");
        (text(metadata), text(rest))
    }

    #[test]
    fn metadata_and_rest_are_found_in_any_order() {
        for (text, metadata, others) in [
            (
                r#"{"kind":"A","metadata":{"name":"a"},"spec":1,"status":2}"#,
                r#"{"name":"a"}"#,
                r#""spec":1,"status":2"#,
            ),
            (
                r#"{ "spec" : 1 , "metadata":{}, "status":[ 2 ] , "kind":"A" }"#,
                "{}",
                r#""spec" : 1,"status":[ 2 ]"#,
            ),
            (r#"{"spec":1}"#, "null", r#""spec":1"#),
            (r#"{"metadata":{}}"#, "{}", ""),
            ("{}", "null", ""),
            (
                r#"{"apiVersion":"v1","a":1,"kind":"A","b":2,"metadata":null,"c":3}"#,
                "null",
                r#""a":1,"b":2,"c":3"#,
            ),
        ] {
            assert_eq!(
                rest(text),
                (metadata.to_owned(), others.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn managed_fields_are_dropped_in_any_position() {
        for (text, metadata) in [
            (
                r#"{"metadata":{"managedFields":[{"f":"}"}],"name":"a"}}"#,
                r#"{"name":"a"}"#,
            ),
            (
                r#"{"metadata":{"name":"a","managedFields":[]}}"#,
                r#"{"name":"a"}"#,
            ),
            (
                r#"{"metadata":{"name":"a" , "managedFields":[] , "uid":"b"}}"#,
                r#"{"name":"a" , "uid":"b"}"#,
            ),
            (r#"{"metadata":{"managedFields":null}}"#, "{}"),
        ] {
            assert_eq!(rest(text).0, metadata, "{text}");
        }
    }

    #[test]
    fn object_is_identified_whatever_else_it_holds() {
        let text = r#"{"spec":{"metadata":{"name":"x"}},"metadata":{"labels":5,"n\u0061me":"a","namespace":"n","uid":"u","resourceVersion":"7"}}"#;
        let outline = Outline::read("object", text.as_bytes()).expect("the text is an object");
        assert_eq!((outline.namespace(), outline.name()), ("n", "a"));
        assert_eq!(
            outline.version(),
            ObjectVersion::new(Some("u".into()), Some("7".into()))
        );
    }

    #[test]
    fn repeated_members_are_refused() {
        let text = r#"{"metadata":{},"metadata":{}}"#;
        assert!(Outline::read("object", text.as_bytes()).is_err());
        let text = r#"{"kind":"A","metadata":{},"kind":"B"}"#;
        assert!(Outline::read("object", text.as_bytes()).is_err());
    }
}
