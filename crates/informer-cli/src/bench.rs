//! `informer bench`: measures an informer's time, memory and bytes, as one line of JSON.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use informer::http::{HttpConfig, HttpListerWatcher, Traffic};
use informer::reflector::{ReflectorPhase, Report};
use informer::wire::WireFormat;
use informer::{
    Client, Event, FromWire, Object, QueuePolicy, Registration, Resource, SharedInformer,
};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use crate::args::{BenchArgs, BenchCommand, Form, SyncArgs};
use crate::failure::{self, Usage, printable};
use crate::forms::{self, Job};
use crate::output::json;
use crate::run::build_failed;
use crate::trouble::{Trouble, Troubles};
use crate::{connect, memory};

/// After the sync, when memory is read as `settled_rss_kb`.
const SETTLING: Duration = Duration::from_secs(1);

/// From one list to the next. Longer than [`SETTLING`], so that no list falls into that.
const RELIST_PERIOD: Duration = Duration::from_secs(2);

/// How often the number of lists is checked.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Measures what the arguments name, prints the line and ends.
///
/// # Errors
/// If only the caller can correct the cause, or the time limit passes.
pub(crate) async fn run(what: &BenchCommand) -> anyhow::Result<ExitCode> {
    let (args, then) = match what {
        BenchCommand::Sync(SyncArgs { relists: 0, bench }) => (bench, Then::End),
        BenchCommand::Sync(args) => (&args.bench, Then::Relist(args.relists)),
        BenchCommand::Events(args) => (&args.bench, Then::See(args.events)),
    };
    let connection = args.connection.clone();
    let client = tokio::task::spawn_blocking(move || connect::client(&connection)).await??;
    let (send, troubles) = mpsc::unbounded_channel();
    let measured = async {
        let mut failed = |message: &str| {
            // The receiver is dropped after this.
            let _ = send.send(Trouble::Reason(message.to_owned()));
            Ok(())
        };
        let resource = connect::resource(&client, &args.resource, &mut failed).await?;
        let bench = Bench {
            args,
            then,
            client,
            resource: resource.clone(),
            troubles: send.clone(),
        };
        forms::run(args.fetch.form, args.fetch.wire, &resource, bench).await
    };
    tokio::select! {
        // A result counts, however late.
        biased;
        line = measured => json::line(&line?)?,
        error = hopeless(troubles) => return Err(error),
        () = tokio::time::sleep(args.timeout) => {
            anyhow::bail!("not done within {:?}; correct the failures printed above, if any, or raise --timeout", args.timeout)
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints failures on stderr, and returns the first after which no later request can succeed.
async fn hopeless(mut troubles: mpsc::UnboundedReceiver<Trouble>) -> anyhow::Error {
    while let Some(trouble) = troubles.recv().await {
        match trouble {
            Trouble::Reason(message) => {
                failure::print(&format!("informer: {}", printable(&message)))
            }
            Trouble::Hopeless(message) => return Usage::error(message),
        }
    }
    std::future::pending().await
}

/// The line that a measurement prints. Its form is a public interface.
#[derive(Debug, Serialize)]
struct Line {
    objects: usize,
    seconds: f64,
    peak_rss_kb: Option<u64>,
    settled_rss_kb: Option<u64>,
    bytes: u64,
    wire: &'static str,
    #[serde(rename = "as")]
    form: &'static str,
    #[serde(flatten)]
    events: Option<Events>,
    #[serde(flatten)]
    relists: Option<Relists>,
}

/// What is added where events are measured.
#[derive(Debug, Serialize)]
struct Events {
    events: u64,
    events_per_second: f64,
}

/// What is added where lists follow the first.
#[derive(Debug, Serialize)]
struct Relists {
    relists: u32,
    relist_peak_rss_kb: Option<u64>,
}

/// What follows the sync.
#[derive(Debug, Clone, Copy)]
enum Then {
    End,
    /// Wait for so many updates.
    See(u64),
    /// Wait for so many further lists.
    Relist(u32),
}

struct Bench<'a> {
    args: &'a BenchArgs,
    then: Then,
    client: Client,
    resource: Resource,
    troubles: mpsc::UnboundedSender<Trouble>,
}

impl Job for Bench<'_> {
    type Output = Line;

    async fn run<K: FromWire + Object>(self) -> anyhow::Result<Line> {
        let source = HttpListerWatcher::<K>::new(self.client, self.resource.clone())
            .config(HttpConfig::default().wire(self.args.fetch.wire.preference()));
        let traffic = source.traffic();
        let informer = informer(source, &self.resource, self.args, self.then, self.troubles)?;
        let (handler, counted) = handler(&informer, self.then)?;
        let started = Instant::now();
        informer.start()?;
        let objects = tokio::select! {
            // Once synced, an end is no failure.
            biased;
            synced = handler.synced() => {
                synced.context("informer ended")?;
                informer.store().len()
            }
            ended = informer.stopped() => {
                ended.context("informer ended")?;
                anyhow::bail!("informer ended")
            }
        };
        let mut line = Line {
            objects,
            seconds: json::seconds(started.elapsed()),
            peak_rss_kb: None,
            settled_rss_kb: None,
            bytes: traffic.bytes(),
            wire: wire(&traffic),
            form: name(self.args.fetch.form),
            events: None,
            relists: None,
        };
        tokio::time::sleep(SETTLING).await;
        line.settled_rss_kb = memory::read().rss_kb;
        match self.then {
            Then::End => line.peak_rss_kb = memory::read().peak_rss_kb,
            Then::See(events) => {
                let elapsed = counted.await.context("handler ended")?;
                line.events = Some(Events {
                    events,
                    events_per_second: per_second(events, elapsed),
                });
                line.bytes = traffic.bytes();
                line.peak_rss_kb = memory::read().peak_rss_kb;
            }
            Then::Relist(relists) => {
                line.peak_rss_kb = memory::read().peak_rss_kb;
                line.relists = Some(relisted(&informer, relists).await?);
            }
        }
        // The caller wants the line, not a tidy end.
        std::mem::forget(informer);
        Ok(line)
    }
}

/// Adds a handler that counts updates. The receiver receives how long the requested number took.
fn handler<K: FromWire + Object>(
    informer: &SharedInformer<K>,
    then: Then,
) -> anyhow::Result<(Registration, oneshot::Receiver<Duration>)> {
    let wanted = match then {
        Then::See(events) => events,
        Then::End | Then::Relist(_) => u64::MAX,
    };
    let (count, counted) = updates(wanted);
    let count = Mutex::new(count);
    let handler = informer
        .handler()
        .name("bench")
        .queue(QueuePolicy::Unbounded)
        .register(move |event: Event<K>| {
            if matches!(event, Event::Updated { .. }) {
                count.lock().see();
            }
            std::future::ready(())
        })?;
    Ok((handler, counted))
}

/// Waits for that many lists after the first, and reads the peak of memory meanwhile.
async fn relisted<K: FromWire + Object>(
    informer: &SharedInformer<K>,
    relists: u32,
) -> anyhow::Result<Relists> {
    memory::forget_peak()?;
    loop {
        let reflector = informer.status().reflector;
        if reflector.lists > u64::from(relists) && reflector.phase == ReflectorPhase::Watching {
            return Ok(Relists {
                relists,
                relist_peak_rss_kb: memory::read().peak_rss_kb,
            });
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Builds an informer as `informer watch` runs it: no event is coalesced.
fn informer<K: FromWire + Object>(
    source: HttpListerWatcher<K>,
    resource: &Resource,
    args: &BenchArgs,
    then: Then,
    send: mpsc::UnboundedSender<Trouble>,
) -> anyhow::Result<SharedInformer<K>> {
    let mut reflector = args.fetch.reflector();
    if let Then::Relist(_) = then {
        reflector = reflector.relist_period(RELIST_PERIOD);
    }
    let troubles = Mutex::new(Troubles::default());
    let informer = SharedInformer::builder(source)
        .name(&*resource.plural)
        .reflector_config(reflector)
        .max_deltas(None)
        .watch_error_handler(move |report: &Report| {
            let trouble = troubles.lock().filter(Instant::now(), report);
            if let Some(trouble) = trouble {
                // The receiver is dropped only when the command ends.
                let _ = send.send(trouble);
            }
        })
        .build()
        .map_err(build_failed)?;
    Ok(informer)
}

/// Counts updates and sends how long they took, from the first to the last.
struct Updates {
    left: u64,
    first: Option<Instant>,
    done: Option<oneshot::Sender<Duration>>,
}

fn updates(wanted: u64) -> (Updates, oneshot::Receiver<Duration>) {
    let (done, receiver) = oneshot::channel();
    let updates = Updates {
        left: wanted,
        first: None,
        done: Some(done),
    };
    (updates, receiver)
}

impl Updates {
    fn see(&mut self) {
        let first = *self.first.get_or_insert_with(Instant::now);
        self.left = self.left.saturating_sub(1);
        if self.left == 0
            && let Some(done) = self.done.take()
        {
            // Nobody waits when the command ends for another reason.
            let _ = done.send(first.elapsed());
        }
    }
}

/// A whole number: more would be noise.
fn per_second(events: u64, elapsed: Duration) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "no run sees as many events as that"
    )]
    let events = events as f64;
    (events / elapsed.as_secs_f64().max(1e-9)).round()
}

fn wire(traffic: &Traffic) -> &'static str {
    match traffic.format() {
        Some(WireFormat::Json) => "json",
        Some(WireFormat::Protobuf) => "protobuf",
        _ => "none",
    }
}

const fn name(form: Form) -> &'static str {
    match form {
        Form::Compact => "compact",
        Form::Typed => "typed",
        Form::Metadata => "metadata",
        Form::View => "view",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_has_the_documented_form() {
        let mut line = Line {
            objects: 3,
            seconds: 0.25,
            peak_rss_kb: Some(9000),
            settled_rss_kb: Some(8000),
            bytes: 1234,
            wire: "json",
            form: "compact",
            events: None,
            relists: None,
        };
        assert_eq!(
            serde_json::to_string(&line).unwrap(),
            r#"{"objects":3,"seconds":0.25,"peak_rss_kb":9000,"settled_rss_kb":8000,"bytes":1234,"wire":"json","as":"compact"}"#
        );
        line.events = Some(Events {
            events: 10,
            events_per_second: per_second(10, Duration::from_millis(4)),
        });
        assert!(
            serde_json::to_string(&line)
                .unwrap()
                .ends_with(r#""as":"compact","events":10,"events_per_second":2500.0}"#)
        );
        line.events = None;
        line.relists = Some(Relists {
            relists: 2,
            relist_peak_rss_kb: Some(8500),
        });
        assert!(
            serde_json::to_string(&line)
                .unwrap()
                .ends_with(r#""as":"compact","relists":2,"relist_peak_rss_kb":8500}"#)
        );
    }

    #[tokio::test]
    async fn updates_are_timed_from_first_to_last() {
        let (mut updates, counted) = updates(2);
        updates.see();
        assert!(updates.done.is_some());
        updates.see();
        // One too many changes nothing.
        updates.see();
        assert!(counted.await.is_ok());
    }
}
