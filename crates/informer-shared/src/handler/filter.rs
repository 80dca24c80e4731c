//! An informer's events seen through a filter on objects.

use crate::event::Event;
use crate::notification::Delivery;

/// Decides which objects a handler receives.
pub(crate) struct Filter<K>(Box<dyn FnMut(&K) -> bool + Send>);

impl<K> Filter<K> {
    pub(crate) fn new(matches: impl FnMut(&K) -> bool + Send + 'static) -> Self {
        Self(Box::new(matches))
    }

    /// Both filters must match.
    pub(crate) fn and(mut self, mut matches: impl FnMut(&K) -> bool + Send + 'static) -> Self
    where
        K: 'static,
    {
        Self(Box::new(move |object| (self.0)(object) && matches(object)))
    }

    /// Returns what is left of the event: an object that comes to match is added, one that ceases to is deleted.
    ///
    /// For a deletion, the state that the handler has decides.
    pub(crate) fn apply(&mut self, delivery: Delivery<K>) -> Option<Event<K>> {
        match delivery.event {
            Event::Updated { old, new, cause } => match ((self.0)(&new), (self.0)(&old)) {
                (true, true) => Some(Event::Updated { old, new, cause }),
                (true, false) => Some(Event::Added {
                    object: new,
                    initial: false,
                }),
                (false, true) => Some(Event::Deleted {
                    object: old,
                    final_state_unknown: false,
                }),
                (false, false) => None,
            },
            Event::Added { object, initial } => {
                (self.0)(&object).then_some(Event::Added { object, initial })
            }
            Event::Deleted {
                object,
                final_state_unknown,
            } => {
                let before = delivery.before.as_ref().unwrap_or(&object);
                (self.0)(before).then_some(Event::Deleted {
                    object,
                    final_state_unknown,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::event::Cause;

    fn describe(event: Option<Event<i32>>) -> String {
        match event {
            None => "nothing".into(),
            Some(Event::Added { object, initial }) => format!("added {object} {initial}"),
            Some(Event::Updated { old, new, cause }) => format!("updated {old} {new} {cause}"),
            Some(Event::Deleted {
                object,
                final_state_unknown,
            }) => {
                format!("deleted {object} {final_state_unknown}")
            }
        }
    }

    // TY1, CT2
    #[test]
    fn update_across_the_filter_becomes_added_or_deleted() {
        let mut filter = Filter::new(|n: &i32| *n > 0).and(|n| *n < 10);
        let mut update = |old, new| {
            let (old, new) = (Arc::new(old), Arc::new(new));
            describe(
                filter.apply(
                    Event::Updated {
                        old,
                        new,
                        cause: Cause::Watch,
                    }
                    .into(),
                ),
            )
        };
        assert_eq!(update(1, 2), "updated 1 2 watch");
        assert_eq!(update(-1, 2), "added 2 false");
        assert_eq!(update(1, -2), "deleted 1 false");
        assert_eq!(update(1, 20), "deleted 1 false");
        assert_eq!(update(-1, -2), "nothing");
        let mut add = |n| {
            describe(
                filter.apply(
                    Event::Added {
                        object: Arc::new(n),
                        initial: true,
                    }
                    .into(),
                ),
            )
        };
        assert_eq!((add(1), add(-1)), ("added 1 true".into(), "nothing".into()));
        let mut delete = |n, before: Option<i32>| {
            let event = Event::Deleted {
                object: Arc::new(n),
                final_state_unknown: true,
            };
            describe(filter.apply(Delivery {
                event,
                before: before.map(Arc::new),
            }))
        };
        assert_eq!(
            (delete(1, None), delete(-1, None)),
            ("deleted 1 true".into(), "nothing".into())
        );
        assert_eq!(delete(-1, Some(1)), "deleted -1 true");
        assert_eq!(delete(1, Some(-1)), "nothing");
    }
}
