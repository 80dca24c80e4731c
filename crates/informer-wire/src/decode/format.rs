//! The formats that API servers speak, and what is asked for in them.

/// How an answer is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WireFormat {
    /// JSON.
    Json,
}

impl WireFormat {
    /// The media type that asks for this format.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
        }
    }

    /// The format of an answer with this `Content-Type`; `None` if it is none that can be read.
    ///
    /// ```
    /// use informer_wire::WireFormat;
    ///
    /// let format = WireFormat::from_content_type("application/json;stream=watch");
    /// assert_eq!(format, Some(WireFormat::Json));
    /// assert_eq!(WireFormat::from_content_type("text/html"), None);
    /// ```
    #[must_use]
    pub fn from_content_type(content_type: &str) -> Option<Self> {
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        media_type
            .eq_ignore_ascii_case("application/json")
            .then_some(Self::Json)
    }
}

/// Which kind of answer is asked for.
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
