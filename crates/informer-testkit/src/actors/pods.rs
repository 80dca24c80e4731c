//! A stand-in for the scheduler and for the kubelets of all nodes: pods get a node, run, are ready, and end.
//!
//! | rule | source in Kubernetes' documentation |
//! |---|---|
//! | A pod without a node gets one, unless its `schedulerName` is of another scheduler or it has `schedulingGates`: the first node that is not `unschedulable`, else one named `testkit` that nobody sees. Its condition `PodScheduled` says so. | [Kubernetes Scheduler](https://kubernetes.io/docs/concepts/scheduling-eviction/kube-scheduler/), [Pod Scheduling Readiness](https://kubernetes.io/docs/concepts/scheduling-eviction/pod-scheduling-readiness/) |
//! | A pending pod with a node runs: init containers have ended well (those that restart `Always` run), containers run and are ready, all conditions are `True`. Images, probes and readiness gates are not looked at; nothing fails, and no container ends by itself. | [Pod Lifecycle: phase, container states, conditions](https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/) |
//! | A deleted pod with a node has its grace period. At its end the containers have ended well, the phase is `Succeeded`, and the kubelet deletes the pod with a grace period of 0. | [Pod Lifecycle: termination of Pods](https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination) |
//! | A shorter grace period of a second delete counts. | [the same](https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination-forced) |
//! | Finalizers hold a pod that has ended. | [Finalizers](https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/) |

use std::time::Duration;

use informer_wire::{DeleteOptions, Patch};
use serde_json::{Value, json};

use super::agenda::Id;
use crate::model::{Change, Cluster, ListOptions, Part, StoredObject, WriteOptions};
use crate::time::rfc3339;

/// The node of pods if there is no `Node`.
const NODE: &str = "testkit";

fn pod(change: &Change) -> Option<&StoredObject> {
    let is_pod = change.resource.plural == "pods" && change.resource.group.is_empty();
    change.new.as_deref().filter(|_| is_pod)
}

/// Returns a pod that is to start.
pub(super) fn pending(change: &Change) -> Option<Id> {
    let pod = pod(change)?;
    let pending = !pod.ties().deleted && pod.field("status.phase") == "Pending";
    pending.then(|| Id::new(change, pod))
}

/// Returns a pod that is to end, and its grace period.
pub(super) fn ending(change: &Change) -> Option<(Id, Duration)> {
    let pod =
        pod(change).filter(|pod| pod.ties().deleted && !pod.field("spec.nodeName").is_empty())?;
    let grace = pod.grace_period().filter(|seconds| *seconds > 0)?;
    Some((Id::new(change, pod), Duration::from_secs(grace)))
}

/// Gives a pod a node, then lets it run.
pub(super) fn start(id: &Id, cluster: &mut Cluster, options: &WriteOptions) {
    let Some((pods, object)) = id.get(cluster) else {
        return;
    };
    if object.ties().deleted || object.field("status.phase") != "Pending" {
        return;
    }
    let mut pod = object.value(&pods);
    let now = rfc3339(options.now);
    let whole = options.part(Part::Whole);
    let write = |cluster: &mut Cluster, patch: Value| {
        cluster.patch(
            &pods,
            id.namespace(),
            id.name(),
            &Patch::Merge(patch),
            &whole,
        )
    };
    if object.field("spec.nodeName").is_empty() {
        if is_for_others(&pod["spec"]) {
            return;
        }
        let conditions = with_conditions(
            &pod["status"]["conditions"],
            &["PodScheduled"],
            "True",
            &now,
        );
        let bind = json!({
            "spec": {"nodeName": node(cluster)},
            "status": {"conditions": conditions},
        });
        let Ok(bound) = write(cluster, bind) else {
            return;
        };
        pod = bound.value(&pods);
    }
    let _ = write(cluster, json!({"status": running(&pod, id, &now)}));
}

/// Whether the default scheduler leaves a pod alone.
fn is_for_others(spec: &Value) -> bool {
    let scheduler = spec["schedulerName"]
        .as_str()
        .unwrap_or("default-scheduler");
    let gates = spec["schedulingGates"].as_array();
    scheduler != "default-scheduler" || gates.is_some_and(|gates| !gates.is_empty())
}

fn node(cluster: &Cluster) -> String {
    let found = cluster.resource("v1/nodes").and_then(|nodes| {
        let page = cluster.list(&nodes, "", &ListOptions::new())?;
        let mut nodes = page.items.iter().filter(|node| {
            let node = node.value(&nodes);
            node["spec"]["unschedulable"] != true
        });
        Ok(nodes.next().map(|node| node.name().to_owned()))
    });
    found.ok().flatten().unwrap_or_else(|| NODE.to_owned())
}

/// Ends a pod whose grace period is over.
pub(super) fn end(id: &Id, cluster: &mut Cluster, options: &WriteOptions) {
    let Some((pods, object)) = id.get(cluster) else {
        return;
    };
    if !object.ties().deleted {
        return;
    }
    let status = ended(&object.value(&pods), &rfc3339(options.now));
    let patch = Patch::Merge(json!({"status": status}));
    let (namespace, name) = (id.namespace(), id.name());
    let _ = cluster.patch(&pods, namespace, name, &patch, &options.part(Part::Status));
    let at_once = DeleteOptions::default()
        .only_uid(&*id.uid)
        .grace_period_seconds(0);
    let _ = cluster.delete(&pods, namespace, name, &at_once, options);
}

/// Sets some conditions of a pod, and keeps the others.
fn with_conditions(old: &Value, kinds: &[&str], status: &str, now: &str) -> Value {
    let mut conditions = old.as_array().cloned().unwrap_or_default();
    for kind in kinds {
        let new = json!({
            "type": kind,
            "status": status,
            "lastProbeTime": null,
            "lastTransitionTime": now,
        });
        match conditions.iter_mut().find(|one| one["type"] == *kind) {
            Some(one) if one["status"] == status => {}
            Some(one) => *one = new,
            None => conditions.push(new),
        }
    }
    conditions.into()
}

fn containers<'a>(pod: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    pod["spec"][list].as_array().into_iter().flatten()
}

fn container_status(container: &Value, id: &Id, state: Value) -> Value {
    let runs = state["running"].is_object();
    json!({
        "name": container["name"],
        "image": container["image"],
        "imageID": container["image"],
        "containerID": format!("containerd://{}-{}", id.uid, container["name"].as_str().unwrap_or_default()),
        "ready": runs || state["terminated"]["exitCode"] == 0,
        "started": runs,
        "restartCount": 0,
        "lastState": {},
        "state": state,
    })
}

fn terminated(now: &str) -> Value {
    json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}})
}

/// The status of a pod that runs and is ready.
fn running(pod: &Value, id: &Id, now: &str) -> Value {
    let runs = json!({"running": {"startedAt": now}});
    let of_containers: Vec<_> = containers(pod, "containers")
        .map(|container| container_status(container, id, runs.clone()))
        .collect();
    let of_init_containers: Vec<_> = containers(pod, "initContainers")
        .map(|container| match container["restartPolicy"].as_str() {
            Some("Always") => container_status(container, id, runs.clone()),
            _ => container_status(container, id, terminated(now)),
        })
        .collect();
    let kinds = [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ];
    // An address that only this pod has, as long as there are not many.
    let hash = id.uid.bytes().fold(7_u32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    let address = format!("10.{}.{}.{}", hash >> 16 & 255, hash >> 8 & 255, hash & 255);
    let mut status = json!({
        "phase": "Running",
        "hostIP": "192.168.0.1",
        "hostIPs": [{"ip": "192.168.0.1"}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": now,
        "conditions": with_conditions(&pod["status"]["conditions"], &kinds, "True", now),
        "containerStatuses": of_containers,
    });
    if !of_init_containers.is_empty() {
        status["initContainerStatuses"] = of_init_containers.into();
    }
    status
}

/// The status of a pod whose containers have ended.
fn ended(pod: &Value, now: &str) -> Value {
    let mut statuses = pod["status"]["containerStatuses"].clone();
    for status in statuses.as_array_mut().into_iter().flatten() {
        let mut state = terminated(now);
        let started = &status["state"]["running"]["startedAt"];
        if started.is_string() {
            state["terminated"]["startedAt"] = started.clone();
        }
        status["state"] = state;
        status["ready"] = false.into();
        status["started"] = false.into();
    }
    let ready = ["Ready", "ContainersReady"];
    let mut ended = json!({
        "phase": "Succeeded",
        "conditions": with_conditions(&pod["status"]["conditions"], &ready, "False", now),
    });
    if statuses.is_array() {
        ended["containerStatuses"] = statuses;
    }
    ended
}
