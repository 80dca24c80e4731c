//! What can be sent to other threads is part of the interface.

use informer_shared::{
    BuildError, EndReason, Event, EventStream, FailedKeys, HandlerBuilder, HandlerError,
    HandlerFns, HandlerStatus, InformerFactory, InformerStatus, NotSynced, ProcessLoopStatus,
    Registration, RunError, SharedInformer, Wait, WaitError, WeakInformer,
};
use k8s_openapi::api::core::v1::Pod;
use tokio_util::sync::CancellationToken;

fn send_and_sync<T: Send + Sync + 'static>() {}
fn send<T: Send + 'static>() {}
fn future_is_send<T: Send>(_: impl FnOnce(&'static SharedInformer<Pod>) -> T) {}

#[test]
fn handles_and_values_cross_threads() {
    send_and_sync::<SharedInformer<Pod>>();
    send_and_sync::<WeakInformer<Pod>>();
    send_and_sync::<InformerFactory<()>>();
    send_and_sync::<Registration>();
    send_and_sync::<Event<Pod>>();
    send_and_sync::<HandlerStatus>();
    send_and_sync::<InformerStatus>();
    send_and_sync::<ProcessLoopStatus>();
    send_and_sync::<NotSynced>();
    send_and_sync::<EndReason>();
    send_and_sync::<HandlerError>();
    send_and_sync::<RunError>();
    send_and_sync::<BuildError>();
    send_and_sync::<WaitError>();
    send_and_sync::<FailedKeys>();
    send::<EventStream<Pod>>();
    send::<HandlerBuilder<Pod>>();
    send::<HandlerFns<Pod>>();
    send::<Wait>();
}

#[test]
fn futures_cross_threads() {
    future_is_send(|informer| informer.run(CancellationToken::new()));
    future_is_send(|informer| informer.stop());
    future_is_send(|informer| informer.synced().into_future());
}
