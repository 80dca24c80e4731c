//! The manifests of the script.

/// Each file with its text.
pub(super) const FILES: &[(&str, &str)] = &[
    (
        "app.yaml",
        r#"apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  labels: {app: shop, tier: alpha}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - name: web
        image: example/web:1
        ports: [{containerPort: 8080}]
"#,
    ),
    (
        "app2.yaml",
        r#"apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  labels: {app: shop, tier: alpha}
spec:
  replicas: 3
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - name: web
        image: example/web:2
        ports: [{containerPort: 8080}]
"#,
    ),
    (
        "cm.yaml",
        r#"apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  color: alpha
  size: "1"
"#,
    ),
    (
        "cm2.yaml",
        r#"apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  color: alpha
  size: "2"
"#,
    ),
    (
        "crd.yaml",
        r#"apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gears.parity.example
spec:
  group: parity.example
  scope: Namespaced
  names: {plural: gears, singular: gear, kind: Gear, listKind: GearList, shortNames: [gr], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
          status:
            type: object
            properties:
              replicas: {type: integer}
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.replicas}
"#,
    ),
    (
        "gear.yaml",
        r#"apiVersion: parity.example/v1
kind: Gear
metadata:
  name: cog
spec:
  size: 3
"#,
    ),
    (
        "node.yaml",
        r#"apiVersion: v1
kind: Node
metadata:
  name: node-a
"#,
    ),
    (
        "bare.yaml",
        r#"apiVersion: v1
kind: Pod
metadata: {name: bare, labels: {run: bare}}
spec:
  nodeName: node-a
  containers: [{name: c, image: example/i:1}]
"#,
    ),
];
