//! Which formats are asked for: the best that server and resource have, remembered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use informer_wire::{DecodeError, Decoded, ObjectForm, Resource, Status, WireFormat};

/// Which wire formats a lister asks for.
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
    /// protobuf, or sends some that cannot be read, JSON from then on; also where none of its objects can be read from
    /// protobuf as the type that was asked for.
    #[default]
    Auto,
    /// JSON alone.
    Json,
    /// Protobuf alone: a server that has none answers 406.
    Protobuf,
}

/// Remembers that a server lacks protobuf for a resource, or that the type cannot be read from it. Clones share it.
///
/// Protobuf never comes back once it has failed: each list that asked for it again would fail again.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory(Arc<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    lacks_protobuf: AtomicBool,
    /// How many objects in protobuf could not be read, as long as none could; [`READ`] once one could.
    unread: AtomicU8,
}

/// An object in protobuf has been read: others that cannot be are odd ones.
const READ: u8 = u8::MAX;
/// After so many objects that cannot be read, and none that can, the type cannot be read from protobuf.
const MAX_UNREAD: u8 = 3;
const UNREADABLE: &str = "no object can be read from its protobuf as this type";

impl Memory {
    fn lacks_protobuf(&self) -> bool {
        self.0.lacks_protobuf.load(Ordering::Relaxed)
    }

    /// From now on JSON. True the first time.
    fn leave_protobuf(&self) -> bool {
        !self.0.lacks_protobuf.swap(true, Ordering::Relaxed)
    }

    /// An object has come out. True if the type seems to be one that protobuf cannot fill: if none could be read of so
    /// many.
    fn saw_object(&self, is_read: bool, many: u8) -> bool {
        // Lists and watches of one lister follow each other, so nothing is lost between the two.
        let unread = self.0.unread.load(Ordering::Relaxed);
        if unread == READ {
            return false;
        }
        let unread = if is_read {
            READ
        } else {
            (unread + 1).min(MAX_UNREAD)
        };
        self.0.unread.store(unread, Ordering::Relaxed);
        unread != READ && unread >= many
    }

    /// All objects have come out. True if there are some, and none can be read.
    fn saw_all(&self) -> bool {
        !matches!(self.0.unread.load(Ordering::Relaxed), 0 | READ)
    }
}

/// Which formats to ask for, for one resource in one form.
#[derive(Debug, Clone)]
pub(super) struct Negotiation {
    resource: Resource,
    preference: WirePreference,
    /// Whether what is asked for can be read from protobuf.
    readable: bool,
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
            readable: form.has_protobuf(resource),
            memory,
        }
    }

    /// What to ask for, the first one preferred.
    pub(super) fn formats(&self) -> &'static [WireFormat] {
        match self.preference {
            WirePreference::Json => &[WireFormat::Json],
            WirePreference::Protobuf => &[WireFormat::Protobuf],
            WirePreference::Auto if self.readable && !self.memory.lacks_protobuf() => {
                &[WireFormat::Protobuf, WireFormat::Json]
            }
            WirePreference::Auto => &[WireFormat::Json],
        }
    }

    /// Takes in that a request was refused. True if it may go well in another format, which is asked for from now on.
    pub(super) fn refused(&self, asked: &[WireFormat], status: &Status) -> bool {
        matches!(status.code, 406 | 415) && self.fall_back(asked)
    }

    /// Takes in which format came.
    pub(super) fn answered(&self, asked: &[WireFormat], format: WireFormat) {
        if format == WireFormat::Json {
            self.fall_back(asked);
        }
    }

    /// Takes in that a body could not be read. A body that broke off, was too large or held an error says nothing of its
    /// format.
    pub(super) fn unreadable(&self, format: WireFormat, error: &DecodeError) {
        let says_nothing = matches!(
            error,
            DecodeError::Status(_) | DecodeError::Truncated { .. } | DecodeError::TooLarge { .. }
        );
        if format == WireFormat::Protobuf && !says_nothing {
            self.leave_protobuf("it sends protobuf that cannot be read", error);
        }
    }

    /// Takes in an object of many. An error ends the request: it seems that no object can be read from protobuf as this
    /// type, so JSON is asked for from now on. That is so where a type wants a field that a newer server writes and that
    /// this version does not know.
    pub(super) fn object<K>(
        &self,
        format: WireFormat,
        object: Decoded<K>,
    ) -> Result<Decoded<K>, DecodeError> {
        self.judge(format, object, MAX_UNREAD)
    }

    /// Takes in an object that comes alone, as changes do: nobody knows when another comes that could be read. An error
    /// is that of [`object`](Self::object).
    pub(super) fn change<K>(
        &self,
        format: WireFormat,
        object: Decoded<K>,
    ) -> Result<Decoded<K>, DecodeError> {
        self.judge(format, object, 1)
    }

    fn judge<K>(
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
            Decoded::SetAside(aside) if matches!(aside.error, DecodeError::Malformed { .. }) => {
                if self.memory.saw_object(false, many) {
                    self.leave_protobuf(UNREADABLE, &aside.error);
                    return Err(aside.error);
                }
                return Ok(Decoded::SetAside(aside));
            }
            _ => {}
        }
        Ok(object)
    }

    /// Takes in that all objects of a page or of a first state have come. An error is that of
    /// [`object`](Self::object).
    pub(super) fn all_objects(&self, format: WireFormat) -> Result<(), DecodeError> {
        if !self.may_leave(format) || !self.memory.saw_all() {
            return Ok(());
        }
        let error = DecodeError::Malformed {
            what: "every object",
            reason: "none can be read from protobuf as the type that was asked for".to_owned(),
        };
        self.leave_protobuf(UNREADABLE, &error);
        Err(error)
    }

    fn may_leave(&self, format: WireFormat) -> bool {
        format == WireFormat::Protobuf && self.preference == WirePreference::Auto
    }

    fn leave_protobuf(&self, reason: &'static str, error: &DecodeError) {
        if self.memory.leave_protobuf() && self.preference == WirePreference::Auto {
            tracing::warn!(resource = %self.resource, reason, %error, "JSON is asked for from now on");
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
    fn protobuf_is_asked_for_where_the_table_has_it() {
        assert_eq!(pods(WirePreference::Auto).formats(), BOTH);
        assert_eq!(pods(WirePreference::Json).formats(), JSON);
        let scope = informer_wire::Scope::Namespaced;
        let widgets = Resource::new("demo.example", "v1", "Widget", "widgets", scope);
        let of = |form| Negotiation::new(WirePreference::Auto, &widgets, form, Memory::default());
        assert_eq!(of(ObjectForm::Whole).formats(), JSON);
        assert_eq!(of(ObjectForm::Metadata).formats(), BOTH);
        // It comes in protobuf too, but nobody can read it.
        let definitions = Resource::builtin("customresourcedefinitions").unwrap();
        let whole = ObjectForm::Whole;
        let of = Negotiation::new(WirePreference::Auto, &definitions, whole, Memory::default());
        assert_eq!(of.formats(), JSON);
    }

    // INV-HTTP-8
    #[test]
    fn what_a_server_does_not_have_is_not_asked_for_again() {
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
    fn objects_that_cannot_be_read_count_until_one_can() {
        let unread = || {
            let error = DecodeError::Malformed {
                what: "object",
                reason: String::new(),
            };
            let mark = informer_store::Known::new(None, None);
            Decoded::<()>::SetAside(informer_wire::SetAside::new(None, mark, error))
        };
        let protobuf = WireFormat::Protobuf;
        let auto = pods(WirePreference::Auto);
        assert!(auto.object(protobuf, unread()).is_ok());
        assert!(auto.object(protobuf, unread()).is_ok());
        assert!(auto.object(WireFormat::Json, unread()).is_ok());
        assert_eq!(auto.formats(), BOTH);
        assert!(auto.object(protobuf, unread()).is_err());
        assert_eq!(auto.formats(), JSON);

        let auto = pods(WirePreference::Auto);
        assert!(auto.all_objects(protobuf).is_ok());
        assert!(auto.object(protobuf, unread()).is_ok());
        assert!(auto.clone().all_objects(protobuf).is_err());
        assert_eq!(auto.formats(), JSON);

        // One that can be read speaks for the type, whatever follows.
        let auto = pods(WirePreference::Auto);
        assert!(auto.object(protobuf, unread()).is_ok());
        assert!(auto.object(protobuf, Decoded::Object(())).is_ok());
        for _ in 0..300 {
            assert!(auto.object(protobuf, unread()).is_ok());
        }
        assert!(auto.all_objects(protobuf).is_ok());
        assert_eq!(auto.formats(), BOTH);

        // Of what comes alone one is enough, unless one could be read.
        let auto = pods(WirePreference::Auto);
        assert!(auto.change(protobuf, unread()).is_err());
        assert_eq!(auto.formats(), JSON);
        let auto = pods(WirePreference::Auto);
        assert!(auto.change(protobuf, Decoded::Object(())).is_ok());
        assert!(auto.change(protobuf, unread()).is_ok());
        assert_eq!(auto.formats(), BOTH);

        // There is nothing else to ask for.
        let only = pods(WirePreference::Protobuf);
        for _ in 0..10 {
            assert!(only.object(protobuf, unread()).is_ok());
            assert!(only.all_objects(protobuf).is_ok());
        }
    }

    // INV-HTTP-8
    #[test]
    fn only_a_body_that_is_no_protobuf_speaks_against_protobuf() {
        let negotiation = pods(WirePreference::Auto);
        let cut = DecodeError::Truncated { what: "list" };
        negotiation.unreadable(WireFormat::Protobuf, &cut);
        let broken = DecodeError::Malformed {
            what: "list",
            reason: String::new(),
        };
        negotiation.unreadable(WireFormat::Json, &broken);
        assert_eq!(negotiation.formats(), BOTH);
        negotiation.unreadable(WireFormat::Protobuf, &broken);
        assert_eq!(negotiation.formats(), JSON);
    }
}
