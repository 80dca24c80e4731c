//! Batches of a plain informer: the store in one step, then the one handler, event by event.

use std::collections::HashMap;

use informer_delta_fifo::Batch;
use informer_store::{Object, ObjectKey, Store, mutant};

use crate::apply::RecreatedAs;
use crate::controller::{Failures, Process, write};
use crate::event::{Cause, Event};
use crate::handler::EventHandler;

/// Writes a store and tells one handler.
pub(crate) struct InformerProcess<K: Object, H> {
    pub(super) store: Store<K>,
    pub(super) recreated: RecreatedAs,
    /// The handler hears of unchanged objects too.
    pub(super) reminds: bool,
    pub(super) handler: H,
    /// The last event of each key whose handling failed.
    pub(super) missed: HashMap<ObjectKey, Event<K>>,
}

impl<K: Object, H: EventHandler<K>> InformerProcess<K, H> {
    async fn tell(&mut self, key: &ObjectKey, event: Event<K>, failures: &mut Failures) {
        match self.handler.handle(event.clone()).await {
            Ok(()) => drop(self.missed.remove(key)),
            Err(error) => {
                failures.push(key.clone(), error);
                self.missed.insert(key.clone(), event);
            }
        }
    }

    /// What failed before this list, and of which the list had nothing new to tell, is told again.
    async fn repair(&mut self, missed: HashMap<ObjectKey, Event<K>>, failures: &mut Failures) {
        for (key, event) in missed {
            let now = self.store.snapshot().base(&key).cloned();
            let event = match (now, event) {
                (Some(object), _) => Event::Updated {
                    old: object.clone(),
                    new: object,
                    cause: Cause::Relist,
                },
                (None, event @ Event::Deleted { .. }) => event,
                (None, _) => continue,
            };
            self.tell(&key, event, failures).await;
        }
    }
}

impl<K: Object, H: EventHandler<K>> Process<K> for InformerProcess<K, H> {
    async fn process(&mut self, batch: &Batch<K>) -> Result<(), Failures> {
        let (notifications, _counts) = write(&self.store, batch, self.recreated, self.reminds);
        let mut failures = Failures::new();
        let mut to_repair = HashMap::new();
        if batch.replace().is_some() && !mutant!("informer-repair-nothing") {
            to_repair = std::mem::take(&mut self.missed);
        }
        for told in notifications {
            to_repair.remove(&told.key);
            self.tell(&told.key, told.delivery.event, &mut failures)
                .await;
        }
        self.repair(to_repair, &mut failures).await;
        failures.into_result()
    }
}
