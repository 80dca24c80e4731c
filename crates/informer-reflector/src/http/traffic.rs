//! What lists and watches have received.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use informer_wire::WireFormat;

/// What the lists and watches of one [`HttpListerWatcher`](super::HttpListerWatcher) and its clones have received.
/// Clones of this show the same.
///
/// ```no_run
/// # fn example(client: informer_client::Client) {
/// use informer_reflector::http::HttpListerWatcher;
/// use k8s_openapi::api::core::v1::Pod;
///
/// let pods = HttpListerWatcher::<Pod>::all(client);
/// let traffic = pods.traffic();
/// // Give `pods` to an informer, and look from time to time:
/// println!("{} bytes, the last ones in {:?}", traffic.bytes(), traffic.format());
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Traffic(Arc<Counts>);

#[derive(Default)]
struct Counts {
    bytes: AtomicU64,
    /// 0 before the first response.
    format: AtomicU8,
}

const JSON: u8 = 1;
const PROTOBUF: u8 = 2;

impl Traffic {
    /// Returns the number of bytes of received bodies, unpacked where the server compressed them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Returns the format of the last response; `None` before the first.
    #[must_use]
    pub fn format(&self) -> Option<WireFormat> {
        match self.0.format.load(Ordering::Relaxed) {
            JSON => Some(WireFormat::Json),
            PROTOBUF => Some(WireFormat::Protobuf),
            _ => None,
        }
    }

    pub(super) fn received(&self, bytes: usize) {
        self.0.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn answered(&self, format: WireFormat) {
        let format = match format {
            WireFormat::Json => JSON,
            WireFormat::Protobuf => PROTOBUF,
            _ => 0,
        };
        self.0.format.store(format, Ordering::Relaxed);
    }
}

impl fmt::Debug for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traffic")
            .field("bytes", &self.bytes())
            .field("format", &self.format())
            .finish()
    }
}
