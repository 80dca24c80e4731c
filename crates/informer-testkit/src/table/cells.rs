//! The cells of the other kinds with a namespace.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{since, since_creation};
use super::text::{
    NONE, UNSET, access_modes, count, each, is_terminating, joined, labels, number, or, plain,
    selector,
};

/// Returns the cells of these kinds.
pub(super) fn cells(plural: &str, object: &Value, now: Timestamp) -> Option<Vec<Value>> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (name, age) = (
        object["metadata"]["name"].clone(),
        since_creation(object, now),
    );
    Some(match plural {
        "configmaps" => {
            let entries = count(&object["data"]) + count(&object["binaryData"]);
            vec![name, entries.into(), age]
        }
        "secrets" => {
            let data = count(&object["data"]);
            vec![name, or(&object["type"], "Opaque"), data.into(), age]
        }
        "services" => service(object, now),
        "endpoints" => vec![name, endpoints(object).into(), age],
        "endpointslices" => endpoint_slice(object, now),
        "events" => event(object, now),
        "limitranges" | "roles" | "csistoragecapacities" => {
            vec![name, object["metadata"]["creationTimestamp"].clone()]
        }
        "resourcequotas" => {
            let of = |limits: bool| quota(status, limits);
            vec![name, of(false).into(), of(true).into(), age]
        }
        "persistentvolumeclaims" => {
            let phase = match is_terminating(object) {
                true => "Terminating".into(),
                false => status["phase"].clone(),
            };
            let is_bound = !plain(&spec["volumeName"]).is_empty();
            let capacity = plain(&status["capacity"]["storage"]);
            let modes = access_modes(&status["accessModes"]);
            let bound = |text: String| if is_bound { text } else { String::new() };
            vec![
                name,
                phase,
                plain(&spec["volumeName"]).into(),
                bound(capacity).into(),
                bound(modes).into(),
                plain(&spec["storageClassName"]).into(),
                or(&spec["volumeAttributesClassName"], UNSET),
                age,
                or(&spec["volumeMode"], UNSET),
            ]
        }
        "ingresses" => ingress(object, now),
        "networkpolicies" => vec![name, selector(&spec["podSelector"]).into(), age],
        "poddisruptionbudgets" => {
            let or_not = |value: &Value| match value {
                Value::Null => "N/A".into(),
                value => Value::from(plain(value)),
            };
            vec![
                name,
                or_not(&spec["minAvailable"]),
                or_not(&spec["maxUnavailable"]),
                number(&status["disruptionsAllowed"]).into(),
                age,
            ]
        }
        "horizontalpodautoscalers" => {
            let target = &spec["scaleTargetRef"];
            vec![
                name,
                format!("{}/{}", plain(&target["kind"]), plain(&target["name"])).into(),
                targets(object).into(),
                spec["minReplicas"].as_i64().unwrap_or(1).to_string().into(),
                number(&spec["maxReplicas"]).into(),
                number(&status["currentReplicas"]).into(),
                age,
            ]
        }
        "leases" => vec![name, plain(&spec["holderIdentity"]).into(), age],
        "controllerrevisions" => {
            let owners = &object["metadata"]["ownerReferences"];
            let owner = each(owners).find(|owner| owner["controller"] == true);
            let owner = owner.map_or_else(
                || NONE.to_owned(),
                |owner| {
                    let kind = plain(&owner["kind"]).to_lowercase();
                    let group = plain(&owner["apiVersion"]);
                    match group.split_once('/') {
                        Some((group, _)) => format!("{kind}.{group}/{}", plain(&owner["name"])),
                        None => format!("{kind}/{}", plain(&owner["name"])),
                    }
                },
            );
            vec![name, owner.into(), number(&object["revision"]).into(), age]
        }
        _ => return None,
    })
}

fn service(service: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &service["spec"];
    let kind = plain(&or(&spec["type"], "ClusterIP"));
    let balanced = &service["status"]["loadBalancer"]["ingress"];
    let external: Vec<String> = each(&spec["externalIPs"]).map(plain).collect();
    let balancers = each(balanced).map(|one| plain(&or(&one["ip"], &plain(&one["hostname"]))));
    let external = match kind.as_str() {
        "ExternalName" => plain(&spec["externalName"]),
        "LoadBalancer" => balancers.chain(external).collect::<Vec<_>>().join(","),
        _ => external.join(","),
    };
    let nothing = if kind == "LoadBalancer" {
        "<pending>"
    } else {
        NONE
    };
    let port = |port: &Value| {
        let (number, protocol) = (plain(&port["port"]), plain(&or(&port["protocol"], "TCP")));
        match port["nodePort"].as_i64() {
            Some(node) if node > 0 => format!("{number}:{node}/{protocol}"),
            _ => format!("{number}/{protocol}"),
        }
    };
    let ports = each(&spec["ports"]).map(port).collect::<Vec<_>>().join(",");
    vec![
        service["metadata"]["name"].clone(),
        kind.into(),
        or(&spec["clusterIP"], NONE),
        or(&json!(external), nothing),
        or(&json!(ports), NONE),
        since_creation(service, now),
        labels(&spec["selector"]).into(),
    ]
}

/// Joins the first texts and says how many there are beyond.
fn some(all: &[String]) -> String {
    let shown = all[..all.len().min(3)].join(",");
    match all.len() {
        0 => NONE.to_owned(),
        1..=3 => shown,
        more => format!("{shown} + {} more...", more - 3),
    }
}

fn endpoints(endpoints: &Value) -> String {
    let mut all = Vec::new();
    for subset in each(&endpoints["subsets"]) {
        for address in each(&subset["addresses"]) {
            let ip = plain(&address["ip"]);
            match count(&subset["ports"]) {
                0 => all.push(ip),
                _ => all.extend(
                    each(&subset["ports"]).map(|port| format!("{ip}:{}", plain(&port["port"]))),
                ),
            }
        }
    }
    some(&all)
}

fn endpoint_slice(slice: &Value, now: Timestamp) -> Vec<Value> {
    let port = |port: &Value| match port["port"].as_i64() {
        Some(number) => number.to_string(),
        None => "*".to_owned(),
    };
    let ports: Vec<String> = each(&slice["ports"]).map(port).collect();
    let addresses = each(&slice["endpoints"]).flat_map(|endpoint| each(&endpoint["addresses"]));
    let addresses: Vec<String> = addresses.map(plain).collect();
    let or_unset = |all: &[String]| match all.is_empty() {
        true => UNSET.to_owned(),
        false => some(all),
    };
    vec![
        slice["metadata"]["name"].clone(),
        slice["addressType"].clone(),
        or_unset(&ports).into(),
        or_unset(&addresses).into(),
        since_creation(slice, now),
    ]
}

fn event(event: &Value, now: Timestamp) -> Vec<Value> {
    let either = |old: &'static str, new: &'static str| match &event[old] {
        Value::Null => &event[new],
        value => value,
    };
    let object = either("involvedObject", "regarding");
    let first = match either("firstTimestamp", "deprecatedFirstTimestamp") {
        Value::Null => &event["eventTime"],
        time => time,
    };
    let last = match either("lastTimestamp", "deprecatedLastTimestamp") {
        Value::Null => match &event["series"]["lastObservedTime"] {
            Value::Null => first,
            time => time,
        },
        time => time,
    };
    let source = either("source", "deprecatedSource");
    let component = plain(&or(
        &source["component"],
        &plain(either("reportingComponent", "reportingController")),
    ));
    let host = plain(&or(&source["host"], &plain(&event["reportingInstance"])));
    let count = [
        &event["series"]["count"],
        either("count", "deprecatedCount"),
    ];
    let count = count
        .iter()
        .map(|count| number(count))
        .find(|count| *count > 0);
    vec![
        since(last, now),
        plain(&event["type"]).into(),
        plain(&event["reason"]).into(),
        format!(
            "{}/{}",
            plain(&object["kind"]).to_lowercase(),
            plain(&object["name"])
        )
        .into(),
        plain(&object["fieldPath"]).into(),
        match host.is_empty() {
            true => component.into(),
            false => format!("{component}, {host}").into(),
        },
        plain(either("message", "note")).trim().into(),
        since(first, now),
        count.unwrap_or(1).into(),
        event["metadata"]["name"].clone(),
    ]
}

fn quota(status: &Value, limits: bool) -> String {
    let hard = status["hard"].as_object().into_iter().flatten();
    let mut all: Vec<String> = hard
        .filter(|(name, _)| name.starts_with("limits.") == limits)
        .map(|(name, hard)| {
            let used = plain(&or(&status["used"][name], "0"));
            format!("{name}: {used}/{}", plain(hard))
        })
        .collect();
    all.sort();
    all.join(", ")
}

fn ingress(ingress: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &ingress["spec"];
    let hosts: Vec<String> = each(&spec["rules"])
        .map(|rule| plain(&rule["host"]))
        .filter(|host| !host.is_empty())
        .collect();
    let hosts = match some(&hosts) {
        all if all == NONE => "*".to_owned(),
        all => all,
    };
    let addresses = &ingress["status"]["loadBalancer"]["ingress"];
    let address = each(addresses).map(|one| plain(&or(&one["ip"], &plain(&one["hostname"]))));
    let ports = if count(&spec["tls"]) > 0 {
        "80, 443"
    } else {
        "80"
    };
    vec![
        ingress["metadata"]["name"].clone(),
        or(&spec["ingressClassName"], NONE),
        hosts.into(),
        address.collect::<Vec<_>>().join(",").into(),
        ports.into(),
        since_creation(ingress, now),
    ]
}

/// What an autoscaler aims at, of the metrics that are resources of pods.
fn targets(scaler: &Value) -> String {
    let (spec, status) = (&scaler["spec"], &scaler["status"]);
    let unknown = "<unknown>";
    if let Some(target) = spec["targetCPUUtilizationPercentage"].as_i64() {
        let current = status["currentCPUUtilizationPercentage"].as_i64();
        let current = current.map_or_else(|| unknown.to_owned(), |current| format!("{current}%"));
        return format!("cpu: {current}/{target}%");
    }
    let all: Vec<String> = each(&spec["metrics"])
        .enumerate()
        .map(|(at, metric)| {
            let resource = &metric["resource"];
            let current = &status["currentMetrics"][at]["resource"]["current"];
            let (target, current, unit) = match resource["target"]["averageUtilization"].as_i64() {
                Some(target) => (
                    target.to_string(),
                    current["averageUtilization"].clone(),
                    "%",
                ),
                None => (
                    plain(&resource["target"]["averageValue"]),
                    current["averageValue"].clone(),
                    "",
                ),
            };
            let current = match current {
                Value::Null => unknown.to_owned(),
                value => format!("{}{unit}", plain(&value)),
            };
            match resource["name"].as_str() {
                Some(name) => format!("{name}: {current}/{target}{unit}"),
                None => format!(
                    "{current}/{}",
                    joined(&json!([resource["target"]]), "value", "")
                ),
            }
        })
        .collect();
    match all.as_slice() {
        [] => NONE.to_owned(),
        all if all.len() > 2 => format!("{} + {} more...", all[..2].join(", "), all.len() - 2),
        all => all.join(", "),
    }
}
