//! Within which informer's handler code runs, so that a handler never waits for itself.

use std::cell::Cell;

tokio::task_local! {
    static OF_TASK: (u64, u64);
}

thread_local! {
    static OF_THREAD: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
}

/// Runs a future within a handler. Both have ids: the handler and the listeners of its informer.
pub(super) async fn within<F: Future>(ids: (u64, u64), run: F) -> F::Output {
    OF_TASK.scope(ids, run).await
}

/// Makes the current thread that of a handler.
pub(super) fn enter_thread(ids: (u64, u64)) {
    OF_THREAD.set(Some(ids));
}

fn current() -> Option<(u64, u64)> {
    let of_task = OF_TASK.try_with(|ids| *ids).ok();
    of_task.or_else(|| OF_THREAD.get())
}

/// Returns `true` within this handler.
pub(super) fn is_within_handler(id: u64) -> bool {
    current().is_some_and(|(handler, _)| handler == id)
}

/// Returns `true` within any handler of the informer whose listeners have this id.
pub(crate) fn is_within_informer(id: u64) -> bool {
    current().is_some_and(|(_, listeners)| listeners == id)
}
