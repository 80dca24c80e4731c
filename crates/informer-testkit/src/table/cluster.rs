//! The cells of kinds without a namespace, and of bindings of roles.

use jiff::Timestamp;
use serde_json::Value;

use super::age::since_creation;
use super::text::{
    NONE, UNSET, access_modes, condition, count, each, has_condition, is_terminating, joined, or,
    plain,
};

/// Returns the cells of these kinds.
pub(super) fn cells(plural: &str, object: &Value, now: Timestamp) -> Option<Vec<Value>> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (name, age) = (
        object["metadata"]["name"].clone(),
        since_creation(object, now),
    );
    let is = |value: &Value| Value::from(value == true);
    Some(match plural {
        "namespaces" => vec![name, status["phase"].clone(), age],
        "nodes" => node(object, now),
        "clusterroles" | "customresourcedefinitions" => {
            vec![name, object["metadata"]["creationTimestamp"].clone()]
        }
        "clusterrolebindings" | "rolebindings" => {
            let role = &object["roleRef"];
            let role = format!("{}/{}", plain(&role["kind"]), plain(&role["name"]));
            let subjects = |kind: &str| {
                let of_kind = each(&object["subjects"]).filter(|subject| subject["kind"] == kind);
                let names = of_kind.map(|subject| match kind {
                    "ServiceAccount" => {
                        format!(
                            "{}/{}",
                            plain(&subject["namespace"]),
                            plain(&subject["name"])
                        )
                    }
                    _ => plain(&subject["name"]),
                });
                Value::from(names.collect::<Vec<_>>().join(", "))
            };
            let [users, groups, accounts] = ["User", "Group", "ServiceAccount"].map(subjects);
            vec![name, role.into(), age, users, groups, accounts]
        }
        "persistentvolumes" => {
            let claim = &spec["claimRef"];
            let claim = match claim.is_object() {
                true => format!("{}/{}", plain(&claim["namespace"]), plain(&claim["name"])),
                false => String::new(),
            };
            vec![
                name,
                plain(&spec["capacity"]["storage"]).into(),
                access_modes(&spec["accessModes"]).into(),
                or(&spec["persistentVolumeReclaimPolicy"], "Retain"),
                match is_terminating(object) {
                    true => "Terminating".into(),
                    false => status["phase"].clone(),
                },
                claim.into(),
                plain(&spec["storageClassName"]).into(),
                or(&spec["volumeAttributesClassName"], UNSET),
                plain(&status["reason"]).into(),
                age,
                or(&spec["volumeMode"], UNSET),
            ]
        }
        "ingressclasses" => {
            let parameters = &spec["parameters"];
            let kind = plain(&parameters["kind"]);
            let kind = match parameters["apiGroup"].as_str() {
                Some(group) => format!("{kind}.{group}"),
                None => kind,
            };
            let parameters = match parameters.is_object() {
                true => format!("{kind}/{}", plain(&parameters["name"])),
                false => NONE.to_owned(),
            };
            vec![name, spec["controller"].clone(), parameters.into(), age]
        }
        "storageclasses" => {
            let annotations = &object["metadata"]["annotations"];
            let is_default = annotations["storageclass.kubernetes.io/is-default-class"] == "true";
            let name = match is_default {
                true => format!("{} (default)", plain(&name)).into(),
                false => name,
            };
            vec![
                name,
                object["provisioner"].clone(),
                or(&object["reclaimPolicy"], "Delete"),
                or(&object["volumeBindingMode"], "Immediate"),
                is(&object["allowVolumeExpansion"]),
                age,
            ]
        }
        "csidrivers" => {
            let modes: Vec<String> = each(&spec["volumeLifecycleModes"]).map(plain).collect();
            vec![
                name,
                Value::from(spec["attachRequired"] != false),
                is(&spec["podInfoOnMount"]),
                is(&spec["storageCapacity"]),
                match count(&spec["tokenRequests"]) {
                    0 => UNSET.into(),
                    _ => joined(&spec["tokenRequests"], "audience", ",").into(),
                },
                is(&spec["requiresRepublish"]),
                or(&modes.join(",").into(), "Persistent"),
                age,
            ]
        }
        "csinodes" => vec![name, count(&spec["drivers"]).into(), age],
        "volumeattachments" => vec![
            name,
            spec["attacher"].clone(),
            plain(&spec["source"]["persistentVolumeName"]).into(),
            spec["nodeName"].clone(),
            is(&status["attached"]),
            age,
        ],
        "priorityclasses" => vec![
            name,
            object["value"].as_i64().unwrap_or_default().into(),
            is(&object["globalDefault"]),
            age,
            or(&object["preemptionPolicy"], "PreemptLowerPriority"),
        ],
        "apiservices" => {
            let service = &spec["service"];
            let service = match service.is_object() {
                true => format!(
                    "{}/{}",
                    plain(&service["namespace"]),
                    plain(&service["name"])
                ),
                false => "Local".to_owned(),
            };
            let available =
                condition(object, "Available").map_or(&Value::Null, |one| &one["status"]);
            vec![name, service.into(), or(available, "Unknown"), age]
        }
        "mutatingwebhookconfigurations" | "validatingwebhookconfigurations" => {
            vec![name, count(&object["webhooks"]).into(), age]
        }
        "runtimeclasses" => vec![name, object["handler"].clone(), age],
        "certificatesigningrequests" => {
            let mut state = match () {
                () if has_condition(object, "Denied", "True") => "Denied",
                () if has_condition(object, "Approved", "True") => "Approved",
                () if has_condition(object, "Failed", "True") => "Failed",
                () => "Pending",
            }
            .to_owned();
            if !plain(&status["certificate"]).is_empty() {
                state.push_str(",Issued");
            }
            let seconds = spec["expirationSeconds"].as_i64();
            vec![
                name,
                age,
                or(&spec["signerName"], NONE),
                plain(&spec["username"]).into(),
                seconds.map_or_else(|| NONE.into(), |seconds| format!("{seconds}s").into()),
                state.into(),
            ]
        }
        _ => return None,
    })
}

fn node(node: &Value, now: Timestamp) -> Vec<Value> {
    let ready = match condition(node, "Ready") {
        Some(ready) if ready["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let state = match node["spec"]["unschedulable"] == true {
        true => format!("{ready},SchedulingDisabled"),
        false => ready.to_owned(),
    };
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let mut roles: Vec<String> = labels
        .filter_map(
            |(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
                Some(role) => Some(role.to_owned()),
                None if key == "kubernetes.io/role" => Some(plain(value)),
                None => None,
            },
        )
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort();
    roles.dedup();
    let info = &node["status"]["nodeInfo"];
    let address = |kind: &str| {
        let address = each(&node["status"]["addresses"]).find(|address| address["type"] == kind);
        address.map_or_else(|| NONE.into(), |address| address["address"].clone())
    };
    vec![
        node["metadata"]["name"].clone(),
        state.into(),
        or(&roles.join(",").into(), NONE),
        since_creation(node, now),
        plain(&info["kubeletVersion"]).into(),
        address("InternalIP"),
        address("ExternalIP"),
        or(&info["osImage"], "<unknown>"),
        or(&info["kernelVersion"], "<unknown>"),
        or(&info["containerRuntimeVersion"], "<unknown>"),
    ]
}
