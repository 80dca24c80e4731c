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
        ("/api/v1/namespaces/default/pods", named("specimen", pod)),
        (
            "/api/v1/namespaces/default/configmaps",
            named(
                "specimen",
                json!({ "data": { "a": "", "b": "ü" }, "binaryData": { "c": "AAH/" }, "immutable": false }),
            ),
        ),
        (
            "/api/v1/namespaces/default/secrets",
            named(
                "specimen",
                json!({ "data": { "a": "c2VjcmV0", "b": "" }, "type": "Opaque" }),
            ),
        ),
        (
            "/api/v1/namespaces/default/services",
            named(
                "specimen",
                json!({ "spec": { "selector": { "app": "x" }, "ports": [{ "name": "h", "port": 80, "targetPort": "http" }, { "name": "n", "port": 81, "targetPort": 8081 }] } }),
            ),
        ),
        (
            "/api/v1/namespaces/default/endpoints",
            named(
                "specimen-endpoints",
                json!({ "subsets": [{ "addresses": [{ "ip": "10.0.0.1" }], "ports": [{ "port": 80 }] }] }),
            ),
        ),
        (
            "/api/v1/namespaces/default/events",
            named(
                "specimen",
                json!({ "involvedObject": { "kind": "Pod", "name": "specimen", "namespace": "default" }, "reason": "Because", "type": "Normal", "count": 3, "firstTimestamp": "2026-01-02T03:04:05Z", "eventTime": null }),
            ),
        ),
        (
            "/api/v1/namespaces/default/limitranges",
            named(
                "specimen",
                json!({ "spec": { "limits": [{ "type": "Container", "max": { "cpu": "500m" } }] } }),
            ),
        ),
        (
            "/api/v1/namespaces/red/resourcequotas",
            named(
                "specimen",
                json!({ "spec": { "hard": { "pods": "0", "requests.cpu": "1.5" } } }),
            ),
        ),
        (
            "/api/v1/namespaces/default/persistentvolumeclaims",
            named(
                "specimen",
                json!({ "spec": { "accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": { "requests": { "storage": "1Gi" } } } }),
            ),
        ),
        (
            "/api/v1/persistentvolumes",
            named(
                "specimen",
                json!({ "spec": { "capacity": { "storage": "1Ti" }, "accessModes": ["ReadOnlyMany"], "nfs": { "server": "s", "path": "/p" } } }),
            ),
        ),
        (
            "/api/v1/namespaces/default/podtemplates",
            named("specimen", json!({ "template": template() })),
        ),
        (
            "/api/v1/namespaces/default/replicationcontrollers",
            named(
                "specimen",
                json!({ "spec": { "replicas": 0, "selector": { "app": "specimen" }, "template": template() } }),
            ),
        ),
        (
            "/api/v1/namespaces/default/serviceaccounts",
            named(
                "specimen",
                json!({ "automountServiceAccountToken": false, "secrets": [{ "name": "s" }] }),
            ),
        ),
        (
            "/api/v1/nodes",
            named(
                "specimen",
                json!({ "spec": { "podCIDR": "10.1.0.0/24", "taints": [{ "key": "k", "effect": "NoSchedule", "timeAdded": "2026-01-02T03:04:05Z" }] } }),
            ),
        ),
    ]
}

fn workloads() -> Vec<(&'static str, Value)> {
    let selector = json!({ "matchLabels": { "app": "specimen" } });
    let job = json!({ "backoffLimit": 0, "template": { "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": "example/main:1" }] } } });
    vec![
        (
            "/apis/apps/v1/namespaces/default/deployments",
            named(
                "specimen",
                json!({ "spec": { "replicas": 0, "selector": selector, "template": template(), "strategy": { "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": 0 } } } }),
            ),
        ),
        (
            "/apis/apps/v1/namespaces/default/daemonsets",
            named(
                "specimen",
                json!({ "spec": { "selector": selector, "template": template() } }),
            ),
        ),
        (
            "/apis/apps/v1/namespaces/default/replicasets",
            named(
                "specimen",
                json!({ "spec": { "replicas": 0, "selector": selector, "template": template() } }),
            ),
        ),
        (
            "/apis/apps/v1/namespaces/default/statefulsets",
            named(
                "specimen",
                json!({ "spec": { "serviceName": "s", "selector": selector, "template": template(), "volumeClaimTemplates": [{ "metadata": { "name": "v" }, "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } }] } }),
            ),
        ),
        (
            "/apis/apps/v1/namespaces/default/controllerrevisions",
            named(
                "specimen",
                json!({ "revision": 0, "data": { "spec": { "a": [1, 2.5, "x", null, true], "b": {} } } }),
            ),
        ),
        (
            "/apis/batch/v1/namespaces/default/jobs",
            named("specimen", json!({ "spec": job })),
        ),
        (
            "/apis/batch/v1/namespaces/default/cronjobs",
            named(
                "specimen",
                json!({ "spec": { "schedule": "* * * * *", "jobTemplate": { "spec": job } } }),
            ),
        ),
        (
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            named(
                "specimen",
                json!({ "spec": { "maxReplicas": 3, "scaleTargetRef": { "kind": "Deployment", "name": "x", "apiVersion": "apps/v1" }, "metrics": [{ "type": "Resource", "resource": { "name": "cpu", "target": { "type": "AverageValue", "averageValue": "1500m" } } }] } }),
            ),
        ),
        (
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            named(
                "specimen",
                json!({ "spec": { "minAvailable": "50%", "selector": {} } }),
            ),
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
        (
            "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
            named(
                "specimen",
                json!({ "spec": { "rules": [{ "host": "a.example", "http": { "paths": [{ "path": "/", "pathType": "Prefix", "backend": { "service": { "name": "s", "port": { "name": "http" } } } }] } }] } }),
            ),
        ),
        (
            "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
            named(
                "specimen",
                json!({ "spec": { "podSelector": {}, "ingress": [{ "ports": [{ "port": "http" }, { "port": 80, "endPort": 90 }], "from": [{ "ipBlock": { "cidr": "10.0.0.0/8" } }] }] } }),
            ),
        ),
        (
            "/apis/networking.k8s.io/v1/ingressclasses",
            named(
                "specimen",
                json!({ "spec": { "controller": "demo.example/c" } }),
            ),
        ),
        (
            "/apis/networking.k8s.io/v1/servicecidrs",
            named("specimen", json!({ "spec": { "cidrs": ["10.99.0.0/16"] } })),
        ),
        ("/apis/networking.k8s.io/v1/ipaddresses", {
            let mut address = named(
                "10.99.0.1",
                json!({ "spec": { "parentRef": { "resource": "services", "name": "s", "namespace": "default" } } }),
            );
            address["metadata"]["labels"] = json!({ "app": "specimen" });
            address
        }),
        (
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            named(
                "specimen",
                json!({ "addressType": "IPv4", "endpoints": [{ "addresses": ["10.0.0.1"], "conditions": { "ready": false } }], "ports": [{ "name": "", "port": 80 }] }),
            ),
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            named(
                "specimen",
                json!({ "spec": { "holderIdentity": "h", "leaseDurationSeconds": 1, "renewTime": "2026-01-02T03:04:05.000006Z", "leaseTransitions": 0 } }),
            ),
        ),
        (
            "/apis/node.k8s.io/v1/runtimeclasses",
            named(
                "specimen",
                json!({ "handler": "h", "overhead": { "podFixed": { "cpu": "10m" } } }),
            ),
        ),
        (
            "/apis/storage.k8s.io/v1/storageclasses",
            named(
                "specimen",
                json!({ "provisioner": "demo.example/p", "parameters": { "a": "b" }, "allowVolumeExpansion": false }),
            ),
        ),
        (
            "/apis/storage.k8s.io/v1/csidrivers",
            named(
                "specimen",
                json!({ "spec": { "attachRequired": false, "tokenRequests": [{ "audience": "", "expirationSeconds": 600 }] } }),
            ),
        ),
        (
            "/apis/storage.k8s.io/v1/csinodes",
            named(
                "specimen",
                json!({ "spec": { "drivers": [{ "name": "d.example", "nodeID": "n", "allocatable": { "count": 0 } }] } }),
            ),
        ),
        (
            "/apis/storage.k8s.io/v1/volumeattachments",
            named(
                "specimen",
                json!({ "spec": { "attacher": "d.example", "nodeName": "n", "source": { "persistentVolumeName": "p" } } }),
            ),
        ),
        (
            "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
            named(
                "specimen",
                json!({ "storageClassName": "s", "capacity": "1.5Gi", "nodeTopology": {} }),
            ),
        ),
    ]
}

fn policies() -> Vec<(&'static str, Value)> {
    let hook = json!([{ "name": "h.demo.example", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore", "namespaceSelector": { "matchLabels": { "never": "matches" } }, "clientConfig": { "url": "https://127.0.0.1:1/x", "caBundle": "AAH/" }, "rules": [{ "apiGroups": ["demo.example"], "apiVersions": ["v9"], "operations": ["CREATE"], "resources": ["nothing"] }] }]);
    let role = json!({ "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }] });
    vec![
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            named("specimen", role.clone()),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            named(
                "specimen-empty",
                json!({ "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "never": "x" } }] } }),
            ),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
            named("specimen", role),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            named(
                "specimen",
                json!({ "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "specimen" }, "subjects": [{ "kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io" }] }),
            ),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
            named(
                "specimen",
                json!({ "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "specimen" }, "subjects": [] }),
            ),
        ),
        (
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            named(
                "specimen",
                json!({ "value": -1, "preemptionPolicy": "Never" }),
            ),
        ),
        (
            "/apis/certificates.k8s.io/v1/certificatesigningrequests",
            named(
                "specimen",
                json!({ "spec": { "signerName": "demo.example/s", "usages": ["client auth"], "request": REQUEST } }),
            ),
        ),
        (
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            named("specimen", json!({ "webhooks": hook })),
        ),
        (
            "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
            named("specimen", json!({ "webhooks": hook })),
        ),
        (
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
            named(
                "specimen",
                json!({ "spec": { "failurePolicy": "Ignore", "matchConstraints": { "resourceRules": [{ "apiGroups": ["demo.example"], "apiVersions": ["v9"], "operations": ["CREATE"], "resources": ["nothing"] }] }, "validations": [{ "expression": "true" }] } }),
            ),
        ),
        (
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
            named(
                "specimen",
                json!({ "spec": { "policyName": "specimen", "validationActions": ["Audit"] } }),
            ),
        ),
        (
            "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
            named(
                "specimen",
                json!({ "spec": { "priorityLevelConfiguration": { "name": "global-default" }, "matchingPrecedence": 9000, "rules": [{ "subjects": [{ "kind": "User", "user": { "name": "nobody" } }], "nonResourceRules": [{ "verbs": ["get"], "nonResourceURLs": ["/nothing"] }] }] } }),
            ),
        ),
        (
            "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
            named(
                "specimen",
                json!({ "spec": { "type": "Limited", "limited": { "nominalConcurrencyShares": 0, "limitResponse": { "type": "Reject" } } } }),
            ),
        ),
        (
            "/apis/resource.k8s.io/v1/deviceclasses",
            named(
                "specimen",
                json!({ "spec": { "selectors": [{ "cel": { "expression": "true" } }] } }),
            ),
        ),
        (
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
            named(
                "specimen",
                json!({ "spec": { "devices": { "requests": [{ "name": "r", "exactly": { "deviceClassName": "specimen" } }] } } }),
            ),
        ),
        (
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates",
            named(
                "specimen",
                json!({ "spec": { "spec": { "devices": { "requests": [{ "name": "r", "exactly": { "deviceClassName": "specimen", "count": 2, "allocationMode": "ExactCount" } }] } } } }),
            ),
        ),
        (
            "/apis/resource.k8s.io/v1/resourceslices",
            named(
                "specimen",
                json!({ "spec": { "driver": "d.example", "nodeName": "n", "pool": { "name": "p", "generation": 1, "resourceSliceCount": 1 }, "devices": [{ "name": "d", "attributes": { "model": { "string": "m" }, "size": { "int": 0 } }, "capacity": { "memory": { "value": "1Gi" } } }] } }),
            ),
        ),
    ]
}

/// A certificate request of nobody; its key is gone.
const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIZE1JR0VBZ0VBTUNJeEVUQVBCZ05WQkFNTUNITndaV05wYldWdU1RMHdDd1lEVlFRS0RBUmtaVzF2TUZrdwpFd1lIS29aSXpqMENBUVlJS29aSXpqMERBUWNEUWdBRUltTDd5bkZ3RTFCNU42NnJBTkhSWmNxczhCakxXT1NoCjVNa2pZQmIwVW5BblU2akRkazY0OFYxWkdYeGtMRTNVQUZvd3cvTzZhWDY2M1NPNUtoc2REcUFBTUFvR0NDcUcKU000OUJBTUNBMGdBTUVVQ0lGS3M5aU1IWUNjQTJHY2FGUkNxSWgrVnEva0VHWjZOS01BYXB1dWtUWmpZQWlFQQo1Nmt1VkEwWUp3TnV1TGlqeVhPQVY0M0N0Tms3a2xmdUN6eGFwQ2JLcUxJPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";
