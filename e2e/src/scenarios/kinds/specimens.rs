//! Small objects that a server takes as they are, one or more of each kind that nobody else creates.

use serde_json::{Value, json};

/// Collections, and what to create in each.
pub(super) fn all() -> Vec<(&'static str, Value)> {
    let mut all = core();
    all.extend(workloads());
    all.extend(network_and_nodes());
    all.extend(policies());
    all
}

fn named(name: &str, rest: Value) -> Value {
    let mut object = rest;
    object["metadata"] = json!({
        "name": name,
        "labels": { "app": "specimen", "empty": "" },
        "annotations": { "demo.example/note": "größer als \"0\"\n", "demo.example/empty": "" },
        "finalizers": ["demo.example/keep"],
    });
    object
}

/// The object of a collection, as one that needs no name of its own.
fn specimen(collection: &'static str, rest: Value) -> (&'static str, Value) {
    (collection, named("specimen", rest))
}

fn template() -> Value {
    json!({
        "metadata": { "labels": { "app": "specimen" } },
        "spec": { "containers": [{ "name": "main", "image": "example/main:1" }] },
    })
}

fn core() -> Vec<(&'static str, Value)> {
    let pod = json!({ "spec": {
        "hostNetwork": true,
        "nodeSelector": { "zone": "a" },
        "tolerations": [{ "key": "k", "operator": "Exists", "tolerationSeconds": 0, "effect": "NoExecute" }],
        "securityContext": { "runAsUser": 0, "runAsNonRoot": false, "sysctls": [{ "name": "kernel.shm_rmid_forced", "value": "1" }] },
        "volumes": [
            { "name": "empty", "emptyDir": {} },
            { "name": "sized", "emptyDir": { "sizeLimit": "1500Mi" } },
            { "name": "host", "hostPath": { "path": "/x", "type": "" } },
            { "name": "all", "projected": { "defaultMode": 0, "sources": [
                { "configMap": { "name": "c", "items": [{ "key": "k", "path": "p", "mode": 256 }] } },
                { "downwardAPI": { "items": [{ "path": "cpu", "resourceFieldRef": { "containerName": "main", "resource": "limits.cpu", "divisor": "1m" } }] } },
            ] } },
        ],
        "containers": [{
            "name": "main", "image": "example/main:1", "args": ["", "-v"], "tty": false,
            "ports": [{ "containerPort": 8080, "hostPort": 8080, "protocol": "UDP" }],
            "env": [{ "name": "A", "value": "" }, { "name": "B", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }],
            "resources": { "requests": { "cpu": "0.1", "memory": "1.5Gi" }, "limits": { "cpu": "2", "memory": "3e9" } },
            "livenessProbe": { "httpGet": { "port": "http", "path": "/" }, "periodSeconds": 3 },
            "readinessProbe": { "tcpSocket": { "port": 8080 } },
            "startupProbe": { "exec": { "command": ["true"] }, "failureThreshold": 1 },
            "volumeMounts": [{ "name": "empty", "mountPath": "/e", "readOnly": true }],
        }],
    } });
    vec![
        specimen("/api/v1/namespaces/default/pods", pod),
        specimen(
            "/api/v1/namespaces/default/configmaps",
            json!({ "data": { "a": "", "b": "ü" }, "binaryData": { "c": "AAH/" }, "immutable": false }),
        ),
        specimen(
            "/api/v1/namespaces/default/secrets",
            json!({ "data": { "a": "c2VjcmV0", "b": "" }, "type": "Opaque" }),
        ),
        specimen(
            "/api/v1/namespaces/default/services",
            json!({ "spec": { "selector": { "app": "x" }, "ports": [{ "name": "h", "port": 80, "targetPort": "http" }, { "name": "n", "port": 81, "targetPort": 8081 }] } }),
        ),
        (
            "/api/v1/namespaces/default/endpoints",
            named(
                "specimen-endpoints",
                json!({ "subsets": [{ "addresses": [{ "ip": "10.0.0.1" }], "ports": [{ "port": 80 }] }] }),
            ),
        ),
        specimen(
            "/api/v1/namespaces/default/events",
            json!({ "involvedObject": { "kind": "Pod", "name": "specimen", "namespace": "default" }, "reason": "Because", "type": "Normal", "count": 3, "firstTimestamp": "2026-01-02T03:04:05Z", "eventTime": null }),
        ),
        specimen(
            "/api/v1/namespaces/default/limitranges",
            json!({ "spec": { "limits": [{ "type": "Container", "max": { "cpu": "500m" } }] } }),
        ),
        specimen(
            "/api/v1/namespaces/red/resourcequotas",
            json!({ "spec": { "hard": { "pods": "0", "requests.cpu": "1.5" } } }),
        ),
        specimen(
            "/api/v1/namespaces/default/persistentvolumeclaims",
            json!({ "spec": { "accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": { "requests": { "storage": "1Gi" } } } }),
        ),
        specimen(
            "/api/v1/persistentvolumes",
            json!({ "spec": { "capacity": { "storage": "1Ti" }, "accessModes": ["ReadOnlyMany"], "nfs": { "server": "s", "path": "/p" } } }),
        ),
        specimen(
            "/api/v1/namespaces/default/podtemplates",
            json!({ "template": template() }),
        ),
        specimen(
            "/api/v1/namespaces/default/replicationcontrollers",
            json!({ "spec": { "replicas": 0, "selector": { "app": "specimen" }, "template": template() } }),
        ),
        specimen(
            "/api/v1/namespaces/default/serviceaccounts",
            json!({ "automountServiceAccountToken": false, "secrets": [{ "name": "s" }] }),
        ),
        specimen(
            "/api/v1/nodes",
            json!({ "spec": { "podCIDR": "10.1.0.0/24", "taints": [{ "key": "k", "effect": "NoSchedule", "timeAdded": "2026-01-02T03:04:05Z" }] } }),
        ),
    ]
}

fn workloads() -> Vec<(&'static str, Value)> {
    let selector = json!({ "matchLabels": { "app": "specimen" } });
    let job = json!({ "backoffLimit": 0, "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": "example/main:1" }] } } });
    vec![
        specimen(
            "/apis/apps/v1/namespaces/default/deployments",
            json!({ "spec": { "replicas": 0, "selector": selector, "template": template(), "strategy": { "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": 0 } } } }),
        ),
        specimen(
            "/apis/apps/v1/namespaces/default/daemonsets",
            json!({ "spec": { "selector": selector, "template": template() } }),
        ),
        specimen(
            "/apis/apps/v1/namespaces/default/replicasets",
            json!({ "spec": { "replicas": 0, "selector": selector, "template": template() } }),
        ),
        specimen(
            "/apis/apps/v1/namespaces/default/statefulsets",
            json!({ "spec": { "serviceName": "s", "selector": selector, "template": template(), "volumeClaimTemplates": [{ "metadata": { "name": "v" }, "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } }] } }),
        ),
        specimen(
            "/apis/apps/v1/namespaces/default/controllerrevisions",
            json!({ "revision": 0, "data": { "spec": { "a": [1, 2.5, "x", null, true], "b": {} } } }),
        ),
        specimen(
            "/apis/batch/v1/namespaces/default/jobs",
            json!({ "spec": job }),
        ),
        specimen(
            "/apis/batch/v1/namespaces/default/cronjobs",
            json!({ "spec": { "schedule": "* * * * *", "jobTemplate": { "spec": job } } }),
        ),
        specimen(
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            json!({ "spec": { "maxReplicas": 3, "scaleTargetRef": { "kind": "Deployment", "name": "x", "apiVersion": "apps/v1" }, "metrics": [{ "type": "Resource", "resource": { "name": "cpu", "target": { "type": "AverageValue", "averageValue": "1500m" } } }] } }),
        ),
        specimen(
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            json!({ "spec": { "minAvailable": "50%", "selector": {} } }),
        ),
        (
            "/apis/events.k8s.io/v1/namespaces/default/events",
            named(
                "specimen-new",
                json!({ "eventTime": "2026-01-02T03:04:05.123456Z", "reportingController": "demo.example/c", "reportingInstance": "i", "action": "a", "reason": "r", "type": "Normal", "regarding": { "kind": "Pod", "name": "p", "namespace": "default" } }),
            ),
        ),
    ]
}

fn network_and_nodes() -> Vec<(&'static str, Value)> {
    vec![
        specimen(
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            json!({ "spec": { "rules": [{ "host": "a.example", "http": { "paths": [{ "path": "/", "pathType": "Prefix", "backend": { "service": { "name": "s", "port": { "name": "http" } } } }] } }] } }),
        ),
        specimen(
            "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
            json!({ "spec": { "podSelector": {}, "ingress": [{ "ports": [{ "port": "http" }, { "port": 80, "endPort": 90 }], "from": [{ "ipBlock": { "cidr": "10.0.0.0/8" } }] }] } }),
        ),
        specimen(
            "/apis/networking.k8s.io/v1/ingressclasses",
            json!({ "spec": { "controller": "demo.example/c" } }),
        ),
        specimen(
            "/apis/networking.k8s.io/v1/servicecidrs",
            json!({ "spec": { "cidrs": ["10.99.0.0/16"] } }),
        ),
        ("/apis/networking.k8s.io/v1/ipaddresses", {
            let mut address = named(
                "10.99.0.1",
                json!({ "spec": { "parentRef": { "resource": "services", "name": "s", "namespace": "default" } } }),
            );
            address["metadata"]["labels"] = json!({ "app": "specimen" });
            address
        }),
        specimen(
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            json!({ "addressType": "IPv4", "endpoints": [{ "addresses": ["10.0.0.1"], "conditions": { "ready": false } }], "ports": [{ "name": "", "port": 80 }] }),
        ),
        specimen(
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            json!({ "spec": { "holderIdentity": "h", "leaseDurationSeconds": 1, "renewTime": "2026-01-02T03:04:05.000006Z", "leaseTransitions": 0 } }),
        ),
        specimen(
            "/apis/node.k8s.io/v1/runtimeclasses",
            json!({ "handler": "h", "overhead": { "podFixed": { "cpu": "10m" } } }),
        ),
        specimen(
            "/apis/storage.k8s.io/v1/storageclasses",
            json!({ "provisioner": "demo.example/p", "parameters": { "a": "b" }, "allowVolumeExpansion": false }),
        ),
        specimen(
            "/apis/storage.k8s.io/v1/csidrivers",
            json!({ "spec": { "attachRequired": false, "tokenRequests": [{ "audience": "", "expirationSeconds": 600 }] } }),
        ),
        specimen(
            "/apis/storage.k8s.io/v1/csinodes",
            json!({ "spec": { "drivers": [{ "name": "d.example", "nodeID": "n", "allocatable": { "count": 0 } }] } }),
        ),
        specimen(
            "/apis/storage.k8s.io/v1/volumeattachments",
            json!({ "spec": { "attacher": "d.example", "nodeName": "n", "source": { "persistentVolumeName": "p" } } }),
        ),
        specimen(
            "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
            json!({ "storageClassName": "s", "capacity": "1.5Gi", "nodeTopology": {} }),
        ),
    ]
}

fn policies() -> Vec<(&'static str, Value)> {
    let hook = json!([{ "name": "h.demo.example", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore", "namespaceSelector": { "matchLabels": { "never": "matches" } }, "clientConfig": { "url": "https://127.0.0.1:1/x", "caBundle": "AAH/" }, "rules": [{ "apiGroups": ["demo.example"], "apiVersions": ["v9"], "operations": ["CREATE"], "resources": ["nothing"] }] }]);
    let role = json!({ "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }] });
    vec![
        specimen(
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            role.clone(),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            named(
                "specimen-empty",
                json!({ "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "never": "x" } }] } }),
            ),
        ),
        specimen(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
            role,
        ),
        specimen(
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            json!({ "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "specimen" }, "subjects": [{ "kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io" }] }),
        ),
        specimen(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
            json!({ "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "specimen" }, "subjects": [] }),
        ),
        specimen(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            json!({ "value": -1, "preemptionPolicy": "Never" }),
        ),
        specimen(
            "/apis/certificates.k8s.io/v1/certificatesigningrequests",
            json!({ "spec": { "signerName": "demo.example/s", "usages": ["client auth"], "request": REQUEST } }),
        ),
        specimen(
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            json!({ "webhooks": hook }),
        ),
        specimen(
            "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
            json!({ "webhooks": hook }),
        ),
        specimen(
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
            json!({ "spec": { "failurePolicy": "Ignore", "matchConstraints": { "resourceRules": [{ "apiGroups": ["demo.example"], "apiVersions": ["v9"], "operations": ["CREATE"], "resources": ["nothing"] }] }, "validations": [{ "expression": "true" }] } }),
        ),
        specimen(
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
            json!({ "spec": { "policyName": "specimen", "validationActions": ["Audit"] } }),
        ),
        specimen(
            "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
            json!({ "spec": { "priorityLevelConfiguration": { "name": "global-default" }, "matchingPrecedence": 9000, "rules": [{ "subjects": [{ "kind": "User", "user": { "name": "nobody" } }], "nonResourceRules": [{ "verbs": ["get"], "nonResourceURLs": ["/nothing"] }] }] } }),
        ),
        specimen(
            "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
            json!({ "spec": { "type": "Limited", "limited": { "nominalConcurrencyShares": 0, "limitResponse": { "type": "Reject" } } } }),
        ),
        specimen(
            "/apis/resource.k8s.io/v1/deviceclasses",
            json!({ "spec": { "selectors": [{ "cel": { "expression": "true" } }] } }),
        ),
        specimen(
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
            json!({ "spec": { "devices": { "requests": [{ "name": "r", "exactly": { "deviceClassName": "specimen" } }] } } }),
        ),
        specimen(
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates",
            json!({ "spec": { "spec": { "devices": { "requests": [{ "name": "r", "exactly": { "deviceClassName": "specimen", "count": 2, "allocationMode": "ExactCount" } }] } } } }),
        ),
        specimen(
            "/apis/resource.k8s.io/v1/resourceslices",
            json!({ "spec": { "driver": "d.example", "nodeName": "n", "pool": { "name": "p", "generation": 1, "resourceSliceCount": 1 }, "devices": [{ "name": "d", "attributes": { "model": { "string": "m" }, "size": { "int": 0 } }, "capacity": { "memory": { "value": "1Gi" } } }] } }),
        ),
    ]
}

/// A certificate request of nobody; its key is gone.
const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIZE1JR0VBZ0VBTUNJeEVUQVBCZ05WQkFNTUNITndaV05wYldWdU1RMHdDd1lEVlFRS0RBUmtaVzF2TUZrdwpFd1lIS29aSXpqMENBUVlJS29aSXpqMERBUWNEUWdBRUltTDd5bkZ3RTFCNU42NnJBTkhSWmNxczhCakxXT1NoCjVNa2pZQmIwVW5BblU2akRkazY0OFYxWkdYeGtMRTNVQUZvd3cvTzZhWDY2M1NPNUtoc2REcUFBTUFvR0NDcUcKU000OUJBTUNBMGdBTUVVQ0lGS3M5aU1IWUNjQTJHY2FGUkNxSWgrVnEva0VHWjZOS01BYXB1dWtUWmpZQWlFQQo1Nmt1VkEwWUp3TnV1TGlqeVhPQVY0M0N0Tms3a2xmdUN6eGFwQ2JLcUxJPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";
