//! The user of the controller: makes, changes and deletes, waits until the controller has answered, and looks.

use std::time::{Duration, Instant};

use anyhow::ensure;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use regex::Regex;
use serde_json::{Value, json};

use super::NAMESPACE;

/// How long the controller may take for one answer.
const LIMIT: Duration = Duration::from_secs(30);

pub(super) struct User {
    client: Client,
    maps: Api<ConfigMap>,
    normaliser: Normaliser,
    lines: Vec<String>,
}

impl User {
    pub(super) fn new(client: Client) -> anyhow::Result<Self> {
        Ok(Self {
            maps: Api::namespaced(client.clone(), NAMESPACE),
            client,
            normaliser: Normaliser::new()?,
            lines: Vec::new(),
        })
    }

    /// What it saw.
    pub(super) fn into_lines(self) -> Vec<String> {
        self.lines
    }

    pub(super) async fn make_namespace(&self) -> anyhow::Result<()> {
        let namespace: Namespace =
            serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } }))?;
        let namespaces = Api::all(self.client.clone());
        namespaces
            .create(&PostParams::default(), &namespace)
            .await?;
        Ok(())
    }

    pub(super) async fn act(&mut self) -> anyhow::Result<()> {
        self.create("a", json!({ "x": "1" })).await?;
        self.copied("a is copied", "a", "1").await?;
        self.merge("a", json!({ "data": { "y": "2", "z": "3" } }))
            .await?;
        self.copied("a has grown", "a", "3").await?;
        // The copy loses what its source loses: fields that only the controller owns go with them.
        self.merge("a", json!({ "data": { "x": null } })).await?;
        self.copied("a has shrunk", "a", "2").await?;

        let before = self.get("a-copy").await?.and_then(|copy| copy.uid());
        self.delete("a-copy").await?;
        self.until("the copy is back", async |user| {
            let found = user.get("a-copy").await?;
            Ok(found.is_some_and(|copy| copy.uid() != before))
        })
        .await?;

        // Another manager takes a field of the copy: applying another value to it is a conflict.
        self.take(json!({ "y": "mine" })).await?;
        self.annotated("the copy is refused", "a", "refused")
            .await?;
        self.take(Value::Null).await?;
        self.copied("the field is given back", "a", "2").await?;

        // A finalizer of another holds a source that was deleted.
        let both =
            json!({ "metadata": { "finalizers": ["copier.example/copy", "user.example/hold"] } });
        self.merge("a", both).await?;
        self.delete("a").await?;
        self.until("a is held", async |user| {
            let (a, copy) = (user.get("a").await?, user.get("a-copy").await?);
            Ok(copy.is_none() && a.is_some_and(|a| a.finalizers().len() == 1))
        })
        .await?;
        self.merge("a", json!({ "metadata": { "finalizers": null } }))
            .await?;
        self.until("a is gone", async |user| Ok(user.get("a").await?.is_none()))
            .await?;

        for number in 0..3 {
            let name = format!("b{number}");
            self.create(&name, json!({ "n": number.to_string() }))
                .await?;
            self.copied(&format!("{name} is copied"), &name, "1")
                .await?;
        }
        // A label that leaves the selector is a delete for the controller.
        self.merge("b0", json!({ "metadata": { "labels": { "role": null } } }))
            .await?;
        let sources = ListParams::default().labels("role=source");
        self.maps
            .delete_collection(&DeleteParams::default(), &sources)
            .await?;
        self.until("only b0 is left", async |user| {
            Ok(user.names().await? == ["b0", "b0-copy"])
        })
        .await?;
        self.note_events().await
    }

    async fn create(&self, name: &str, data: Value) -> anyhow::Result<()> {
        let source =
            json!({ "metadata": { "name": name, "labels": { "role": "source" } }, "data": data });
        let source: ConfigMap = serde_json::from_value(source)?;
        self.maps.create(&PostParams::default(), &source).await?;
        Ok(())
    }

    async fn merge(&self, name: &str, patch: Value) -> anyhow::Result<()> {
        let patch = Patch::Merge(patch);
        self.maps
            .patch(name, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }

    async fn delete(&self, name: &str) -> anyhow::Result<()> {
        self.maps.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Applies these data to the copy of `a` as a manager of its own, by force.
    async fn take(&self, data: Value) -> anyhow::Result<()> {
        let mut wanted =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a-copy" } });
        if !data.is_null() {
            wanted["data"] = data;
        }
        let parameters = PatchParams::apply("user").force();
        self.maps
            .patch("a-copy", &parameters, &Patch::Apply(wanted))
            .await?;
        Ok(())
    }

    async fn get(&self, name: &str) -> anyhow::Result<Option<ConfigMap>> {
        Ok(self.maps.get_opt(name).await?)
    }

    /// The names of all config maps but the one that the real server's own controllers make.
    async fn names(&self) -> anyhow::Result<Vec<String>> {
        let listed = self.maps.list(&ListParams::default()).await?;
        let names = listed.iter().map(ConfigMap::name_any);
        Ok(names.filter(|name| name != "kube-root-ca.crt").collect())
    }

    /// Waits until a source says what was copied and its copy is there.
    async fn copied(&mut self, when: &str, name: &str, said: &str) -> anyhow::Result<()> {
        self.until(when, async |user| {
            let (source, copy) = (
                user.get(name).await?,
                user.get(&format!("{name}-copy")).await?,
            );
            Ok(says(source.as_ref(), said) && copy.is_some())
        })
        .await
    }

    async fn annotated(&mut self, when: &str, name: &str, said: &str) -> anyhow::Result<()> {
        self.until(when, async |user| {
            Ok(says(user.get(name).await?.as_ref(), said))
        })
        .await
    }

    /// Waits until something holds, then looks at everything.
    async fn until(
        &mut self,
        when: &str,
        done: impl AsyncFn(&Self) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let started = Instant::now();
        while !done(self).await? {
            ensure!(started.elapsed() < LIMIT, "not within {LIMIT:?}: {when}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.lines.push(format!("--- {when}"));
        for name in self.names().await? {
            if let Some(found) = self.get(&name).await? {
                let object = serde_json::to_string(&found)?;
                self.lines.push(self.normaliser.apply(&object));
            }
        }
        Ok(())
    }

    /// Notes the events of the controller, which it writes before it annotates the source.
    async fn note_events(&mut self) -> anyhow::Result<()> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), NAMESPACE);
        let mut found = Vec::new();
        for event in events.list(&ListParams::default()).await? {
            if event.reporting_controller.as_deref() == Some("copier") {
                let name = event.regarding.and_then(|regarding| regarding.name);
                found.push(format!(
                    "event {name:?} {:?} {:?}",
                    event.reason, event.note
                ));
            }
        }
        found.sort();
        self.lines.extend(found);
        Ok(())
    }
}

fn says(source: Option<&ConfigMap>, said: &str) -> bool {
    let found = source.and_then(|source| source.annotations().get("copied"));
    found.is_some_and(|found| found == said)
}

/// Masks versions, UIDs and times of an object.
struct Normaliser {
    volatile: Regex,
    /// The UID of an owner in the name of a field, where quotes are escaped.
    owner: Regex,
}

impl Normaliser {
    fn new() -> anyhow::Result<Self> {
        let volatile =
            r#""(uid|resourceVersion|creationTimestamp|deletionTimestamp|time)":"[^"]*""#;
        Ok(Self {
            volatile: Regex::new(volatile)?,
            owner: Regex::new(r#"\\"uid\\":\\"[^"\\]*\\""#)?,
        })
    }

    fn apply(&self, object: &str) -> String {
        let masked = self.volatile.replace_all(object, r#""$1":"""#);
        self.owner.replace_all(&masked, "uid").into_owned()
    }
}
