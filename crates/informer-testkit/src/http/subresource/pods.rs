//! Evictions and bindings of pods.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use informer_wire::{DeleteOptions, Status, StatusCause, StatusDetails};
use serde_json::{Value, json};

use super::super::body::Body;
use super::super::{respond, write};
use super::{done, read};
use crate::encode::Format;
use crate::model::{Cluster, ListOptions, Part, StoredObject, WriteOptions};
use crate::request::RequestRecord;
use crate::selector::LabelSelector;
use crate::shared::Shared;
use crate::status;
use crate::table;
use crate::time::rfc3339;

/// Returns the log of a pod: nothing, as no containers run.
pub(super) fn log(shared: &Shared, record: &RequestRecord) -> Result<Response<Body>, Status> {
    let cluster = shared.cluster.lock();
    let pods = cluster.resource("v1/pods")?;
    cluster.get(&pods, &record.namespace, &record.name)?;
    Ok(respond::typed("text/plain", ""))
}

/// Why no connection to a pod can be made.
pub(super) fn connect(shared: &Shared, record: &RequestRecord) -> Status {
    let cluster = shared.cluster.lock();
    let pod = cluster
        .resource("v1/pods")
        .and_then(|pods| cluster.get(&pods, &record.namespace, &record.name));
    match pod {
        Ok(pod) => status::bad_request(format!("pod {} does not have a host assigned", pod.name())),
        Err(status) => status,
    }
}

/// Deletes a pod, if no disruption budget stands against it.
pub(super) fn evict(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    request: &Request<Bytes>,
) -> Result<Response<Body>, Status> {
    let dry_run = write::query_options(record, "CreateOptions", Vec::new())?.dry_run;
    let eviction = read(shared, request, "policy", "v1", "Eviction")?;
    let (namespace, name) = (record.namespace.as_str(), record.name.as_str());
    if eviction["metadata"]["name"].as_str() != Some(name) {
        return Err(status::bad_request(
            "name in URL does not match name in Eviction object",
        ));
    }
    let how = match &eviction["deleteOptions"] {
        Value::Null => DeleteOptions::default(),
        options => serde_json::from_value(options.clone())
            .map_err(|error| status::bad_request(error.to_string()))?,
    };
    let options = WriteOptions::at(shared.clock.now())
        .part(Part::Main)
        .dry_run(dry_run);
    shared.write(|cluster| {
        let pods = cluster.resource("v1/pods")?;
        let stored = cluster.get(&pods, namespace, name)?;
        let pod = stored.value(&pods);
        let phase = pod["status"]["phase"].as_str().unwrap_or_default();
        let is_running = !matches!(phase, "Pending" | "Succeeded" | "Failed")
            && pod["metadata"]["deletionTimestamp"].is_null();
        if is_running {
            spend_budget(cluster, &stored, &options)?;
        }
        cluster.delete(&pods, namespace, name, &how, &options)
    })?;
    Ok(respond::status(done(), Format::Json))
}

/// Takes one disruption from the budget of a pod, if it has one.
fn spend_budget(
    cluster: &mut Cluster,
    pod: &StoredObject,
    options: &WriteOptions,
) -> Result<(), Status> {
    let namespace = pod.namespace();
    let kind = cluster.resource("policy/v1/poddisruptionbudgets")?;
    let page = cluster.list(&kind, namespace, &ListOptions::new())?;
    let budgets = page.items.iter().map(|item| item.value(&kind));
    let budgets: Vec<Value> = budgets
        .filter(|budget| selects(&budget["spec"]["selector"], pod))
        .collect();
    let mut budget = match <[Value; 1]>::try_from(budgets) {
        Ok([budget]) => budget,
        Err(none) if none.is_empty() => return Ok(()),
        Err(_) => {
            let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return Err(Status::failure(500, "InternalError", why));
        }
    };
    let name = budget["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let number = |value: &Value| value.as_i64().unwrap_or_default();
    let seen = number(&budget["status"]["observedGeneration"]);
    if seen < number(&budget["metadata"]["generation"]) {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(too_many(why, 10));
    }
    let left = number(&budget["status"]["disruptionsAllowed"]);
    if left <= 0 {
        let (healthy, wanted) = (
            number(&budget["status"]["currentHealthy"]),
            number(&budget["status"]["desiredHealthy"]),
        );
        return Err(too_many(
            format!(
                "The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"
            ),
            0,
        ));
    }
    budget["status"]["disruptionsAllowed"] = (left - 1).into();
    budget["status"]["disruptedPods"][pod.name()] = rfc3339(options.now).into();
    let status = options.part(Part::Status);
    cluster.replace(&kind, namespace, &name, budget, &status)?;
    Ok(())
}

/// Whether a budget's selector selects a pod; without one it selects none.
fn selects(selector: &Value, pod: &StoredObject) -> bool {
    let text = table::selector(selector);
    let text = if text == table::NONE { "" } else { &text };
    let parsed = LabelSelector::parse(text);
    selector.is_object() && parsed.is_ok_and(|selector| selector.matches(pod.labels()))
}

/// 429: the budget allows no eviction now.
fn too_many(why: String, retry_after_seconds: u32) -> Status {
    let mut details = StatusDetails::default();
    details.causes = vec![StatusCause::new("DisruptionBudget", why)];
    details.retry_after_seconds = retry_after_seconds;
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    Status::failure(429, "TooManyRequests", message).with_details(details)
}

/// Binds a pod to a node, as a scheduler does.
pub(super) fn bind(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    request: &Request<Bytes>,
) -> Result<Response<Body>, Status> {
    let dry_run = write::query_options(record, "CreateOptions", Vec::new())?.dry_run;
    let binding = read(shared, request, "", "v1", "Binding")?;
    let named = binding["metadata"]["name"].as_str().unwrap_or_default();
    let name = match record.name.as_str() {
        "" => named,
        name if name != named => {
            return Err(status::bad_request(
                "name in URL does not match name in Binding object",
            ));
        }
        name => name,
    };
    let target = |field: &str| binding["target"][field].as_str().unwrap_or_default();
    let (kind, node) = (target("kind"), target("name"));
    if !matches!(kind, "" | "Node") {
        let why = format!(
            "target.kind: Unsupported value: {kind:?}: supported values: \"Node\", \"<empty>\""
        );
        return Err(Status::failure(500, "", why));
    }
    if node.is_empty() {
        return Err(Status::failure(500, "", "target.name: Required value"));
    }
    let options = WriteOptions::at(shared.clock.now()).dry_run(dry_run);
    let namespace = record.namespace.as_str();
    shared.write(|cluster| {
        let pods = cluster.resource("v1/pods")?;
        let mut pod = cluster.get(&pods, namespace, name)?.value(&pods);
        let bound = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        if !bound.is_empty() {
            let mut of = (*pods).clone();
            of.plural = "pods/binding".to_owned();
            let why = format!("pod {name} is already assigned to node \"{bound}\"");
            return Err(status::conflict(&of, name, &why));
        }
        pod["spec"]["nodeName"] = node.into();
        let conditions = &mut pod["status"]["conditions"];
        if !conditions.is_array() {
            *conditions = json!([]);
        }
        if let Some(conditions) = conditions.as_array_mut() {
            conditions.retain(|condition| condition["type"] != "PodScheduled");
            conditions.push(json!({
                "type": "PodScheduled",
                "status": "True",
                "lastProbeTime": null,
                "lastTransitionTime": rfc3339(options.now),
            }));
        }
        cluster.replace(&pods, namespace, name, pod, &options)
    })?;
    Ok(respond::status(done(), Format::Json))
}
