//! The program `provisioner`: hostPath volumes for claims of its classes.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use informer::Client;
use informer::kubeconfig::ConfigLoader;
use provisioner::{HostPath, Options};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// Provide directories of this host as volumes for claims.
#[derive(Debug, Parser)]
#[command(name = "provisioner", version, about, max_term_width = 100)]
struct Arguments {
    /// The kubeconfig. Without it: KUBECONFIG, ~/.kube/config, or what the pod is given.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The name by which storage classes ask for this provisioner.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "informer.example/host-path"
    )]
    provisioner: String,
    /// The directory below which volumes are made.
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/var/lib/informer-provisioner"
    )]
    dir: PathBuf,
    /// How many claims, and how many volumes, are worked on at once.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    workers: u16,
    /// How often everything is looked at again, as 30s, 10m or 1h; 0s is never.
    #[arg(long, value_name = "D", default_value = "10m", value_parser = duration)]
    resync: Duration,
    /// The namespace of the lease by which replicas agree who works. Without it: the connection's.
    #[arg(long, value_name = "NAMESPACE")]
    lease_namespace: Option<String>,
    /// For how long other replicas let one be that holds the lease and does not renew it.
    #[arg(long, value_name = "D", default_value = "15s", value_parser = duration)]
    lease_duration: Duration,
    /// For how long the holder of the lease tries to renew it before it stops working; less than the lease.
    #[arg(long, value_name = "D", default_value = "10s", value_parser = duration)]
    renew_deadline: Duration,
    /// How long replicas wait between two requests for the lease.
    #[arg(long, value_name = "D", default_value = "2s", value_parser = duration)]
    retry_period: Duration,
}

fn duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration = text
        .parse()
        .map_err(|_| "no duration; write it as 30s, 10m or 1h")?;
    Duration::try_from(span).map_err(|_| "a duration is not negative".to_owned())
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    match run(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("provisioner: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let stop = stopped_by_signals()?;
    let config = match &arguments.kubeconfig {
        Some(file) => ConfigLoader::new().kubeconfig(file).load(),
        None => ConfigLoader::new().load(),
    };
    let config = config.context("no connection to a cluster")?;
    let namespace = config.namespace.clone();
    let client = Client::new(config).context("no connection to a cluster")?;
    let mut options = Options::new(&arguments.provisioner, identity());
    options.workers = arguments.workers.into();
    options.resync = arguments.resync;
    options.lease_namespace = arguments.lease_namespace.unwrap_or(namespace);
    options.lease_duration = arguments.lease_duration;
    options.renew_deadline = arguments.renew_deadline;
    options.retry_period = arguments.retry_period;
    let storage = HostPath::new(std::path::absolute(&arguments.dir)?);
    provisioner::run(client, storage, options, &stop).await?;
    Ok(())
}

/// Names this process among all replicas: the host and something random.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").ok();
    let host = host.or_else(|| std::fs::read_to_string("/etc/hostname").ok());
    let host = host.as_deref().map_or("host", str::trim);
    format!("{host}_{:016x}", fastrand::u64(..))
}

/// Cancelled by SIGTERM or Ctrl-C.
fn stopped_by_signals() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let mut terminate = signal(SignalKind::terminate()).context("cannot catch signals")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot catch signals")?;
    tokio::spawn({
        let stop = stop.clone();
        async move {
            tokio::select! {
                biased;
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            stop.cancel();
        }
    });
    Ok(stop)
}
