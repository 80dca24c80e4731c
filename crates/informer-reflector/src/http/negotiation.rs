//! Which formats are requested: the best that server and resource have, remembered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use informer_wire::{DecodeError, Decoded, ObjectForm, Resource, Status, WireFormat};

/// Which wire formats are requested.
///
/// ```
/// use informer_reflector::http::{HttpConfig, WirePreference};
///
/// let config = HttpConfig::default().wire(WirePreference::Json);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum WirePreference {
    /// Protobuf for the kinds of Kubernetes itself and for all metadata, JSON for the rest. Where a server does not send
    /// protobuf, or sends some that cannot be decoded, JSON from then on; also where none of its objects can be decoded from
    /// protobuf as the requested type.
    #[default]
    Auto,
    /// JSON alone.
    Json,
    /// Protobuf alone: a server that has none responds with 406.
    Protobuf,
}

/// Remembers that a server lacks protobuf for a resource, or that the type cannot be decoded from it, for good: each list
/// that requested it again would fail again. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory(Arc<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    lacks_protobuf: AtomicBool,
    /// How many objects in protobuf could not be decoded, as long as none could; [`DECODED`] once one could.
    undecoded: AtomicU8,
}

/// An object in protobuf was decoded: others that cannot be are odd ones.
const DECODED: u8 = u8::MAX;
/// After so many objects that cannot be decoded, and none that can, the type cannot be decoded from protobuf.
const MAX_UNDECODED: u8 = 3;
const UNDECODABLE: &str = "no object can be decoded from its protobuf as this type";

impl Memory {
    fn lacks_protobuf(&self) -> bool {
        self.0.lacks_protobuf.load(Ordering::Relaxed)
    }

    /// From now on JSON. Returns `true` the first time.
    fn leave_protobuf(&self) -> bool {
        !self.0.lacks_protobuf.swap(true, Ordering::Relaxed)
    }

    /// An object was received. Returns `true` if protobuf cannot fill the type, it seems: none of so many could be decoded.
    fn saw_object(&self, is_decoded: bool, many: u8) -> bool {
        // Lists and watches of one lister-watcher follow each other, so nothing is lost between the two.
        let undecoded = self.0.undecoded.load(Ordering::Relaxed);
        if undecoded == DECODED {
            return false;
        }
        let undecoded = if is_decoded {
            DECODED
        } else {
            (undecoded + 1).min(MAX_UNDECODED)
        };
        self.0.undecoded.store(undecoded, Ordering::Relaxed);
        undecoded != DECODED && undecoded >= many
    }

    /// All objects were received. Returns `true` if there are some, and none can be decoded.
    fn saw_all(&self) -> bool {
        !matches!(self.0.undecoded.load(Ordering::Relaxed), 0 | DECODED)
    }
}

/// Which formats to request, for one resource in one form.
#[derive(Debug, Clone)]
pub(super) struct Negotiation {
    resource: Resource,
    preference: WirePreference,
    /// Whether the requested form can be decoded from protobuf.
    decodable: bool,
    memory: Memory,
}

impl Negotiation {
    pub(super) fn new(
        preference: WirePreference,
        resource: &Resource,
        form: ObjectForm,
        memory: Memory,
    ) -> Self {
        Self {
            resource: resource.clone(),
            preference,
            decodable: form.has_protobuf(resource),
            memory,
        }
    }

    /// Returns what to request, the first one preferred.
    pub(super) fn formats(&self) -> &'static [WireFormat] {
        match self.preference {
            WirePreference::Json => &[WireFormat::Json],
            WirePreference::Protobuf => &[WireFormat::Protobuf],
            WirePreference::Auto if self.decodable && !self.memory.lacks_protobuf() => {
                &[WireFormat::Protobuf, WireFormat::Json]
            }
            WirePreference::Auto => &[WireFormat::Json],
        }
    }

    /// A request was refused. Returns `true` if it may go well in another format, which is requested from now on.
    pub(super) fn refused(&self, asked: &[WireFormat], status: &Status) -> bool {
        matches!(status.code, 406 | 415) && self.fall_back(asked)
    }

    /// The server responded in this format.
    pub(super) fn answered(&self, asked: &[WireFormat], format: WireFormat) {
        if format == WireFormat::Json {
            self.fall_back(asked);
        }
    }

    /// A body could not be decoded. One that broke off, was too large or held an error does not mean that its format is
    /// wrong.
    pub(super) fn undecodable(&self, format: WireFormat, error: &DecodeError) {
        let is_other = matches!(
            error,
            DecodeError::Status(_) | DecodeError::Truncated { .. } | DecodeError::TooLarge { .. }
        );
        if format == WireFormat::Protobuf && !is_other {
            self.leave_protobuf("its protobuf cannot be decoded", error);
        }
    }

    /// An object of many was received. An error ends the request: it seems that no object can be decoded from protobuf as
    /// this type, so JSON is requested from now on. That is so where a type wants a field that a newer server writes and
    /// that this version does not know.
    pub(super) fn object<K>(
        &self,
        format: WireFormat,
        object: Decoded<K>,
    ) -> Result<Decoded<K>, DecodeError> {
        self.check(format, object, MAX_UNDECODED)
    }

    /// A single object was received, as changes are: the next one that can be decoded may take long. An error is that of
    /// [`object`](Self::object).
    pub(super) fn change<K>(
        &self,
        format: WireFormat,
        object: Decoded<K>,
    ) -> Result<Decoded<K>, DecodeError> {
        self.check(format, object, 1)
    }

    fn check<K>(
        &self,
        format: WireFormat,
        object: Decoded<K>,
        many: u8,
    ) -> Result<Decoded<K>, DecodeError> {
        if !self.may_leave(format) {
            return Ok(object);
        }
        match object {
            Decoded::Object(_) => _ = self.memory.saw_object(true, many),
            Decoded::Undecodable(item) if matches!(item.error, DecodeError::Malformed { .. }) => {
                if self.memory.saw_object(false, many) {
                    self.leave_protobuf(UNDECODABLE, &item.error);
                    return Err(item.error);
                }
                return Ok(Decoded::Undecodable(item));
            }
            _ => {}
        }
        Ok(object)
    }

    /// All objects of a page, or all initial events, were received. An error is that of [`object`](Self::object).
    pub(super) fn all_objects(&self, format: WireFormat) -> Result<(), DecodeError> {
        if !self.may_leave(format) || !self.memory.saw_all() {
            return Ok(());
        }
        let error = DecodeError::Malformed {
            what: "every object",
            reason: "none can be decoded from protobuf as the requested type".to_owned(),
        };
        self.leave_protobuf(UNDECODABLE, &error);
        Err(error)
    }

    fn may_leave(&self, format: WireFormat) -> bool {
        format == WireFormat::Protobuf && self.preference == WirePreference::Auto
    }

    fn leave_protobuf(&self, reason: &'static str, error: &DecodeError) {
        if self.memory.leave_protobuf() && self.preference == WirePreference::Auto {
            tracing::warn!(resource = %self.resource, reason, %error, "requests JSON from now on");
        }
    }

    fn fall_back(&self, asked: &[WireFormat]) -> bool {
        let has_another = asked.len() > 1;
        if has_another {
            self.memory.leave_protobuf();
        }
        has_another
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(preference: WirePreference) -> Negotiation {
        let pods = Resource::builtin("pods").unwrap();
        Negotiation::new(preference, &pods, ObjectForm::Whole, Memory::default())
    }

    const BOTH: &[WireFormat] = &[WireFormat::Protobuf, WireFormat::Json];
    const JSON: &[WireFormat] = &[WireFormat::Json];

    // INV-HTTP-7
    #[test]
    fn protobuf_is_requested_where_the_kind_has_it() {
        assert_eq!(pods(WirePreference::Auto).formats(), BOTH);
        assert_eq!(pods(WirePreference::Json).formats(), JSON);
        let scope = informer_wire::Scope::Namespaced;
        let widgets = Resource::new("demo.example", "v1", "Widget", "widgets", scope);
        let of = |form| Negotiation::new(WirePreference::Auto, &widgets, form, Memory::default());
        assert_eq!(of(ObjectForm::Whole).formats(), JSON);
        assert_eq!(of(ObjectForm::Metadata).formats(), BOTH);
        // It exists in protobuf too, but nobody can decode it.
        let definitions = Resource::builtin("customresourcedefinitions").unwrap();
        let whole = ObjectForm::Whole;
        let of = Negotiation::new(WirePreference::Auto, &definitions, whole, Memory::default());
        assert_eq!(of.formats(), JSON);
    }

    // INV-HTTP-8
    #[test]
    fn refused_format_is_not_requested_again() {
        let refused = Status::failure(406, "NotAcceptable", "no");
        let forbidden = Status::failure(403, "Forbidden", "no");
        let negotiation = pods(WirePreference::Auto);
        assert!(!negotiation.refused(BOTH, &forbidden));
        assert_eq!(negotiation.formats(), BOTH);
        assert!(negotiation.refused(BOTH, &refused));
        assert_eq!(negotiation.clone().formats(), JSON);
        // JSON is refused too, so there is nothing left to try.
        assert!(!negotiation.refused(JSON, &refused));

        let negotiation = pods(WirePreference::Auto);
        negotiation.answered(BOTH, WireFormat::Protobuf);
        assert_eq!(negotiation.formats(), BOTH);
        negotiation.answered(BOTH, WireFormat::Json);
        assert_eq!(negotiation.formats(), JSON);

        let negotiation = pods(WirePreference::Protobuf);
        assert!(!negotiation.refused(negotiation.formats(), &refused));
        assert_eq!(negotiation.formats(), [WireFormat::Protobuf]);
    }

    // INV-HTTP-9
    #[test]
    fn undecodable_objects_count_until_one_is_decoded() {
        let undecoded = || {
            let error = DecodeError::Malformed {
                what: "object",
                reason: String::new(),
            };
            let version = informer_store::ObjectVersion::new(None, None);
            Decoded::<()>::Undecodable(informer_wire::Undecodable::new(None, version, error))
        };
        let protobuf = WireFormat::Protobuf;
        let auto = pods(WirePreference::Auto);
        assert!(auto.object(protobuf, undecoded()).is_ok());
        assert!(auto.object(protobuf, undecoded()).is_ok());
        assert!(auto.object(WireFormat::Json, undecoded()).is_ok());
        assert_eq!(auto.formats(), BOTH);
        assert!(auto.object(protobuf, undecoded()).is_err());
        assert_eq!(auto.formats(), JSON);

        let auto = pods(WirePreference::Auto);
        assert!(auto.all_objects(protobuf).is_ok());
        assert!(auto.object(protobuf, undecoded()).is_ok());
        assert!(auto.clone().all_objects(protobuf).is_err());
        assert_eq!(auto.formats(), JSON);

        // One decoded object is enough, whatever follows.
        let auto = pods(WirePreference::Auto);
        assert!(auto.object(protobuf, undecoded()).is_ok());
        assert!(auto.object(protobuf, Decoded::Object(())).is_ok());
        for _ in 0..300 {
            assert!(auto.object(protobuf, undecoded()).is_ok());
        }
        assert!(auto.all_objects(protobuf).is_ok());
        assert_eq!(auto.formats(), BOTH);

        // Of changes one is enough, unless one was decoded.
        let auto = pods(WirePreference::Auto);
        assert!(auto.change(protobuf, undecoded()).is_err());
        assert_eq!(auto.formats(), JSON);
        let auto = pods(WirePreference::Auto);
        assert!(auto.change(protobuf, Decoded::Object(())).is_ok());
        assert!(auto.change(protobuf, undecoded()).is_ok());
        assert_eq!(auto.formats(), BOTH);

        // There is nothing else to request.
        let only = pods(WirePreference::Protobuf);
        for _ in 0..10 {
            assert!(only.object(protobuf, undecoded()).is_ok());
            assert!(only.all_objects(protobuf).is_ok());
        }
    }

    // INV-HTTP-8
    #[test]
    fn only_a_body_that_is_no_protobuf_leads_to_json() {
        let negotiation = pods(WirePreference::Auto);
        let cut = DecodeError::Truncated { what: "list" };
        negotiation.undecodable(WireFormat::Protobuf, &cut);
        let broken = DecodeError::Malformed {
            what: "list",
            reason: String::new(),
        };
        negotiation.undecodable(WireFormat::Json, &broken);
        assert_eq!(negotiation.formats(), BOTH);
        negotiation.undecodable(WireFormat::Protobuf, &broken);
        assert_eq!(negotiation.formats(), JSON);
    }
}
