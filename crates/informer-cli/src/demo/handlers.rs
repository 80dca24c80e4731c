//! The two handlers of the demo: a fast one, and one that is slower than the server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use informer::shared::RunError;
use informer::{Event, Object, ObjectKey, Registration, ResourceVersion, SharedInformer};
use parking_lot::Mutex;

use super::CachedPod;

/// How long the slow handler takes for an event.
const SLOW: Duration = Duration::from_millis(10);

/// What a handler received: counts, the state that its events add up to, and breaches of the order of events.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    state: Mutex<State>,
    hurry: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    counts: Counts,
    versions: BTreeMap<ObjectKey, Option<ResourceVersion>>,
    breaches: Vec<String>,
}

/// How many events of each type a handler received.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) added: u64,
    pub(crate) updated: u64,
    pub(crate) deleted: u64,
}

impl Seen {
    /// Records an event. An update or a deletion of what was not added, or a second addition, is a breach.
    fn take(&self, event: &Event<CachedPod>) {
        let key = event.key();
        let version = event.object().resource_version();
        let mut state = self.state.lock();
        let known = match event {
            Event::Added { .. } => {
                state.counts.added += 1;
                !state.versions.contains_key(&key)
            }
            Event::Updated { .. } => {
                state.counts.updated += 1;
                state.versions.contains_key(&key)
            }
            Event::Deleted { .. } => {
                state.counts.deleted += 1;
                state.versions.contains_key(&key)
            }
        };
        if !known {
            state.breaches.push(format!(
                "{event:?} does not follow from what was seen before"
            ));
        }
        if matches!(event, Event::Deleted { .. }) {
            state.versions.remove(&key);
        } else {
            state.versions.insert(key, version);
        }
    }

    /// Makes the slow handler fast, so that the demo ends soon.
    pub(crate) fn hurry(&self) {
        self.hurry.store(true, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> Counts {
        self.state.lock().counts
    }

    /// Returns the state that the events add up to, and what was wrong with their order.
    pub(crate) fn outcome(&self) -> (BTreeMap<ObjectKey, Option<ResourceVersion>>, Vec<String>) {
        let state = self.state.lock();
        (state.versions.clone(), state.breaches.clone())
    }
}

/// An async handler that only counts.
pub(crate) fn quick(
    informer: &SharedInformer<CachedPod>,
) -> Result<(Registration, Arc<Seen>), RunError> {
    let seen = Arc::new(Seen::default());
    let taken = Arc::clone(&seen);
    let registration =
        informer
            .handler()
            .name("quick")
            .register(move |event: Event<CachedPod>| {
                taken.take(&event);
                std::future::ready(())
            })?;
    Ok((registration, seen))
}

/// A slow blocking handler. Its queue coalesces the events of each object.
pub(crate) fn slow(
    informer: &SharedInformer<CachedPod>,
) -> Result<(Registration, Arc<Seen>), RunError> {
    let seen = Arc::new(Seen::default());
    let taken = Arc::clone(&seen);
    let registration =
        informer
            .handler()
            .name("slow")
            .register_blocking(move |event: Event<CachedPod>| {
                if !event.is_initial() && !taken.hurry.load(Ordering::Relaxed) {
                    std::thread::sleep(SLOW);
                }
                taken.take(&event);
            })?;
    Ok((registration, seen))
}
