//! Which formats are asked for: the best that server and resource have, remembered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use informer_wire::{DecodeError, ObjectForm, Resource, Status, WireFormat};

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
    /// protobuf, or sends some that cannot be read, JSON from then on.
    #[default]
    Auto,
    /// JSON alone.
    Json,
    /// Protobuf alone: a server that has none answers 406.
    Protobuf,
}

/// Remembers that a server lacks protobuf for a resource. Clones share it.
///
/// It never comes back once it failed: a server that was asked anew by each list would fail anew.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory(Arc<AtomicBool>);

/// Which formats to ask for, for one resource in one form.
#[derive(Debug, Clone)]
pub(super) struct Negotiation {
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
            WirePreference::Auto if self.readable && !self.memory.0.load(Ordering::Relaxed) => {
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
            self.memory.0.store(true, Ordering::Relaxed);
        }
    }

    fn fall_back(&self, asked: &[WireFormat]) -> bool {
        let has_another = asked.len() > 1;
        if has_another {
            self.memory.0.store(true, Ordering::Relaxed);
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
