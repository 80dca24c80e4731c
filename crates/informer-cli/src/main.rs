//! The command `informer`: follow a cluster, run an API server in memory, see an informer at work.

mod args;
mod bench;
mod connect;
mod demo;
mod failure;
mod forms;
mod kinds;
mod kubeconfig_file;
mod memory;
mod output;
mod run;
mod serve;
mod signals;
mod trouble;
mod watch;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    log_to_stderr(cli.verbose);
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return failure::report(&anyhow::Error::new(error).context("cannot start")),
    };
    let outcome = runtime.block_on(async {
        match cli.command {
            Command::Demo(args) => demo::run(&args).await,
            Command::Watch(args) => watch::run(&args).await,
            Command::Serve(args) => serve::run(&args).await,
            Command::Bench(what) => bench::run(&what).await,
        }
    });
    // Nothing that still runs may hold the end up.
    runtime.shutdown_background();
    outcome.unwrap_or_else(|error| failure::report(&error))
}

/// Logs go to stderr: by default only what people must know, and never in colours that a file would keep.
fn log_to_stderr(verbose: u8) {
    // The reflector's reports are in the output. Those of the connection are only in the log: that credentials are held
    // back, that a server is not checked, that a token cannot be renewed.
    let levels = match verbose {
        0 => "off,informer_client=warn",
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(levels));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| failure::Stderr)
        .with_ansi(false)
        .init();
}
