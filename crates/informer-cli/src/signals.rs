//! When a command ends: at its time limit, at Ctrl-C, or at a request to terminate.

use std::time::Duration;

use anyhow::Context;

/// How long the last lines may take after the command was stopped.
const GRACE: Duration = Duration::from_secs(5);

/// Waits until the command shall end. Signals are caught from the call on, not from the first poll.
///
/// # Errors
/// When signals cannot be caught.
pub(crate) fn end(run_for: Option<Duration>) -> anyhow::Result<impl Future<Output = ()> + Send> {
    let signalled = signalled().context("cannot catch signals")?;
    Ok(async move {
        let limit = async {
            match run_for {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = limit => {}
            () = signalled => {}
        }
    })
}

/// Ends the program some time after it was stopped, whatever delays it: a reader of the output that does not read
/// would hold it for ever.
///
/// # Errors
/// When signals cannot be caught.
pub(crate) fn end_at_last(run_for: Option<Duration>) -> anyhow::Result<()> {
    let end = end(run_for)?;
    tokio::spawn(async move {
        end.await;
        tokio::time::sleep(GRACE).await;
        std::process::exit(1);
    });
    Ok(())
}

#[cfg(unix)]
fn signalled() -> std::io::Result<impl Future<Output = ()> + Send> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            biased;
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn signalled() -> std::io::Result<impl Future<Output = ()> + Send> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
