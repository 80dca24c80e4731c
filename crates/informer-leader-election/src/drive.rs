//! What polls a campaign: a thread, a task, or the run itself.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;
use tracing::instrument::WithSubscriber;

use crate::config::Renewal;

/// A campaign under way. Dropping it ends it.
pub(crate) struct Drive(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Drive {
    /// Begins to poll a campaign, by a thread only where it has `own_connections`.
    pub(crate) fn begin(
        campaign: impl Future<Output = ()> + Send + 'static,
        renewal: Renewal,
        own_connections: bool,
    ) -> Self {
        let campaign = campaign.in_current_span().with_current_subscriber();
        Self(Some(match renewal {
            Renewal::InPlace => Box::pin(campaign),
            Renewal::Thread if own_connections => match thread(campaign) {
                Ok(thread) => Box::pin(thread),
                Err((campaign, error)) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, "no thread to renew the lease; a task does it");
                    Box::pin(task(campaign))
                }
            },
            Renewal::Thread | Renewal::Task => Box::pin(task(campaign)),
        }))
    }

    /// Awaits something while the campaign goes on.
    pub(crate) async fn beside<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            self.poll(context);
            future.as_mut().poll(context)
        })
        .await
    }

    /// Waits for the end of the campaign.
    pub(crate) async fn finish(mut self) {
        poll_fn(|context| {
            self.poll(context);
            if self.0.is_some() {
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    fn poll(&mut self, context: &mut Context<'_>) {
        if let Some(campaign) = &mut self.0
            && campaign.as_mut().poll(context).is_ready()
        {
            self.0 = None;
        }
    }
}

/// A task for a campaign. It is aborted when this is dropped.
fn task(campaign: impl Future<Output = ()> + Send + 'static) -> impl Future<Output = ()> + Send {
    let mut task = JoinSet::new();
    task.spawn(campaign);
    async move {
        if let Some(Err(error)) = task.join_next().await {
            let error: &dyn std::error::Error = &error;
            tracing::error!(error, "renewing the lease panicked");
        }
    }
}

/// A thread with a runtime for a campaign. The campaign is dropped when this is.
fn thread<F>(campaign: F) -> Result<impl Future<Output = ()> + Send, (F, std::io::Error)>
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Err((campaign, error)),
    };
    let dropped = CancellationToken::new();
    let (give, take) = std::sync::mpsc::channel::<F>();
    let (end, ended) = oneshot::channel::<()>();
    let run = {
        let dropped = dropped.clone();
        move || {
            let _end = end;
            if let Ok(campaign) = take.recv() {
                runtime.block_on(dropped.run_until_cancelled(campaign));
            }
            // A look-up of a name that hangs does not hold up the end.
            runtime.shutdown_background();
        }
    };
    let spawned = std::thread::Builder::new()
        .name("lease".to_owned())
        .spawn(run);
    if let Err(error) = spawned {
        return Err((campaign, error));
    }
    let _ = give.send(campaign);
    let guard = dropped.drop_guard();
    Ok(async move {
        let _guard = guard;
        let _ = ended.await;
    })
}
