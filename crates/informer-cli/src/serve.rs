//! `informer serve`: the API server in memory, until it is told to end.

use std::process::ExitCode;

use anyhow::Context;
use informer_testkit::{ApiServer, RequestMatcher, Status, Workload};

use crate::args::ServeArgs;
use crate::failure::tell;
use crate::{output, signals};

/// Runs the server. Prints its address, and writes the kubeconfig, once it is filled; before, it answers 503 to
/// everything, as an API server that has just started.
pub(crate) async fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let mut end = Box::pin(signals::end(args.run_for)?);
    let server = ApiServer::builder()
        .port(args.port)
        .start()
        .await
        .with_context(|| {
            format!(
                "cannot listen on 127.0.0.1:{}; try another --port",
                args.port
            )
        })?;
    let filling = Status::new(503, "ServiceUnavailable", "the server is being filled");
    let filling = filling.retry_after(1);
    server.fail(RequestMatcher::any(), filling, usize::MAX);
    let workload = Workload::new().pods(args.pods as usize).seed(args.seed);
    let Some((server, workload)) = fill(server, workload, &mut end).await? else {
        return Ok(ExitCode::SUCCESS);
    };
    server.clear_faults();
    if let Some(file) = &args.kubeconfig {
        std::fs::write(file, server.kubeconfig())
            .with_context(|| format!("cannot write the kubeconfig {}", file.display()))?;
    }
    output::say(&format!("serving {}", server.url()))?;
    tell(&format!(
        "try: informer watch pods --server {0}, or kubectl --server {0} get pods -A",
        server.url()
    ));
    let running = (args.rate > 0).then(|| workload.start(&server, f64::from(args.rate)));
    end.await;
    if let Some(running) = running {
        running.stop().await;
    }
    server.shutdown().await;
    Ok(ExitCode::SUCCESS)
}

/// Fills a server, which takes a while with many pods. `None` if the command was told to end before it was done.
///
/// # Errors
/// When the server refuses a pod.
pub(crate) async fn fill(
    server: ApiServer,
    mut workload: Workload,
    end: impl Future<Output = ()>,
) -> anyhow::Result<Option<(ApiServer, Workload)>> {
    let filling = tokio::task::spawn_blocking(move || {
        let filled = workload.fill(&server);
        filled.map(|()| (server, workload))
    });
    tokio::select! {
        filled = filling => Ok(Some(filled?.context("cannot fill the API server")?)),
        () = end => Ok(None),
    }
}
