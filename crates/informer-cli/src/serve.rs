//! `informer serve`: the API server in memory, until it is stopped.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use informer_testkit::{Actors, ApiServer, RequestMatcher, Status, Workload};

use crate::args::ServeArgs;
use crate::failure::print;
use crate::{kubeconfig_file, output, signals};

/// Runs the server. Prints its address, and writes the kubeconfig, once it is filled; before, it answers 503 to
/// everything, as an API server that has just started.
pub(crate) async fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    // Before the work, not after it.
    if let Some(file) = &args.write_kubeconfig {
        kubeconfig_file::check(file)?;
    }
    let mut end = Box::pin(signals::end(args.run_for)?);
    let filling = Status::failure(503, "ServiceUnavailable", "the server is being filled");
    let filling = filling.with_retry_after(1);
    let server = ApiServer::builder()
        .port(args.port)
        .actors(actors())
        .fail(RequestMatcher::any(), filling, usize::MAX)
        .start()
        .await
        .with_context(|| {
            format!(
                "cannot listen on 127.0.0.1:{}; try another --port",
                args.port
            )
        })?;
    let workload = Workload::new().pods(args.pods as usize).seed(args.seed);
    let Some((server, workload)) = fill(server, workload, &mut end).await? else {
        return Ok(ExitCode::SUCCESS);
    };
    server.clear_faults();
    if let Some(file) = &args.write_kubeconfig {
        kubeconfig_file::write(file, &server.kubeconfig())?;
    }
    output::say(&format!("serving {}", server.url()))?;
    print(&format!(
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

/// What runs beside the server: all that the test kit has, with the delays of a small cluster, so that what `kubectl`
/// deletes comes to its end before its eyes.
fn actors() -> Actors {
    Actors::none()
        .empty_namespaces()
        .collect_garbage(Duration::from_millis(200))
        .start_pods(Duration::from_secs(1))
        .end_pods(Duration::from_secs(1))
}

/// Fills a server, which takes a while with many pods. `None` if the command was stopped before it was done.
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
        // What is filled is returned, also at the end.
        biased;
        filled = filling => Ok(Some(filled?.context("cannot fill the API server")?)),
        () = end => Ok(None),
    }
}
