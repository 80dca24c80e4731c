//! What a real server works out about pods when it stores them.

use serde_json::{Value, json};

use crate::resource::ResourceType;

/// A write of the status does not take the quality-of-service class away.
pub(super) fn keep_qos_class(resource: &ResourceType, before: &Value, after: &mut Value) {
    let class = &before["status"]["qosClass"];
    if resource.custom || resource.plural != "pods" || class.is_null() {
        return;
    }
    if !after["status"].is_object() {
        after["status"] = json!({});
    }
    if after["status"]["qosClass"].is_null() {
        after["status"]["qosClass"] = class.clone();
    }
}

/// The quality-of-service class of a pod, from the requests and limits of its containers.
pub(super) fn qos_class(pod: &Value) -> &'static str {
    let lists = ["containers", "initContainers"].map(|list| pod["spec"][list].as_array());
    let containers = || lists.iter().flatten().flat_map(|list| list.iter());
    let amount = |container: &Value, what: &str, of: &str| {
        let amount = &container["resources"][what][of];
        (!amount.is_null() && *amount != json!("0") && *amount != json!(0)).then(|| amount.clone())
    };
    let kinds = ["cpu", "memory"];
    let any = containers().any(|container| {
        kinds.iter().any(|of| {
            amount(container, "requests", of).is_some() || amount(container, "limits", of).is_some()
        })
    });
    if !any {
        return "BestEffort";
    }
    let guaranteed = containers().all(|container| {
        kinds.iter().all(|of| {
            let limit = amount(container, "limits", of);
            let request = amount(container, "requests", of).or_else(|| limit.clone());
            limit.is_some() && limit == request
        })
    });
    if guaranteed {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
