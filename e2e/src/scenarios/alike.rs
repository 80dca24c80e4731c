//! Programs that must see the same of the test kit as of the real server.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use informer_e2e::{RealApiServer, ServerOptions};
use informer_testkit::ApiServer;
use tokio::time::timeout;

/// How long a program may take at one server.
const LIMIT: Duration = Duration::from_secs(150);

/// Runs a program against both servers, each by its kubeconfig, and compares the lines that it returns. A program that
/// stops early returns fewer than `least`.
pub(super) async fn compare<F>(program: impl Fn(PathBuf) -> F, least: usize) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<Vec<String>>>,
{
    let real = RealApiServer::start(ServerOptions::default()).await?;
    let kit = ApiServer::builder().start().await?;
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("config");
    tokio::fs::write(&config, kit.kubeconfig()).await?;
    let run = async |name: &str, kubeconfig: PathBuf| {
        let lines = timeout(LIMIT, program(kubeconfig)).await;
        let lines = lines.with_context(|| format!("against the {name}, it does not end"))?;
        lines.with_context(|| format!("against the {name}"))
    };
    let expected = run("real server", real.kubeconfig()).await?;
    let found = run("test kit", config).await?;
    ensure!(
        expected.len() >= least,
        "the program returns only {expected:#?}"
    );
    let most = expected.len().max(found.len());
    for line in 0..most {
        let [real, kit] =
            [&expected, &found].map(|lines| lines.get(line).map_or("(none)", String::as_str));
        ensure!(
            real == kit,
            "line {} differs\n real: {real}\n kit:  {kit}",
            line + 1
        );
    }
    println!("{most} lines, all the same");
    Ok(())
}
