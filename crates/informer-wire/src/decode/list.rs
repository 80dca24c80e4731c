//! Decodes a list item by item.

use std::marker::PhantomData;
use std::sync::Arc;

use informer_store::{Object, ResourceVersion};
use serde::Deserialize;

use super::format::WireFormat;
use super::from_wire::FromWire;
use super::object::{Context, Types, undecodable};
use super::options::{DecodeOptions, NewestFn, Stored, stored};
use super::outline::Outline;
use super::single::unnamed;
use crate::error::DecodeError;
use crate::event::{Decoded, ListMeta};
use crate::json::{self, ItemText, describe};
use crate::protobuf;

/// Decodes one page of a list item by item, from its bytes in pieces.
///
/// Push the body's bytes, take all items after each push, and call [`finish`](Self::finish) at the end of the body: the
/// items count only if it succeeds.
///
/// ```
/// use informer_wire::{DecodeOptions, Decoded, ListDecoder, WireFormat};
/// use serde_json::Value;
///
/// let body = br#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},
///                 "items":[{"metadata":{"name":"a"}}]}"#;
/// let mut decoder = ListDecoder::<Value>::new(WireFormat::Json, DecodeOptions::default());
/// let mut names = Vec::new();
/// for chunk in body.chunks(20) {
///     decoder.push(chunk);
///     while let Some(item) = decoder.next() {
///         if let Decoded::Object(pod) = item? {
///             assert_eq!(pod["kind"], "Pod");
///             names.push(pod["metadata"]["name"].clone());
///         }
///     }
/// }
/// assert_eq!(names, ["a"]);
/// assert_eq!(decoder.finish()?.resource_version, Some("7".into()));
/// # Ok::<(), informer_wire::DecodeError>(())
/// ```
pub struct ListDecoder<K> {
    splitter: Splitter,
    context: Context,
    stored: Option<Stored<K>>,
    error: Option<DecodeError>,
    object: PhantomData<fn() -> K>,
}

impl<K: FromWire> ListDecoder<K> {
    /// Makes a decoder of a body in this format.
    #[must_use]
    pub fn new(format: WireFormat, options: DecodeOptions) -> Self {
        let splitter = match format {
            WireFormat::Json => Splitter::Json(json::ListSplitter::new(options.limits)),
            WireFormat::Protobuf => Splitter::Protobuf(protobuf::ListSplitter::new(options.limits)),
        };
        let context = Context::new(options);
        Self {
            splitter,
            context,
            stored: None,
            error: None,
            object: PhantomData,
        }
    }

    /// Sets where to look up the newest object of a key: an item with its UID and resource version is not decoded, and
    /// becomes [`Decoded::Unchanged`].
    #[must_use]
    pub fn newest(mut self, newest: Arc<NewestFn<K>>) -> Self
    where
        K: Object,
    {
        self.stored = Some(stored(newest));
        self
    }

    /// Adds bytes of the body. Take all items before pushing more, or their bytes pile up.
    pub fn push(&mut self, bytes: &[u8]) {
        match &mut self.splitter {
            Splitter::Json(splitter) => splitter.push(bytes),
            Splitter::Protobuf(splitter) => splitter.push(bytes),
        }
    }

    /// Returns the next item; `None` if it has not been received yet.
    ///
    /// An item that cannot be decoded becomes [`Decoded::Undecodable`] and does not stop the others. An error is final:
    /// the page cannot be used, and [`finish`](Self::finish) gives the same error.
    #[expect(
        clippy::should_implement_trait,
        reason = "None means that bytes are missing, not the end"
    )]
    pub fn next(&mut self) -> Option<Result<Decoded<K>, DecodeError>> {
        if self.error.is_some() {
            return None;
        }
        let mut item = self.advance()?;
        if let (Err(error), Splitter::Protobuf(splitter)) = (&item, &mut self.splitter)
            && matches!(error, DecodeError::Malformed { .. })
            && !splitter.is_broken()
        {
            // Its length may cover what the server wrote when it broke the list off. In JSON an item ends where its braces do.
            splitter.break_off(error.clone());
            item = self.advance()?;
        }
        if let Err(error) = &item {
            self.error = Some(error.clone());
        }
        Some(item)
    }

    fn advance(&mut self) -> Option<Result<Decoded<K>, DecodeError>> {
        const WHAT: &str = "list item";
        let item = match &mut self.splitter {
            Splitter::Json(splitter) => splitter.next_typed()?.and_then(|item| {
                let outline = json::Outline::read_cut_out(WHAT, item.text)?;
                Ok((Outline::Json(outline), item))
            }),
            Splitter::Protobuf(splitter) => splitter
                .next_typed()?
                .and_then(|item| Ok((Outline::protobuf(WHAT, item.text)?, item))),
        };
        Some(item.and_then(|(outline, item)| {
            decode(&mut self.context, &outline, &item, self.stored.as_ref())
        }))
    }

    /// Ends the list, once the body has ended and all items are taken, and returns its metadata.
    ///
    /// # Errors
    /// When the list broke off, when something else than white space follows it, when the server wrote an error
    /// instead of it or behind a part of it ([`DecodeError::Status`]), when it is no list, and when
    /// [`next`](Self::next) gave an error. Nothing of the page counts then.
    pub fn finish(mut self) -> Result<ListMeta, DecodeError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        match &mut self.splitter {
            Splitter::Json(splitter) => json_list_meta(&splitter.finish()?.metadata),
            Splitter::Protobuf(splitter) => protobuf_list_meta(&splitter.finish()?),
        }
    }
}

/// Cuts the items out.
#[derive(Debug)]
enum Splitter {
    Json(json::ListSplitter),
    Protobuf(protobuf::ListSplitter),
}

fn decode<K: FromWire>(
    context: &mut Context,
    outline: &Outline<'_>,
    item: &ItemText<'_>,
    stored: Option<&Stored<K>>,
) -> Result<Decoded<K>, DecodeError> {
    const WHAT: &str = "list item";
    if !outline.is_named() {
        // It must not stop the others. An error of the server ends the list.
        return match unnamed(WHAT, outline) {
            error @ DecodeError::Unnamed { .. } => Ok(undecodable(None, outline, error)),
            error => Err(error),
        };
    }
    let kind = item.list_kind.and_then(item_kind);
    // The generic kind `List` does not name the kind of its items.
    let types = Types {
        kind,
        api_version: item.api_version.filter(|_| kind.is_some()),
    };
    Ok(context.decode(outline, types, stored))
}

fn json_list_meta(text: &[u8]) -> Result<ListMeta, DecodeError> {
    if text.is_empty() {
        return Ok(ListMeta::default());
    }
    serde_json::from_slice::<Option<WrittenListMeta>>(text)
        .map(|metadata| metadata.unwrap_or_default().into())
        .map_err(|error| describe("list metadata", text, &error))
}

fn protobuf_list_meta(bytes: &[u8]) -> Result<ListMeta, DecodeError> {
    let metadata = protobuf::list_meta(bytes)
        .map_err(|fault| DecodeError::malformed("list metadata", fault.to_string()))?;
    Ok(metadata.into())
}

/// The kind of the items of a list of this kind.
fn item_kind(list_kind: &str) -> Option<&str> {
    list_kind
        .strip_suffix("List")
        .filter(|kind| !kind.is_empty())
}

impl<K> std::fmt::Debug for ListDecoder<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListDecoder")
            .field("splitter", &self.splitter)
            .field("newest", &self.stored.is_some())
            .finish_non_exhaustive()
    }
}

/// A list's metadata as it is written.
#[derive(Debug, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WrittenListMeta {
    pub(crate) resource_version: Option<String>,
    #[serde(rename = "continue")]
    pub(crate) continue_token: Option<String>,
    pub(crate) remaining_item_count: Option<i64>,
}

impl From<WrittenListMeta> for ListMeta {
    fn from(json: WrittenListMeta) -> Self {
        let version = json.resource_version.filter(|version| !version.is_empty());
        Self {
            resource_version: version.map(|version| ResourceVersion::new(&version)),
            continue_token: json.continue_token.filter(|token| !token.is_empty()),
            remaining_item_count: json
                .remaining_item_count
                .and_then(|n| u64::try_from(n).ok()),
        }
    }
}
