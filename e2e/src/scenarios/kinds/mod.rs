//! An object of each kind that the server has, read as protobuf, is what the server says in JSON.

mod specimens;

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use futures_util::StreamExt;
use informer::client::Client;
use informer::http::{HttpConfig, HttpListerWatcher, WirePreference};
use informer::reflector::{ListEvent, ListRequest, ListerWatcher};
use informer::wire::{BuiltinResource, Decoded};
use informer::{Dynamic, ListOptions, Resource};
use informer_e2e::HarnessError;
use serde_json::Value;

use crate::observed::difference;
use crate::world::World;

/// How often objects are read again that changed between the two ways of reading them.
const TRIES: usize = 5;
/// At least so many kinds are compared. Of those that the server has, few cannot be created here.
const AT_LEAST: usize = 50;

pub(crate) async fn run() -> anyhow::Result<()> {
    let world = World::start().await?;
    let client = world.informers_client(None)?;
    let mut refused = Vec::new();
    for (collection, object) in specimens::all() {
        if let Err(error) = world.judge.create(collection, &object).await {
            refused.push(error.to_string());
        }
    }
    ensure!(
        refused.is_empty(),
        "the server refuses: {}",
        refused.join("\n")
    );
    let (mut kinds, mut objects, mut empty) = (0, 0, Vec::new());
    for builtin in BuiltinResource::all() {
        let resource = builtin.resource();
        if !resource.has_protobuf() {
            continue;
        }
        match compare(&world, &client, &resource).await? {
            None => {}
            Some(0) => empty.push(resource.to_string()),
            Some(compared) => {
                kinds += 1;
                objects += compared;
            }
        }
    }
    println!("{kinds} kinds with {objects} objects are equal in protobuf and JSON");
    println!("without an object here: {}", empty.join(", "));
    ensure!(kinds >= AT_LEAST, "only {kinds} kinds were compared");
    Ok(())
}

/// Compares all objects of a resource and says how many there are; `None` if the server does not serve it.
async fn compare(
    world: &World,
    client: &Client,
    resource: &Resource,
) -> anyhow::Result<Option<usize>> {
    let path = resource.path(None, None)?;
    for _ in 0..TRIES {
        let judged = match world.judge.list(&path).await {
            Ok((_, items)) => by_name(resource, items),
            // Not served, or made only to be sent, as a review.
            Err(HarnessError::Status {
                status: 404 | 405, ..
            }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let ours = list(client, resource)
            .await
            .with_context(|| format!("list {resource}"))?;
        if judged.keys().ne(ours.keys()) {
            continue;
        }
        for (name, theirs) in &judged {
            if let Some(difference) = difference("", &ours[name], theirs) {
                anyhow::bail!("{resource} {}: {difference}", name.0);
            }
        }
        return Ok(Some(judged.len()));
    }
    anyhow::bail!("{resource} never stood still")
}

/// Objects by name and version: one that changed in between is another one.
type Objects = BTreeMap<(String, String), Value>;

/// The server's items as a watch would show them: with their type, and without managed fields.
fn by_name(resource: &Resource, items: Vec<Value>) -> Objects {
    let typed = items.into_iter().map(|mut item| {
        item["apiVersion"] = Value::from(resource.api_version());
        item["kind"] = Value::from(&*resource.kind);
        if let Some(metadata) = item["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        without_inner_types(&mut item);
        (identity(&item), item)
    });
    typed.collect()
}

/// Protobuf has no place for the type of an object within another: claim templates of a stateful set are the only ones
/// to which the server gives one in JSON.
fn without_inner_types(item: &mut Value) {
    let templates = item.pointer_mut("/spec/volumeClaimTemplates");
    for template in templates
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(template) = template.as_object_mut() {
            template.remove("apiVersion");
            template.remove("kind");
        }
    }
}

fn identity(object: &Value) -> (String, String) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    (
        format!("{}/{}", text("namespace"), text("name")),
        text("resourceVersion").to_owned(),
    )
}

/// The objects as protobuf, and nothing but protobuf, gives them.
async fn list(client: &Client, resource: &Resource) -> anyhow::Result<Objects> {
    let config = HttpConfig::default().wire(WirePreference::Protobuf);
    let lister = HttpListerWatcher::<Dynamic>::new(client.clone(), resource.clone()).config(config);
    let mut items = lister
        .list(ListRequest::new(ListOptions::default()))
        .await?;
    let mut objects = Objects::new();
    while let Some(event) = items.next().await {
        match event? {
            ListEvent::Item(Decoded::Object(object)) => {
                let json: Value = serde_json::from_slice(&object.to_json()?)?;
                let decoded = object.decode()?;
                if let Some(difference) = difference("", &decoded, &json) {
                    anyhow::bail!("decoded it is not what its JSON is: {difference}");
                }
                objects.insert(identity(&json), json);
            }
            ListEvent::Item(other) => anyhow::bail!("an item is {other:?}"),
            ListEvent::End(_) => return Ok(objects),
            _ => {}
        }
    }
    anyhow::bail!("the list has no end")
}
