//! `informer demo`: a shared informer at work, with nothing installed.
//!
//! An API server in memory, filled with pods that change all the time; a shared informer with an index and two handlers,
//! one fast and one slow; in the end the server's list, the cache, the index and the handlers' events are compared.

mod check;
mod handlers;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use informer::http::HttpListerWatcher;
use informer::shared::{HandlerStatus, InformerStatus};
use informer::{
    Client, Compact, Event, IndexValues, Indexers, Object, Registration, SharedInformer,
};
use informer_testkit::{ApiServer, Workload};
use k8s_openapi::api::core::v1::Pod;
use tokio::time::{MissedTickBehavior, interval_at};

use crate::args::{DemoArgs, Output};
use crate::failure;
use crate::output::{self, Printer};
use crate::run::{final_line, print_event, synced_line};
use crate::serve::fill;
use crate::signals;
use crate::watch::never_started;
use handlers::Seen;

/// Pods as the demo caches them: about the size of the wire.
pub(crate) type CachedPod = Compact<Pod>;

/// The index that the demo shows.
const BY_APP: &str = "app";
/// How often the live table is drawn, and how often a line is printed where there is no terminal.
const FRAME: Duration = Duration::from_millis(200);
const SUMMARY: Duration = Duration::from_secs(1);
/// How long the cache and the handlers may take to reach the server's state in the end.
const CATCH_UP: Duration = Duration::from_secs(30);

/// Runs the demo. Exit code 0 if all agrees in the end, 1 if not.
pub(crate) async fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    let mut end = Box::pin(signals::end(args.run_for)?);
    let server = ApiServer::builder()
        .bookmark_period(Duration::from_secs(1))
        .start()
        .await
        .context("cannot start the API server on loopback")?;
    let workload = Workload::new().pods(args.pods as usize).seed(args.seed);
    let Some((server, workload)) = fill(server, workload, &mut end).await? else {
        return never_started(&mut Printer::new(args.output, "pods"));
    };
    let client = Client::anonymous(&server.url())?;
    let mut demo = Demo::start(args, client.clone()).await?;
    demo.say(&format!("serving {} pods at {}", args.pods, server.url()))?;
    let running = workload.start(&server, f64::from(args.rate));

    demo.follow(end).await?;

    running.stop().await;
    demo.slow.1.hurry();
    demo.catch_up(server.resource_version()).await?;
    let comparison = demo.comparison(&client).await?;
    demo.finish(&comparison).await?;
    server.shutdown().await;
    Ok(if comparison.agrees() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The informer, its two handlers, and where they are shown.
struct Demo {
    informer: SharedInformer<CachedPod>,
    events: informer::shared::EventStream<CachedPod>,
    quick: (Registration, Arc<Seen>),
    slow: (Registration, Arc<Seen>),
    printer: Printer,
    output: Output,
    pods: usize,
    started: Instant,
}

impl Demo {
    async fn start(args: &DemoArgs, client: Client) -> anyhow::Result<Self> {
        let by_app =
            Indexers::new().index(BY_APP, |pod: &CachedPod, values: &mut IndexValues<'_>| {
                values.extend(pod.label("app"));
            });
        let informer = SharedInformer::builder(HttpListerWatcher::<CachedPod>::all(client))
            .name("pods")
            .indexers(by_app)
            .build()?;
        let quick = handlers::quick(&informer)?;
        let slow = handlers::slow(&informer)?;
        let events = informer.events()?;
        informer.start()?;
        Ok(Self {
            informer,
            events,
            quick,
            slow,
            printer: Printer::new(args.output, "pods"),
            output: args.output,
            pods: args.pods as usize,
            started: Instant::now(),
        })
    }

    /// Shows what happens until the time is over.
    async fn follow(&mut self, end: impl Future<Output = ()>) -> anyhow::Result<()> {
        use futures_util::StreamExt;

        let mut end = std::pin::pin!(end);
        let mut synced = std::pin::pin!(self.informer.synced().into_future());
        let mut is_synced = false;
        let mut frames = interval(FRAME);
        let mut summaries = interval(SUMMARY);
        loop {
            tokio::select! {
                // The end first, and frames before events, of which there may always be more.
                biased;
                () = &mut end => return Ok(()),
                outcome = &mut synced, if !is_synced => {
                    outcome?;
                    is_synced = true;
                    let cached = self.informer.store().snapshot();
                    self.printer.print(&synced_line(&cached, self.started.elapsed()))?;
                }
                _ = frames.tick(), if self.is_live() => {
                    let extra = self.summary();
                    let received = self.informer.store().len();
                    self.printer.draw(received, Some(self.pods), &extra);
                }
                _ = summaries.tick(), if self.is_plain() => self.say(&self.summary().join("; "))?,
                Some(event) = self.events.next() => self.show(&event)?,
            }
        }
    }

    /// Shows each event on a terminal and in JSON; elsewhere there are only summaries.
    fn show(&mut self, event: &Event<CachedPod>) -> anyhow::Result<()> {
        if self.is_plain() {
            return Ok(());
        }
        print_event(&mut self.printer, event)
    }

    fn is_plain(&self) -> bool {
        matches!(self.printer, Printer::Plain)
    }

    fn is_live(&self) -> bool {
        matches!(self.printer, Printer::Live(_))
    }

    /// Prints a line for people that is no event.
    fn say(&self, text: &str) -> io::Result<()> {
        if self.output == Output::Text {
            return output::say(text);
        }
        failure::print(text);
        Ok(())
    }

    /// The state of the cache, its index and the handlers, a line each.
    fn summary(&self) -> Vec<String> {
        let status: InformerStatus = self.informer.status();
        let watching = if status.watching {
            "watching"
        } else {
            "not watching"
        };
        let mut lines = vec![format!(
            "{:.1} s: {} objects cached, {watching}, {} changes applied",
            self.started.elapsed().as_secs_f64(),
            status.objects,
            status.applied,
        )];
        lines.push(format!("index {BY_APP}: {}", self.largest_apps()));
        for (registration, seen) in [&self.quick, &self.slow] {
            lines.push(handler_line(&registration.status(), seen));
        }
        lines
    }

    /// The index values with the most pods.
    fn largest_apps(&self) -> String {
        let snapshot = self.informer.store().snapshot();
        let values = snapshot.list_index_values(BY_APP);
        let mut apps: Vec<(usize, Arc<String>)> = values
            .into_iter()
            .map(|app| {
                (
                    snapshot.by_index(BY_APP, &app).map_or(0, |pods| pods.len()),
                    app,
                )
            })
            .collect();
        apps.sort_by(|a, b| b.cmp(a));
        let largest: Vec<String> = apps
            .iter()
            .take(4)
            .map(|(pods, app)| format!("{app} {pods}"))
            .collect();
        format!("{} values, largest {}", apps.len(), largest.join(", "))
    }

    /// Waits until the cache has the server's state, and the handlers that of the cache.
    async fn catch_up(&self, revision: u64) -> anyhow::Result<()> {
        self.informer
            .wait_until(revision.into())
            .deadline(CATCH_UP)
            .await?;
        let deadline = Instant::now() + CATCH_UP;
        loop {
            let idle = |registration: &Registration| {
                let status = registration.status();
                status.queue_depth == 0 && status.lag.is_zero()
            };
            if idle(&self.quick.0) && idle(&self.slow.0) {
                return Ok(());
            }
            anyhow::ensure!(
                Instant::now() < deadline,
                "a handler still has queued events after {CATCH_UP:?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Compares a fresh list of the server with cache, index and handlers.
    async fn comparison(&self, client: &Client) -> anyhow::Result<check::Comparison> {
        let listed = check::fresh_list(client).await?;
        let snapshot = self.informer.store().snapshot();
        Ok(check::compare(
            &listed,
            &snapshot,
            BY_APP,
            &[&self.quick.1, &self.slow.1],
        ))
    }

    async fn finish(mut self, comparison: &check::Comparison) -> anyhow::Result<()> {
        let cached = self.informer.store().snapshot();
        self.printer.print(&final_line(&cached))?;
        self.printer.finish()?;
        for line in self.summary().iter().chain(&comparison.lines()) {
            self.say(line)?;
        }
        self.informer.stop().await?;
        Ok(())
    }
}

fn handler_line(status: &HandlerStatus, seen: &Seen) -> String {
    let counts = seen.counts();
    format!(
        "handler {}: {} added, {} updated, {} deleted, {} queued, {} coalesced",
        status.name,
        counts.added,
        counts.updated,
        counts.deleted,
        status.queue_depth,
        status.coalesced,
    )
}

fn interval(period: Duration) -> tokio::time::Interval {
    let mut interval = interval_at(tokio::time::Instant::now() + period, period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
