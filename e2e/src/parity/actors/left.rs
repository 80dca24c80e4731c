//! What there is of a sequence on a server, without what each server chooses for itself.

use std::collections::BTreeMap;

use anyhow::ensure;
use serde_json::{Value, json};

use super::generate::KINDS;
use crate::parity::judge::session::Request;
use crate::parity::play::Player;

/// The objects by kind, namespace and name: what decides how long each lives.
pub(super) type Left = BTreeMap<String, Value>;

/// Reads all objects of a sequence.
pub(super) async fn left(player: &Player, run: &str) -> anyhow::Result<Left> {
    let mut left = Left::new();
    for namespace in ["a", "b"].map(|name| format!("{run}-{name}")) {
        let path = format!("/api/v1/namespaces/{namespace}");
        if let Some(object) = get(player, path).await? {
            left.insert(format!("namespace {namespace}"), of_namespace(&object));
        }
        for kind in KINDS.iter().filter(|kind| kind.namespaced) {
            let path = kind.collection(&namespace);
            add(&mut left, kind.plural, get(player, path).await?);
        }
    }
    for kind in KINDS.iter().filter(|kind| !kind.namespaced) {
        let path = format!("{}?labelSelector=run%3D{run}", kind.collection(""));
        add(&mut left, kind.plural, get(player, path).await?);
    }
    Ok(left)
}

async fn get(player: &Player, path: String) -> anyhow::Result<Option<Value>> {
    let request = Request {
        method: "GET".to_owned(),
        target: path,
        media: None,
        body: None,
    };
    let answer = player.send(&request, false).await?;
    ensure!(matches!(answer.code, 200 | 404), "{}", answer.body);
    Ok((answer.code == 200).then_some(answer.body))
}

fn add(left: &mut Left, plural: &str, list: Option<Value>) {
    let items = list.as_ref().and_then(|list| list["items"].as_array());
    for object in items.into_iter().flatten() {
        let metadata = &object["metadata"];
        let name = format!("{plural} {}/{}", metadata["namespace"], metadata["name"]);
        left.insert(name, of_object(object));
    }
}

fn of_object(object: &Value) -> Value {
    let metadata = &object["metadata"];
    let owners = metadata["ownerReferences"].as_array();
    let owners: Vec<_> = owners
        .into_iter()
        .flatten()
        .map(|owner| json!([owner["kind"], owner["name"], owner["blockOwnerDeletion"]]))
        .collect();
    json!({
        "deleted": metadata["deletionTimestamp"].is_string(),
        "grace": metadata["deletionGracePeriodSeconds"],
        "finalizers": metadata["finalizers"],
        "generation": metadata["generation"],
        "owners": owners,
    })
}

fn of_namespace(namespace: &Value) -> Value {
    let mut left = of_object(namespace);
    left["held"] = namespace["spec"]["finalizers"].clone();
    left["phase"] = namespace["status"]["phase"].clone();
    let conditions = namespace["status"]["conditions"].as_array();
    let conditions = conditions.into_iter().flatten();
    left["conditions"] = conditions
        // Whether the real controller still counts on the grace of pods, or calls it a failure, depends on the moment.
        .filter(|condition| condition["type"] != "NamespaceDeletionContentFailure")
        .map(|condition| {
            json!([
                condition["type"],
                condition["status"],
                condition["reason"],
                condition["message"]
            ])
        })
        .collect();
    left
}
