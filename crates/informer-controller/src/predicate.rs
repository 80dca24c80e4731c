//! Predicates for [`EventSource::when`](crate::EventSource::when): which events queue keys.
//!
//! A predicate is a function of an event. Those here pass additions, deletions, and updates that change the part they are
//! about; resyncs pass [`any`] alone.
//!
//! ```
//! use informer_controller::predicate;
//! use informer_shared::Event;
//! use k8s_openapi::api::core::v1::ConfigMap;
//!
//! let mut matters = predicate::either(predicate::labels(), predicate::changed(|map: &ConfigMap| map.data.clone()));
//! let map = std::sync::Arc::new(ConfigMap::default());
//! assert!(matters(&Event::Added { object: map, initial: true }));
//! ```

use std::collections::BTreeMap;

use informer_shared::Event;
use informer_store::{Object, ObjectMetadata};

/// Passes every event.
pub fn any<K>() -> impl FnMut(&Event<K>) -> bool + Send + 'static {
    |_: &Event<K>| true
}

/// Passes updates that change what a function returns.
#[doc(alias = "predicate.Funcs")]
pub fn changed<K, V: PartialEq>(
    mut part: impl FnMut(&K) -> V + Send + 'static,
) -> impl FnMut(&Event<K>) -> bool + Send + 'static {
    move |event| match event {
        Event::Updated { old, new, .. } => part(old) != part(new),
        _ => true,
    }
}

/// Passes updates that change labels.
#[doc(alias = "LabelChangedPredicate")]
pub fn labels<K: Object>() -> impl FnMut(&Event<K>) -> bool + Send + 'static {
    |event: &Event<K>| match event {
        Event::Updated { old, new, .. } => {
            let [old, new] = [old, new].map(|object| object.metadata());
            !are_equal(old.labels(), new.labels())
        }
        _ => true,
    }
}

/// Passes updates that change annotations.
#[doc(alias = "AnnotationChangedPredicate")]
pub fn annotations<K: Object>() -> impl FnMut(&Event<K>) -> bool + Send + 'static {
    |event: &Event<K>| match event {
        Event::Updated { old, new, .. } => {
            let [old, new] = [old, new].map(|object| object.metadata());
            !are_equal(old.annotations(), new.annotations())
        }
        _ => true,
    }
}

/// Passes updates that change `metadata.generation`: those of the desired state, and the start of a deletion. Of kinds
/// whose server counts no generations, it passes every update.
///
/// A change of labels, annotations, finalizers or status changes no generation. A controller that adds a finalizer and
/// waits for the event of that takes [`either`]`(generation(), finalizers())`.
#[doc(alias = "GenerationChangedPredicate")]
pub fn generation<K: Object>() -> impl FnMut(&Event<K>) -> bool + Send + 'static {
    |event: &Event<K>| match event {
        Event::Updated { old, new, .. } => {
            let [old, new] = [old, new].map(|object| object.metadata().generation());
            old.is_none() || old != new
        }
        _ => true,
    }
}

/// Passes updates that change finalizers or start a deletion.
pub fn finalizers<K: Object>() -> impl FnMut(&Event<K>) -> bool + Send + 'static {
    |event: &Event<K>| match event {
        Event::Updated { old, new, .. } => {
            let [old, new] = [old, new].map(|object| object.metadata());
            old.is_being_deleted() != new.is_being_deleted()
                || !old.finalizers().eq(new.finalizers())
        }
        _ => true,
    }
}

/// Passes what one or the other passes.
#[doc(alias = "predicate.Or")]
pub fn either<K>(
    mut one: impl FnMut(&Event<K>) -> bool + Send + 'static,
    mut other: impl FnMut(&Event<K>) -> bool + Send + 'static,
) -> impl FnMut(&Event<K>) -> bool + Send + 'static {
    move |event| one(event) || other(event)
}

fn are_equal<'a>(
    one: impl Iterator<Item = (&'a str, &'a str)>,
    other: impl Iterator<Item = (&'a str, &'a str)>,
) -> bool {
    one.collect::<BTreeMap<_, _>>() == other.collect::<BTreeMap<_, _>>()
}
