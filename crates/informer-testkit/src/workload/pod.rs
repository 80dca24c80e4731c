//! The pods of a workload.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::managed_fields::fields_v1;
use crate::time::rfc3339;

/// App and tier.
const APPS: [(&str, &str); 12] = [
    ("billing", "backend"),
    ("cart", "backend"),
    ("catalog", "backend"),
    ("checkout", "backend"),
    ("gateway", "frontend"),
    ("invoices", "batch"),
    ("mailer", "batch"),
    ("reports", "batch"),
    ("reviews", "backend"),
    ("search", "backend"),
    ("shop", "frontend"),
    ("users", "backend"),
];

/// Makes pods.
pub(super) struct PodMaker {
    pub(super) namespaces: usize,
    pub(super) nodes: usize,
    pub(super) managed_fields: bool,
    pub(super) now: Timestamp,
}

impl PodMaker {
    /// Returns the pod of a number: its namespace, its name, and the object. Its owner's UID is asked by namespace and
    /// name.
    pub(super) fn pod<E>(
        &self,
        number: u64,
        random: &mut fastrand::Rng,
        owner_uid: impl FnOnce(&str, &str) -> Result<String, E>,
    ) -> Result<(String, String, Value), E> {
        let (app, tier) = APPS[random.usize(..APPS.len())];
        let namespace = format!("team-{}", random.usize(..self.namespaces));
        let template = format!("{:010x}", fnv(app, &namespace));
        let name = format!("{app}-{template}-{}", suffix(number));
        let owner = format!("{app}-{template}");
        let uid = owner_uid(&namespace, &owner)?;
        let node = format!("node-{:03}", random.usize(..self.nodes));
        let mut pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "generateName": format!("{app}-{template}-"),
                "namespace": namespace,
                "labels": {
                    "app": app,
                    "tier": tier,
                    "pod-template-hash": template,
                },
                "annotations": {
                    "prometheus.io/scrape": "true",
                    "prometheus.io/port": "9090",
                    "checksum/config": format!("{:032x}{:032x}", random.u128(..), random.u128(..)),
                },
                "ownerReferences": [{
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": owner,
                    "uid": uid,
                    "controller": true,
                    "blockOwnerDeletion": true,
                }],
            },
            "spec": spec(app, tier, &node),
        });
        let running = random.u8(..10) > 0;
        pod["status"] = if running {
            running_status(&pod, self.now, random)
        } else {
            json!({"phase": "Pending", "qosClass": "Burstable"})
        };
        if self.managed_fields {
            pod["metadata"]["managedFields"] = managed_fields(&pod, self.now);
        }
        Ok((namespace, name, pod))
    }
}

fn spec(app: &str, tier: &str, node: &str) -> Value {
    let account = format!("{app}-runner");
    json!({
        "containers": [container(app, tier), sidecar()],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": true,
        "imagePullSecrets": [{"name": "registry"}],
        "nodeName": node,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {"runAsNonRoot": true, "fsGroup": 2000},
        "serviceAccount": account,
        "serviceAccountName": account,
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
        ],
        "volumes": [
            {"name": "config", "configMap": {"name": format!("{app}-config"), "defaultMode": 420}},
            {"name": "scratch", "emptyDir": {}},
            {"name": "token", "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            ]}},
        ],
    })
}

fn container(app: &str, tier: &str) -> Value {
    let probe = |path: &str, period: u32| {
        json!({
            "httpGet": {"path": path, "port": 8080, "scheme": "HTTP"},
            "initialDelaySeconds": 5,
            "periodSeconds": period,
            "successThreshold": 1,
            "failureThreshold": 3,
            "timeoutSeconds": 1,
        })
    };
    json!({
        "name": app,
        "image": format!("registry.example/{tier}/{app}:1.14.2"),
        "imagePullPolicy": "IfNotPresent",
        "args": ["--listen=:8080", "--config=/etc/app/config.yaml"],
        "env": [
            {"name": "LOG_LEVEL", "value": "info"},
            {"name": "TIER", "value": tier},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}},
        ],
        "ports": [
            {"name": "http", "containerPort": 8080, "protocol": "TCP"},
            {"name": "metrics", "containerPort": 9090, "protocol": "TCP"},
        ],
        "resources": {
            "limits": {"cpu": "1", "memory": "512Mi"},
            "requests": {"cpu": "100m", "memory": "256Mi"},
        },
        "livenessProbe": probe("/healthz", 10),
        "readinessProbe": probe("/readyz", 5),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/app", "readOnly": true},
            {"name": "scratch", "mountPath": "/scratch"},
            {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true},
        ],
    })
}

fn sidecar() -> Value {
    json!({
        "name": "proxy",
        "image": "registry.example/mesh/proxy:2.3.1",
        "imagePullPolicy": "IfNotPresent",
        "args": ["proxy", "--drain-time=15s"],
        "ports": [{"name": "proxy", "containerPort": 15001, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true},
        ],
    })
}

/// The types of the conditions of a pod that runs.
const CONDITIONS: [&str; 5] = [
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
];

/// Returns the status of a pod whose containers run.
pub(super) fn running_status(pod: &Value, now: Timestamp, random: &mut fastrand::Rng) -> Value {
    let now = rfc3339(now);
    let ip = format!(
        "10.{}.{}.{}",
        random.u8(..),
        random.u8(..),
        random.u8(1..255)
    );
    let host = format!("192.168.{}.{}", random.u8(..4), random.u8(1..255));
    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": now});
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let statuses: Vec<Value> = containers
        .map(|container| {
            let id = format!("{:032x}{:032x}", random.u128(..), random.u128(..));
            json!({
                "name": container["name"],
                "image": container["image"],
                "imageID": format!("registry.example/image@sha256:{id}"),
                "containerID": format!("containerd://{id}"),
                "ready": true,
                "started": true,
                "restartCount": 0,
                "lastState": {},
                "state": {"running": {"startedAt": now}},
            })
        })
        .collect();
    let conditions = CONDITIONS.map(condition);
    json!({
        "phase": "Running",
        "qosClass": "Burstable",
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "startTime": now,
        "conditions": conditions,
        "containerStatuses": statuses,
    })
}

/// Returns managed fields: the controller owns all but the status, the kubelet the status.
fn managed_fields(pod: &Value, now: Timestamp) -> Value {
    let metadata = json!({
        "labels": pod["metadata"]["labels"],
        "annotations": pod["metadata"]["annotations"],
        "generateName": pod["metadata"]["generateName"],
        "ownerReferences": pod["metadata"]["ownerReferences"],
    });
    let entry = |manager: &str, fields: Value| {
        json!({
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": rfc3339(now),
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        })
    };
    let main = fields_v1(&json!({"metadata": metadata, "spec": pod["spec"]}));
    let mut status = entry("kubelet", fields_v1(&json!({"status": pod["status"]})));
    status["subresource"] = "status".into();
    json!([entry("kube-controller-manager", main), status])
}

/// Returns a number as Kubernetes-like letters, at least five of them.
fn suffix(mut number: u64) -> String {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut text = Vec::new();
    while number > 0 || text.len() < 5 {
        text.push(LETTERS[(number % 27) as usize]);
        number /= 27;
    }
    text.reverse();
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns FNV-1a of two texts, cut to 40 bits.
fn fnv(a: &str, b: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    a.bytes()
        .chain(*b"/")
        .chain(b.bytes())
        .fold(0xcbf2_9ce4_8422_2325, mix)
        & 0xff_ffff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pod_has_the_size_of_a_real_one() {
        let maker = PodMaker {
            namespaces: 2,
            nodes: 3,
            managed_fields: true,
            now: Timestamp::UNIX_EPOCH,
        };
        let mut random = fastrand::Rng::with_seed(1);
        let sizes: Vec<usize> = (0..20)
            .map(|number| {
                let uid = |_: &str, _: &str| {
                    Ok::<_, ()>("5a8c0f3e-0000-4000-8000-000000000000".to_owned())
                };
                maker
                    .pod(number, &mut random, uid)
                    .unwrap()
                    .2
                    .to_string()
                    .len()
            })
            .collect();
        assert!(
            sizes.iter().all(|size| (5_000..12_000).contains(size)),
            "{sizes:?}"
        );
    }

    #[test]
    fn workload_names_are_unique() {
        assert_eq!(suffix(0), "bbbbb");
        assert_eq!(suffix(27), "bbbcb");
        assert_ne!(suffix(27_u64.pow(5)), suffix(0));
    }
}
