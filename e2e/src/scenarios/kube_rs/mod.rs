//! A controller on kube-rs against the test kit and the real server: all that it and its user see is the same.

mod controller;
mod user;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use informer_e2e::{RealApiServer, ServerOptions};
use informer_testkit::ApiServer;
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use tokio::sync::oneshot;
use tokio::time::timeout;

use self::controller::Heard;
use self::user::User;

/// Where all of it happens.
const NAMESPACE: &str = "copies";
/// How long a whole run may take.
const LIMIT: Duration = Duration::from_secs(150);
/// A run that stops early says less.
const LEAST_LINES: usize = 40;

pub(crate) async fn run() -> anyhow::Result<()> {
    let real = RealApiServer::start(ServerOptions::default()).await?;
    let kit = ApiServer::builder().start().await?;
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("config");
    tokio::fs::write(&config, kit.kubeconfig()).await?;
    let mut said = Vec::new();
    for (name, kubeconfig) in [("real server", real.kubeconfig()), ("test kit", config)] {
        let lines = timeout(LIMIT, play(&kubeconfig)).await;
        let lines = lines.with_context(|| format!("against the {name}, it does not end"))?;
        said.push(lines.with_context(|| format!("against the {name}"))?);
    }
    let [expected, found] = [&said[0], &said[1]];
    ensure!(
        expected.len() >= LEAST_LINES,
        "the controller says only {expected:#?}"
    );
    let most = expected.len().max(found.len());
    for line in 0..most {
        let [real, kit] =
            [expected, found].map(|lines| lines.get(line).map_or("(none)", String::as_str));
        ensure!(
            real == kit,
            "line {} differs\n real: {real}\n kit:  {kit}",
            line + 1
        );
    }
    println!("{most} lines, all the same");
    Ok(())
}

/// The controller and its user at one server; what both saw.
async fn play(kubeconfig: &Path) -> anyhow::Result<Vec<String>> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let mut user = User::new(client.clone());
    user.make_namespace().await?;
    let heard = Arc::new(Heard::default());
    let (stop, stopped) = oneshot::channel();
    let controller = tokio::spawn(controller::run(client, Arc::clone(&heard), stopped));
    heard.ready().await;
    let acted = user.act().await;
    // A controller that has ended by itself is told below.
    let _ = stop.send(());
    controller.await.context("the controller panicked")?;
    acted.with_context(|| format!("the controller's last failure: {}", heard.failure()))?;
    let mut lines = user.into_lines();
    lines.extend(heard.lines());
    Ok(lines)
}
