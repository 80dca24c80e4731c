//! The formats of API servers.

/// The format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WireFormat {
    /// JSON, which every server has for every resource.
    Json,
    /// Kubernetes' protobuf, which API servers have for their built-in kinds: smaller, and faster to write and to read.
    /// See [`Resource::has_protobuf`](crate::Resource::has_protobuf).
    Protobuf,
}

impl WireFormat {
    /// Returns the media type, for headers.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// Returns the format of an answer with this `Content-Type`; `None` if it is neither.
    ///
    /// ```
    /// use informer_wire::WireFormat;
    ///
    /// let format = WireFormat::from_content_type("application/json;stream=watch");
    /// assert_eq!(format, Some(WireFormat::Json));
    /// let format = WireFormat::from_content_type("application/vnd.kubernetes.protobuf;stream=watch");
    /// assert_eq!(format, Some(WireFormat::Protobuf));
    /// assert_eq!(WireFormat::from_content_type("text/html"), None);
    /// ```
    #[must_use]
    pub fn from_content_type(content_type: &str) -> Option<Self> {
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        [Self::Json, Self::Protobuf]
            .into_iter()
            .find(|format| media_type.eq_ignore_ascii_case(format.media_type()))
    }
}

/// The kind of a read request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadVerb {
    /// One object.
    Get,
    /// A list of objects.
    List,
    /// A stream of events.
    Watch,
}
