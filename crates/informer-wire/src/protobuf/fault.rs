//! What can be wrong with protobuf bytes, in few bits: it never holds any of them.

use std::fmt;

/// Why bytes could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A length or a number reaches over the end of what holds it.
    Short,
    /// No protobuf.
    Malformed,
    /// A field is encoded otherwise than its type is.
    Encoding,
    /// Fields in an order, or so often, that no Kubernetes server writes. The bytes must be put in order first.
    Disorder,
    /// Objects within objects without end.
    TooDeep,
    /// The table does not have this kind.
    UnknownKind,
    /// JSON within the protobuf is none.
    Json,
    /// A value is not what its reader wants.
    Value,
    /// A field is absent that its reader wants.
    Missing(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Short => "a length exceeds the bytes",
            Self::Malformed => "no valid protobuf",
            Self::Encoding => "a field is encoded as another type than it has",
            Self::Disorder => "fields out of order",
            Self::TooDeep => "nested too deeply",
            Self::UnknownKind => "unknown kind of protobuf",
            Self::Json => "invalid JSON within protobuf",
            Self::Value => "a value has the wrong type or is missing",
            Self::Missing(name) => return write!(f, "missing field {name}"),
        })
    }
}

impl std::error::Error for Fault {}

impl serde::de::Error for Fault {
    /// The message may quote the contents, so it is not kept.
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Value
    }

    fn invalid_type(_: serde::de::Unexpected<'_>, _: &dyn serde::de::Expected) -> Self {
        Self::Value
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }
}
