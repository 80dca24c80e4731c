//! A controller on kube-rs against the test kit and the real server: all that it and its user see is the same.

mod controller;
mod user;

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use tokio::sync::oneshot;

use self::controller::Heard;
use self::user::User;
use super::alike;

/// Where all of it happens.
const NAMESPACE: &str = "copies";
/// A run that stops early has fewer lines.
const LEAST_LINES: usize = 40;

pub(crate) async fn run() -> anyhow::Result<()> {
    alike::compare(async |kubeconfig| play(&kubeconfig).await, LEAST_LINES).await
}

/// The controller and its user at one server; what both saw.
async fn play(kubeconfig: &Path) -> anyhow::Result<Vec<String>> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let mut user = User::new(client.clone())?;
    user.make_namespace().await?;
    let heard = Arc::new(Heard::default());
    let (stop, stopped) = oneshot::channel();
    let controller = tokio::spawn(controller::run(client, Arc::clone(&heard), stopped));
    heard.ready().await;
    let acted = user.act().await;
    // A controller that has ended by itself no longer listens.
    let _ = stop.send(());
    controller.await.context("the controller panicked")?;
    acted.with_context(|| format!("the controller's last failure: {}", heard.failure()))?;
    let mut lines = user.into_lines();
    lines.extend(heard.lines());
    Ok(lines)
}
