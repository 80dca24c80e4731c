//! The informers themselves, one for each type of cached objects.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use informer::http::{HttpConfig, HttpListerWatcher, Traffic};
use informer::reflector::Report;
use informer::shared::InformerStatus;
use informer::wire::WireFormat;
use informer::{
    Client, Compact, Dynamic, Event, FromWire, PartialObjectMetadata, QueuePolicy, Registration,
    ResourceVersion, SharedInformer,
};
use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;

use super::fresh::{Judged, indexers};
use super::history::History;
use super::requests::{Counted, Requests};
use super::{Form, Fresh, LIMIT, Observed, Pending, Reports, Seen, Setup, Troubles};
use crate::world::{Kind, Widget};

/// Makes the informer that a setup describes and starts it.
pub(super) fn start(setup: Setup, client: Client) -> anyhow::Result<Box<dyn Observed>> {
    match (setup.form, setup.kind) {
        (Form::Typed, Kind::Pods) => Running::<Pod>::boxed(setup, client),
        (Form::Typed, Kind::Widgets) => Running::<Widget>::boxed(setup, client),
        (Form::Compact, Kind::Pods) => Running::<Compact<Pod>>::boxed(setup, client),
        (Form::Compact, Kind::Widgets) | (Form::Dynamic, _) => {
            Running::<Dynamic>::boxed(setup, client)
        }
        (Form::Metadata, _) => Running::<PartialObjectMetadata>::boxed(setup, client),
    }
}

struct Running<K: Judged> {
    setup: Setup,
    informer: SharedInformer<K>,
    traffic: Traffic,
    handlers: Mutex<Vec<Handler<K>>>,
    requests: Arc<Mutex<Requests>>,
    reports: Reports,
}

struct Handler<K> {
    name: &'static str,
    history: Arc<Mutex<History<K>>>,
    registration: Registration,
}

impl<K: Judged + FromWire> Running<K> {
    fn boxed(setup: Setup, client: Client) -> anyhow::Result<Box<dyn Observed>> {
        let source = HttpListerWatcher::<K>::new(client, setup.kind.resource())
            .config(HttpConfig::default().wire(setup.wire))
            .namespace(setup.namespace.unwrap_or_default());
        let traffic = source.traffic();
        let (source, requests) = Counted::new(source);
        let reports = Reports::default();
        let reported = Arc::clone(&reports);
        let informer = SharedInformer::builder(source)
            .name(setup.to_string())
            .reflector_config(setup.config())
            .indexers(indexers())
            .watch_error_handler(move |report: &Report| reported.lock().take(report))
            .build()?;
        let running = Self {
            setup,
            informer,
            traffic,
            handlers: Mutex::default(),
            requests,
            reports,
        };
        let slowness = running.setup.slowness / 4;
        running.add_async("coalescing", QueuePolicy::Coalesce, slowness)?;
        running.add_async("unbounded", QueuePolicy::Unbounded, Duration::ZERO)?;
        running.add_blocking("blocking")?;
        running.informer.start()?;
        Ok(Box::new(running))
    }
}

impl<K: Judged> Running<K> {
    fn history(&self) -> Arc<Mutex<History<K>>> {
        Arc::new(Mutex::new(History::new(self.informer.store().clone())))
    }

    fn keep(
        &self,
        name: &'static str,
        history: Arc<Mutex<History<K>>>,
        registration: Registration,
    ) {
        self.handlers.lock().push(Handler {
            name,
            history,
            registration,
        });
    }

    fn add_async(
        &self,
        name: &'static str,
        queue: QueuePolicy,
        slowness: Duration,
    ) -> anyhow::Result<()> {
        let history = self.history();
        let told = Arc::clone(&history);
        let handler = move |event: Event<K>| {
            let told = Arc::clone(&told);
            async move {
                if !slowness.is_zero() {
                    tokio::time::sleep(slowness).await;
                }
                told.lock().take(event);
            }
        };
        let registration = self
            .informer
            .handler()
            .name(name)
            .queue(queue)
            .register(handler)?;
        self.keep(name, history, registration);
        Ok(())
    }

    fn add_blocking(&self, name: &'static str) -> anyhow::Result<()> {
        let history = self.history();
        let told = Arc::clone(&history);
        let slowness = self.setup.slowness;
        let handler = move |event: Event<K>| {
            std::thread::sleep(slowness);
            told.lock().take(event);
        };
        let registration = self
            .informer
            .handler()
            .name(name)
            .register_blocking(handler)?;
        self.keep(name, history, registration);
        Ok(())
    }

    async fn wait_for_sync(&self) -> anyhow::Result<()> {
        self.informer.synced().deadline(LIMIT).await?;
        let waits: Vec<_> = self
            .handlers
            .lock()
            .iter()
            .map(|handler| (handler.name, handler.registration.synced()))
            .collect();
        for (name, wait) in waits {
            wait.deadline(LIMIT)
                .await
                .with_context(|| format!("the handler {name}"))?;
        }
        Ok(())
    }
}

impl<K: Judged> Observed for Running<K> {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn format(&self) -> Option<WireFormat> {
        self.traffic.format()
    }

    fn synced(&self) -> Pending<'_> {
        Box::pin(self.wait_for_sync())
    }

    fn reaches(&self, version: ResourceVersion) -> Pending<'_> {
        let reached = self.informer.wait_until(version).deadline(LIMIT);
        Box::pin(async { Ok(reached.await?) })
    }

    fn differences(&self, fresh: &Fresh) -> Vec<String> {
        fresh.differences(&self.informer.store().snapshot())
    }

    fn seen(&self) -> Vec<Seen> {
        let handlers = self.handlers.lock();
        let seen = handlers.iter().map(|handler| {
            let history = handler.history.lock();
            Seen {
                handler: handler.name,
                differences: history.differences(),
                counts: history.counts(),
                deletions: history.deletions().to_vec(),
                relisted: history.relisted().iter().map(ToString::to_string).collect(),
            }
        });
        seen.collect()
    }

    fn add_late_handler(&self) -> anyhow::Result<()> {
        self.add_async("late", QueuePolicy::Unbounded, Duration::ZERO)
    }

    fn status(&self) -> InformerStatus {
        self.informer.status()
    }

    fn requests(&self) -> Requests {
        *self.requests.lock()
    }

    fn troubles(&self) -> Troubles {
        self.reports.lock().clone()
    }
}
