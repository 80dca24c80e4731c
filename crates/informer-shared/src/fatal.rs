//! Where a handler whose failure is to end the informer says so.

use std::sync::Arc;

use tokio::sync::watch;

use crate::error::RunError;
use crate::handler::HandlerFailure;

/// The first failure that ends an informer.
pub(crate) struct Fatal(watch::Sender<Option<RunError>>);

impl Fatal {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    pub(crate) fn report(&self, handler: &Arc<str>, source: HandlerFailure) {
        self.0.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert_with(|| RunError::Handler {
                handler: Arc::clone(handler),
                source,
            });
            is_first
        });
    }

    /// Resolves once there is one.
    pub(crate) async fn reported(&self) -> RunError {
        let mut first = self.0.subscribe();
        loop {
            if let Some(error) = &*first.borrow_and_update() {
                return error.clone();
            }
            if first.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
