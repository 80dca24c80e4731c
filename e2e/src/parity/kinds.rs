//! The kinds of the generated operations, one of each strategy of Kubernetes, with bodies that leave no defaults open.

use serde_json::{Value, json};

/// A kind and what the generator needs to know about it.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) plural: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) api_version: &'static str,
    pub(crate) namespaced: bool,
    /// Whether `/status` is served.
    pub(crate) status: bool,
    pub(crate) scale: bool,
    /// The content beside the metadata, in one of three variants.
    pub(crate) content: fn(u8) -> Value,
}

/// The variant of three.
fn one_of(texts: [&str; 3], variant: u8) -> &str {
    texts[usize::from(variant % 3)]
}

/// All kinds.
pub(crate) const KINDS: &[Kind] = &[
    Kind {
        plural: "configmaps",
        kind: "ConfigMap",
        api_version: "v1",
        namespaced: true,
        status: false,
        scale: false,
        content: |i| json!({ "data": { "k": format!("v{i}") } }),
    },
    Kind {
        plural: "secrets",
        kind: "Secret",
        api_version: "v1",
        namespaced: true,
        status: false,
        scale: false,
        content: |i| json!({ "data": { "k": one_of(["YQ==", "Yg==", "Yw=="], i) }, "type": "Opaque" }),
    },
    Kind {
        plural: "leases",
        kind: "Lease",
        api_version: "coordination.k8s.io/v1",
        namespaced: true,
        status: false,
        scale: false,
        content: |i| json!({ "spec": { "holderIdentity": format!("h{i}"), "leaseDurationSeconds": 15 } }),
    },
    Kind {
        plural: "gadgets",
        kind: "Gadget",
        api_version: "parity.example/v1",
        namespaced: true,
        status: true,
        scale: false,
        content: |i| json!({ "spec": { "size": i }, "status": { "seen": i } }),
    },
    Kind {
        plural: "trinkets",
        kind: "Trinket",
        api_version: "parity.example/v1",
        namespaced: true,
        status: false,
        scale: false,
        content: |i| json!({ "spec": { "size": i }, "status": { "seen": i } }),
    },
    Kind {
        plural: "devices",
        kind: "Device",
        api_version: "parity.example/v1",
        namespaced: true,
        status: true,
        scale: false,
        content: super::odd::content,
    },
    Kind {
        plural: "charms",
        kind: "Charm",
        api_version: "parity.example/v1",
        namespaced: true,
        status: true,
        scale: false,
        content: |i| json!({ "spec": { "size": i, "tags": ["x"], "parts": [{ "name": "a", "size": i }] }, "status": { "seen": i } }),
    },
    Kind {
        plural: "clusterroles",
        kind: "ClusterRole",
        api_version: "rbac.authorization.k8s.io/v1",
        namespaced: false,
        status: false,
        scale: false,
        content: |i| json!({ "rules": [{ "apiGroups": [""], "resources": [format!("r{i}")], "verbs": ["get"] }] }),
    },
    Kind {
        plural: "nodes",
        kind: "Node",
        api_version: "v1",
        namespaced: false,
        status: true,
        scale: false,
        content: |i| {
            json!({ "spec": {
            "podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"], "unschedulable": true,
            "taints": [{ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" }] },
            "status": { "phase": one_of(["Pending", "Running", "Terminated"], i),
                "daemonEndpoints": { "kubeletEndpoint": { "Port": 0 } },
                "nodeInfo": { "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "", "osImage": "",
                    "containerRuntimeVersion": "", "kubeletVersion": "", "kubeProxyVersion": "",
                    "operatingSystem": "", "architecture": "" } } })
        },
    },
    Kind {
        plural: "pods",
        kind: "Pod",
        api_version: "v1",
        namespaced: true,
        status: true,
        scale: false,
        content: |i| {
            json!({ "spec": {
            "containers": [{ "name": "c", "image": format!("example/i:{i}"), "resources": {},
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent" }],
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
            "securityContext": {}, "schedulerName": "default-scheduler", "enableServiceLinks": true, "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
            "tolerations": [
                { "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 },
                { "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 }],
            } })
        },
    },
    Kind {
        plural: "services",
        kind: "Service",
        api_version: "v1",
        namespaced: true,
        status: true,
        scale: false,
        content: |i| {
            json!({ "spec": {
            "ports": [{ "name": format!("p{}", 80 + u32::from(i)), "protocol": "TCP", "port": 80 + u32::from(i),
                "targetPort": 80 + u32::from(i) }], "clusterIP": "None",
            "clusterIPs": ["None"], "type": "ClusterIP", "sessionAffinity": "None", "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster", "selector": { "a": "b" } },
            "status": { "loadBalancer": {} } })
        },
    },
    Kind {
        plural: "deployments",
        kind: "Deployment",
        api_version: "apps/v1",
        namespaced: true,
        status: true,
        scale: true,
        content: |i| {
            json!({ "spec": {
            "replicas": i, "selector": { "matchLabels": { "a": "b" } }, "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "25%", "maxSurge": "25%" } },
            "template": { "metadata": { "labels": { "a": "b" } }, "spec": {
                "containers": [{ "name": "c", "image": "example/i", "resources": {},
                    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                    "imagePullPolicy": "Always" }],
                "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
                "securityContext": {}, "schedulerName": "default-scheduler" } } } })
        },
    },
];

impl Kind {
    /// The path of its collection in one of the two namespaces; with no namespace, of all of them.
    pub(crate) fn collection(&self, namespace: Option<&str>) -> String {
        let root = if self.api_version == "v1" {
            "api"
        } else {
            "apis"
        };
        let base = format!("/{root}/{}", self.api_version);
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => format!("{base}/namespaces/{namespace}/{}", self.plural),
            None => format!("{base}/{}", self.plural),
        }
    }

    /// A whole object with this metadata.
    pub(crate) fn object(&self, metadata: Value, variant: u8) -> Value {
        let mut object = (self.content)(variant);
        object["apiVersion"] = self.api_version.into();
        object["kind"] = self.kind.into();
        object["metadata"] = metadata;
        object
    }
}
