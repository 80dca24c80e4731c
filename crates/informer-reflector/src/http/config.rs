//! The settings of lists and watches over HTTP.

use informer_wire::DecodeOptions;

use super::negotiation::WirePreference;

/// The settings of lists and watches over HTTP. Their time limits are the reflector's
/// ([`ReflectorConfig`](crate::ReflectorConfig)).
///
/// ```
/// use informer_reflector::http::HttpConfig;
/// use informer_wire::DecodeOptions;
///
/// let config = HttpConfig::default().decode(DecodeOptions::default());
/// # let _ = config;
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct HttpConfig {
    pub(super) decode: DecodeOptions,
    pub(super) wire: WirePreference,
}

impl HttpConfig {
    /// Sets how objects are decoded.
    pub fn decode(mut self, options: DecodeOptions) -> Self {
        self.decode = options;
        self
    }

    /// Sets which wire formats are requested. Default: the best that server and kind have.
    pub const fn wire(mut self, preference: WirePreference) -> Self {
        self.wire = preference;
        self
    }
}
