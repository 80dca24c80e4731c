//! Decodes a list item by item as it arrives.

use std::marker::PhantomData;
use std::sync::Arc;

use informer_store::ResourceVersion;
use serde::Deserialize;

use super::format::WireFormat;
use super::from_wire::FromWire;
use super::object::{Context, Types};
use super::options::{DecodeOptions, KnownFn};
use crate::error::DecodeError;
use crate::event::{Decoded, ListMeta};
use crate::json::{ListSplitter, Outline, describe};

/// Decodes one page of a list, item by item, as its bytes arrive.
///
/// Push the body's bytes in, take the items out after each push, and ask [`finish`](Self::finish) when the body has
/// ended. The items count only if that says so.
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
    splitter: ListSplitter,
    context: Context,
    known: Option<Arc<KnownFn>>,
    error: Option<DecodeError>,
    object: PhantomData<fn() -> K>,
}

impl<K: FromWire> ListDecoder<K> {
    /// A decoder at the beginning of a body in this format.
    #[must_use]
    pub fn new(format: WireFormat, options: DecodeOptions) -> Self {
        let splitter = match format {
            WireFormat::Json => ListSplitter::new(options.limits),
        };
        let context = Context::new(options);
        Self {
            splitter,
            context,
            known: None,
            error: None,
            object: PhantomData,
        }
    }

    /// Says which copies are known already: an item equal to one in UID and resource version comes out as
    /// [`Decoded::Unchanged`], and its body is not decoded.
    #[must_use]
    pub fn known(mut self, known: Arc<KnownFn>) -> Self {
        self.known = Some(known);
        self
    }

    /// Takes in the next bytes of the body. Take all items out before pushing more, or their bytes pile up.
    pub fn push(&mut self, bytes: &[u8]) {
        self.splitter.push(bytes);
    }

    /// The next item; `None` if none has fully arrived.
    ///
    /// An item that cannot be decoded comes out as [`Decoded::SetAside`] and the others flow on. An error is final:
    /// the page cannot be used, and [`finish`](Self::finish) gives the same error.
    #[expect(
        clippy::should_implement_trait,
        reason = "None means that bytes are missing, not the end"
    )]
    pub fn next(&mut self) -> Option<Result<Decoded<K>, DecodeError>> {
        if self.error.is_some() {
            return None;
        }
        let item = self.advance()?;
        if let Err(error) = &item {
            self.error = Some(error.clone());
        }
        Some(item)
    }

    fn advance(&mut self) -> Option<Result<Decoded<K>, DecodeError>> {
        const WHAT: &str = "list item";
        let item = match self.splitter.next_typed()? {
            Ok(item) => item,
            Err(error) => return Some(Err(error)),
        };
        let outline = match Outline::read_cut_out(WHAT, item.text) {
            Ok(outline) => outline,
            Err(error) => return Some(Err(error)),
        };
        if !outline.is_named() {
            return Some(Err(super::single::unnamed(WHAT, &outline)));
        }
        let kind = item.list_kind.and_then(item_kind);
        // The generic kind `List` says nothing of its items.
        let types = Types {
            kind,
            api_version: item.api_version.filter(|_| kind.is_some()),
        };
        Some(Ok(self.context.decode(
            &outline,
            types,
            self.known.as_deref(),
        )))
    }

    /// Says whether the list ended well, once the body has ended and no item is left.
    ///
    /// # Errors
    /// When the list broke off, when something else than white space follows it, when the server wrote an error
    /// instead of it or behind a part of it ([`DecodeError::Status`]), when it is no list, and when
    /// [`next`](Self::next) gave an error. Nothing of the page counts then.
    pub fn finish(mut self) -> Result<ListMeta, DecodeError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let text = self.splitter.finish()?;
        if text.metadata.is_empty() {
            return Ok(ListMeta::default());
        }
        serde_json::from_slice::<Option<JsonListMeta>>(&text.metadata)
            .map(|metadata| metadata.unwrap_or_default().into())
            .map_err(|error| describe("list metadata", &text.metadata, &error))
    }
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
            .field("known", &self.known.is_some())
            .finish_non_exhaustive()
    }
}

/// A list's metadata in JSON.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct JsonListMeta {
    resource_version: Option<String>,
    #[serde(rename = "continue")]
    continue_token: Option<String>,
    remaining_item_count: Option<i64>,
}

impl From<JsonListMeta> for ListMeta {
    fn from(json: JsonListMeta) -> Self {
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
