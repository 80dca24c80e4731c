//! `informer watch`: follow a kind of objects of a cluster.

use std::process::ExitCode;
use std::time::Duration;

use informer::http::{HttpConfig, HttpListerWatcher};
use informer::{Client, FromWire, Object, ReflectorConfig, Resource, Scope};

use crate::args::WatchArgs;
use crate::forms::{self, Job};
use crate::output::{Line, Printer};
use crate::run::{Ended, Plan, Run};
use crate::{connect, signals};

/// Follows what the arguments name. Exit code 0 when it is stopped, or with `--once` when synced.
pub(crate) async fn run(args: &WatchArgs) -> anyhow::Result<ExitCode> {
    // First of all, so that it can be stopped at any moment.
    let mut end = Box::pin(signals::end(args.run_for)?);
    signals::end_at_last(args.run_for)?;
    connect::check(&args.selection)?;
    let connection = args.connection.clone();
    let client = tokio::select! {
        biased;
        // It reads files, which may take its time.
        client = tokio::task::spawn_blocking(move || connect::client(&connection)) => client??,
        () = &mut end => return never_started(&mut Printer::new(args.output, &args.resource)),
    };
    let mut printer = Printer::new(args.output, &args.resource);
    let found = {
        let mut print = |message: &str| Ok(printer.print(&Line::Error { message })?);
        let limit = if args.once {
            args.sync_timeout
        } else {
            Duration::MAX
        };
        tokio::select! {
            biased;
            found = connect::resource(&client, &args.resource, &mut print) => Some(found?),
            () = tokio::time::sleep(limit) => {
                anyhow::bail!("not synced within {limit:?}: cannot find out what {:?} is", args.resource)
            }
            () = &mut end => None,
        }
    };
    let Some(found) = found else {
        return never_started(&mut printer);
    };
    let follow = Follow {
        args,
        client,
        resource: found,
        printer,
        end,
    };
    let resource = follow.resource.clone();
    forms::run(args.fetch.form, args.fetch.wire, &resource, follow).await
}

/// Prints the end of a command that was stopped before it started to follow.
pub(crate) fn never_started(printer: &mut Printer) -> anyhow::Result<ExitCode> {
    printer.print(&Line::Final {
        count: 0,
        resource_version: String::new(),
        keys: std::collections::BTreeMap::new(),
    })?;
    Ok(ExitCode::SUCCESS)
}

struct Follow<'a, E> {
    args: &'a WatchArgs,
    client: Client,
    resource: Resource,
    printer: Printer,
    end: E,
}

impl<E: Future<Output = ()>> Job for Follow<'_, E> {
    type Output = ExitCode;

    async fn run<K: FromWire + Object>(mut self) -> anyhow::Result<ExitCode> {
        let plan = Plan {
            name: self.resource.plural.to_string(),
            reflector: reflector(self.args),
            resync: self.args.resync,
            once: self.args.once.then_some(self.args.sync_timeout),
        };
        let mut source = HttpListerWatcher::<K>::new(self.client, self.resource.clone())
            .config(HttpConfig::default().wire(self.args.fetch.wire.preference()));
        if let (Scope::Namespaced, Some(namespace)) =
            (self.resource.scope, &self.args.selection.namespace)
        {
            source = source.namespace(namespace);
        }
        let mut run = Run::start(source, plan)?;
        if run.print(&mut self.printer, self.end).await? == Ended::Synced {
            self.printer.finish()?;
            return Ok(ExitCode::SUCCESS);
        }
        run.finish(&mut self.printer).await?;
        Ok(ExitCode::SUCCESS)
    }
}

fn reflector(args: &WatchArgs) -> ReflectorConfig {
    let mut config = args.fetch.reflector();
    if let Some(selector) = &args.selection.label_selector {
        config = config.label_selector(selector);
    }
    if let Some(selector) = &args.selection.field_selector {
        config = config.field_selector(selector);
    }
    config
}
