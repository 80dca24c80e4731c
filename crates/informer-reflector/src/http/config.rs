//! What to choose for lists and watches over HTTP.

use std::time::Duration;

use informer_wire::DecodeOptions;

use super::negotiation::WirePreference;

/// What to choose for lists and watches over HTTP.
///
/// ```
/// use std::time::Duration;
/// use informer_reflector::http::HttpConfig;
///
/// let config = HttpConfig::default().list_silence(Duration::from_secs(10));
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct HttpConfig {
    pub(super) list_answer: Duration,
    pub(super) list_silence: Duration,
    pub(super) watch_answer: Duration,
    pub(super) decode: DecodeOptions,
    pub(super) wire: WirePreference,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            // The server itself gives up after 60 s, and then its answer says why.
            list_answer: Duration::from_secs(70),
            list_silence: Duration::from_secs(30),
            // The server answers at once, but may hold a watch back for some seconds under load.
            watch_answer: Duration::from_secs(30),
            decode: DecodeOptions::default(),
            wire: WirePreference::Auto,
        }
    }
}

impl HttpConfig {
    /// How long a list's answer may take to begin. The default is 70 seconds, a little more than servers allow
    /// themselves.
    pub const fn list_answer(mut self, limit: Duration) -> Self {
        self.list_answer = limit;
        self
    }

    /// How long a list's body may send nothing. The default is 30 seconds.
    pub const fn list_silence(mut self, limit: Duration) -> Self {
        self.list_silence = limit;
        self
    }

    /// How long a watch's answer may take to begin. The default is 30 seconds.
    pub const fn watch_answer(mut self, limit: Duration) -> Self {
        self.watch_answer = limit;
        self
    }

    /// How objects are decoded.
    pub fn decode(mut self, options: DecodeOptions) -> Self {
        self.decode = options;
        self
    }

    /// Which wire formats are asked for. The default is the best that server and kind have.
    pub const fn wire(mut self, preference: WirePreference) -> Self {
        self.wire = preference;
        self
    }
}
