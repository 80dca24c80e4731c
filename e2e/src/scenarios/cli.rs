//! The command `informer` against the real server: what it prints, and how it ends.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use informer::Api;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use serde_json::{Value, json};

use crate::command::{Ended, Watching};
use crate::observed::Fresh;
use crate::world::{Kind, World, Writers};

const WRITES: usize = 200;
/// How long the command may take to end once it is told to.
const END_LIMIT: Duration = Duration::from_secs(2);

pub(crate) async fn run(seed: u64) -> anyhow::Result<()> {
    let mut world = World::start().await?;
    let writers = Writers::new(&world.client, seed);
    let (writers, written) = writers.write(WRITES, std::sync::Arc::default()).await?;
    println!("seed {seed}: {written}");
    once(&world).await?;
    mistakes(&world).await?;
    told_to_end(&world, writers).await?;
    forbidden(&world).await?;
    unreachable(&mut world).await
}

/// `--once` prints each object and the count, whatever the credentials, the selection and the form.
async fn once(world: &World) -> anyhow::Result<()> {
    let certificate = world.server.kubeconfig();
    let token = world.server.kubeconfig_token();
    let pods = Fresh::of(world, Kind::Pods).await?;
    let widgets = Fresh::of(world, Kind::Widgets).await?;
    let red = |object: &Value| object["metadata"]["namespace"] == "red";
    let web = |object: &Value| object["metadata"]["labels"]["app"] == "web";
    let on_node = |object: &Value| object["spec"]["nodeName"] == "node-1";
    let cases: [(&PathBuf, &str, Fresh); 9] = [
        (&certificate, "pods --once", pods.filtered(|_| true)),
        (
            &token,
            "v1/pods --once --as typed --list stream",
            pods.filtered(|_| true),
        ),
        (
            &token,
            "pods --once --list list --page-size 7",
            pods.filtered(|_| true),
        ),
        (&certificate, "pods --once -n red", pods.filtered(red)),
        (&token, "pods --once -l app=web", pods.filtered(web)),
        (
            &token,
            "pods --once --field-selector spec.nodeName=node-1",
            pods.filtered(on_node),
        ),
        (
            &certificate,
            "widgets.demo.example --once",
            widgets.filtered(|_| true),
        ),
        (
            &token,
            "wd --once -n red -l app=web",
            widgets.filtered(|w| red(w) && web(w)),
        ),
        (
            &token,
            "demo.example/v1/widgets --once --list list",
            widgets.filtered(|_| true),
        ),
    ];
    for (kubeconfig, arguments, expected) in cases {
        let ended = Watching::start(kubeconfig, arguments)?.ended().await?;
        let outcome = check_once(&ended, &expected);
        outcome.with_context(|| format!("informer watch {arguments}: {}", ended.stderr.trim()))?;
        let name = kubeconfig.file_name().unwrap_or_default().to_string_lossy();
        println!(
            "informer watch {arguments} ({name}): {} objects in {:.2} s",
            expected.len(),
            ended.took.as_secs_f64()
        );
    }
    Ok(())
}

fn check_once(ended: &Ended, expected: &Fresh) -> anyhow::Result<()> {
    ensure!(ended.code == Some(0), "exit code {:?}", ended.code);
    let synced = ended.one("synced")?;
    ensure!(
        synced["count"] == expected.len(),
        "{synced}, but the server has {}",
        expected.len()
    );
    let mut added = BTreeMap::new();
    for line in ended.of("added") {
        ensure!(line["initial"] == true, "{line} is of the first list");
        added.insert(
            text(line, "key"),
            (text(line, "resourceVersion"), text(line, "uid")),
        );
    }
    let listed = expected.objects().iter().map(|(key, object)| {
        let metadata = &object["metadata"];
        (
            key.clone(),
            (text(metadata, "resourceVersion"), text(metadata, "uid")),
        )
    });
    ensure!(
        added == listed.collect(),
        "the lines `added` are not what the server has: {added:?}"
    );
    ensure!(
        ended.lines.len() == added.len() + 1,
        "there are other lines: {:?}",
        ended.lines.last()
    );
    Ok(())
}

/// What can never go well ends the command with code 2 and one line that says so.
async fn mistakes(world: &World) -> anyhow::Result<()> {
    let token = world.server.kubeconfig_token();
    let nowhere = token.with_file_name("no-such-kubeconfig");
    let cases = [
        (&token, "pods --field-selector no.such=field", "field"),
        (&token, "pods --field-selector nonsense", "nonsense"),
        (&token, "pods -l a==b==c", "selector"),
        (&token, "gadgets.demo.example", "gadgets"),
        (&nowhere, "pods", "no-such-kubeconfig"),
    ];
    for (kubeconfig, arguments, named) in cases {
        let ended = Watching::start(kubeconfig, arguments)?.ended().await?;
        let line = ended.stderr.trim_end();
        ensure!(
            ended.code == Some(2)
                && line.lines().count() == 1
                && line.contains(named)
                && ended.lines.is_empty(),
            "informer watch {arguments}: code {:?}, {line:?}, {:?}",
            ended.code,
            ended.lines
        );
        println!("informer watch {arguments}: exit 2, {line}");
    }
    Ok(())
}

/// Follows changes until SIGTERM; the last line is what the server has.
async fn told_to_end(world: &World, writers: Writers) -> anyhow::Result<()> {
    let kubeconfig = world.server.kubeconfig();
    let mut pods = Watching::start(&kubeconfig, "pods")?;
    let mut widgets = Watching::start(&kubeconfig, "widgets.demo.example --list list")?;
    for watching in [&mut pods, &mut widgets] {
        watching.until(|line| line["event"] == "synced").await?;
    }
    writers.write(WRITES, std::sync::Arc::default()).await?;
    for (kind, mut watching) in [(Kind::Pods, pods), (Kind::Widgets, widgets)] {
        let mut rng = fastrand::Rng::new();
        let last = crate::world::new_object(&mut rng, kind, "last");
        world.api(kind, "default").create(&last).await?;
        watching
            .until(|line| line["event"] == "added" && line["key"] == "default/last")
            .await?;
        let fresh = Fresh::of(world, kind).await?;
        let ended = watching.terminate().await?;
        check_final(&ended, &fresh.versions()).with_context(|| kind.plural())?;
        println!(
            "informer watch {}: followed {} events, then SIGTERM: final with {} objects, exit 0 in {:.2} s",
            kind.plural(),
            ended.lines.len() - 2,
            fresh.len(),
            ended.took.as_secs_f64()
        );
    }
    Ok(())
}

/// Tells a process to end as systems do, and checks the last line against these versions.
fn check_final(ended: &Ended, expected: &BTreeMap<String, String>) -> anyhow::Result<()> {
    ensure!(
        ended.code == Some(0),
        "exit code {:?}: {}",
        ended.code,
        ended.stderr.trim()
    );
    let line = ended.one("final")?;
    ensure!(
        ended.lines.last() == Some(line),
        "`final` is not the last line"
    );
    ensure!(
        line["count"] == expected.len(),
        "count {}, expected {}",
        line["count"],
        expected.len()
    );
    ensure!(
        line["keys"] == json!(expected),
        "final {}, the server has {}",
        line["keys"],
        json!(expected)
    );
    ensure!(ended.took < END_LIMIT, "it took {:?} to end", ended.took);
    let mut folded = BTreeMap::new();
    for line in &ended.lines {
        match line["event"].as_str() {
            Some("added" | "updated") => {
                folded.insert(text(line, "key"), text(line, "resourceVersion"));
            }
            Some("deleted") => {
                ensure!(
                    folded.remove(&text(line, "key")).is_some(),
                    "{line} was not there"
                );
            }
            _ => {}
        }
    }
    ensure!(
        folded == *expected,
        "the lines add up to {folded:?}, the server has {expected:?}"
    );
    Ok(())
}

/// A user who may do nothing hears so, is tried again, and served once allowed.
async fn forbidden(world: &World) -> anyhow::Result<()> {
    let nobody = world.server.kubeconfig_nobody();
    let mut pods = Watching::start(&nobody, "pods")?;
    let mut widgets = Watching::start(&nobody, "demo.example/v1/widgets")?;
    for watching in [&mut pods, &mut widgets] {
        let line = watching.until(|_| true).await?;
        let told = line["event"] == "error" && text(&line, "message").contains("forbidden");
        ensure!(told, "a forbidden watch printed {line}");
    }
    let role = json!({
        "metadata": { "name": "pods-reader" },
        "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"] }],
    });
    let binding = json!({
        "metadata": { "name": "pods-reader" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "pods-reader" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "e2e-nobody" }],
    });
    Api::<ClusterRole>::cluster(world.client.clone())
        .create(&role)
        .await?;
    Api::<ClusterRoleBinding>::cluster(world.client.clone())
        .create(&binding)
        .await?;
    let synced = pods.until(|line| line["event"] == "synced").await?;
    let fresh = Fresh::of(world, Kind::Pods).await?;
    ensure!(
        synced["count"] == fresh.len(),
        "{synced}, but the server has {}",
        fresh.len()
    );
    check_final(&pods.terminate().await?, &fresh.versions()).context("pods, allowed later")?;
    check_final(&widgets.terminate().await?, &BTreeMap::new()).context("widgets, never allowed")?;
    println!(
        "a forbidden user: an error line and new tries; once allowed {} pods; SIGTERM: final, exit 0",
        fresh.len()
    );
    Ok(())
}

/// Without a server `--once` gives up in time and says why.
async fn unreachable(world: &mut World) -> anyhow::Result<()> {
    world.server.kill().await?;
    let arguments = "pods --once --sync-timeout 1s";
    let ended = Watching::start(&world.server.kubeconfig(), arguments)?
        .ended()
        .await?;
    ensure!(
        ended.code == Some(1) && ended.of("error").count() >= 1,
        "informer watch {arguments}, no server: code {:?}, {:?}, {}",
        ended.code,
        ended.lines,
        ended.stderr.trim()
    );
    println!(
        "no server, --once --sync-timeout 1s: exit 1, {}",
        ended.stderr.trim()
    );
    Ok(())
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}
