//! Every kind of Kubernetes, with all fields set: protobuf and JSON give the same object.
//!
//! The pairs are the test data of `k8s.io/api`, which this tree does not hold: they lie in
//! `shared/wire-schema/vectors` beside the workspace, or in the folder that `INFORMER_WIRE_VECTORS` names. Where there
//! are none the tests say that they were skipped.
#![allow(missing_docs, reason = "these are tests")]

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use informer_wire::{
    Compact, DecodeOptions, Dynamic, FromWire, PartialObjectMetadata, View, WireFormat,
    decode_object,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One object in both formats.
struct Pair {
    name: String,
    json: Vec<u8>,
    protobuf: Vec<u8>,
}

/// The folder of the pairs, if it is at hand. One that is named must be.
fn folder() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("INFORMER_WIRE_VECTORS") {
        return Some(named.into());
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let beside = workspace.join("../shared/wire-schema/vectors");
    beside.is_dir().then_some(beside)
}

/// All pairs; none where they are not at hand.
fn pairs() -> Vec<Pair> {
    let Some(folder) = folder() else {
        println!(
            "skipped: no test data beside the workspace, nor does INFORMER_WIRE_VECTORS name any"
        );
        return Vec::new();
    };
    let files = std::fs::read_dir(&folder).expect("the folder can be read");
    let mut pairs: Vec<Pair> = files
        .map(|file| file.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pb"))
        .map(|path| Pair {
            name: path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned(),
            json: std::fs::read(path.with_extension("json")).expect("each pair is whole"),
            protobuf: std::fs::read(&path).expect("the file can be read"),
        })
        .collect();
    pairs.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(pairs.len() > 100, "only {} pairs", pairs.len());
    pairs
}

fn decode<K: FromWire>(format: WireFormat, bytes: &[u8], options: &DecodeOptions) -> K {
    decode_object(format, bytes, options).unwrap_or_else(|error| panic!("{error}"))
}

fn both<K: FromWire>(pair: &Pair, options: &DecodeOptions) -> [K; 2] {
    [
        decode(WireFormat::Json, &pair.json, options),
        decode(WireFormat::Protobuf, &pair.protobuf, options),
    ]
}

// INV-WIRE-15
#[test]
fn every_kind_is_the_same_in_both_formats() {
    for pair in pairs() {
        for keep in [true, false] {
            let options = DecodeOptions::default().keep_managed_fields(keep);
            let [json, protobuf] = both::<Value>(&pair, &options);
            assert_eq!(json, protobuf, "{}", pair.name);
        }
    }
}

// INV-WIRE-15, INV-WIRE-7
#[test]
fn every_kind_is_the_same_in_every_form() {
    // They have no metadata; nothing ever lists them.
    let bare = |pair: &Pair| {
        pair.name.ends_with(".DeploymentRollback") || pair.name.ends_with(".SerializedReference")
    };
    for pair in pairs().iter().filter(|pair| !bare(pair)) {
        let options = DecodeOptions::default();
        let [json, protobuf] = both::<View<Value>>(pair, &options);
        assert_eq!(json, protobuf, "{}", pair.name);
        let [json, protobuf] = both::<PartialObjectMetadata>(pair, &options);
        assert_eq!(json, protobuf, "{}", pair.name);
        let [json, protobuf] = both::<Dynamic>(pair, &options);
        assert_eq!(json.metadata(), protobuf.metadata(), "{}", pair.name);
        let whole = json.decode().expect("it is JSON");
        assert_eq!(protobuf.decode().as_ref(), Ok(&whole), "{}", pair.name);
        let text = protobuf.to_json().expect("the kind is known");
        assert_eq!(
            serde_json::from_slice::<Value>(&text).ok(),
            Some(whole),
            "{}",
            pair.name
        );
    }
}

fn is_typed_alike<K>(pair: &Pair)
where
    K: DeserializeOwned + PartialEq + Debug + Send + Sync + 'static,
{
    for keep in [true, false] {
        let options = DecodeOptions::default().keep_managed_fields(keep);
        let decode = |format, bytes| decode_object::<K>(format, bytes, &options);
        let json = decode(WireFormat::Json, &pair.json);
        let protobuf = decode(WireFormat::Protobuf, &pair.protobuf);
        // Some of the data k8s-openapi refuses, as a time that is null.
        assert_eq!(json.is_ok(), protobuf.is_ok(), "{}", pair.name);
        assert_eq!(json.ok(), protobuf.ok(), "{}", pair.name);
        let [json, protobuf] = both::<Compact<K>>(pair, &options);
        assert_eq!(json.decode().ok(), protobuf.decode().ok(), "{}", pair.name);
    }
}

/// Runs the comparison for the k8s-openapi type of each kind, named by its module and the pairs' group and version.
macro_rules! typed {
    ($($group:literal $version:ident $module:ident { $($kind:ident)* })*) => {
        /// Whether there is such a type.
        fn compare(pair: &Pair) -> bool {
            match pair.name.as_str() {
                $($(
                    concat!($group, ".", stringify!($version), ".", stringify!($kind)) => {
                        is_typed_alike::<k8s_openapi::api::$module::$version::$kind>(pair);
                        true
                    }
                )*)*
                _ => false,
            }
        }
    };
}

typed! {
    "admissionregistration.k8s.io" v1 admissionregistration {
        MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration
    }
    "admissionregistration.k8s.io" v1alpha1 admissionregistration {
        MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
    }
    "admissionregistration.k8s.io" v1beta1 admissionregistration {
        MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
    }
    "apps" v1 apps {
        ControllerRevision DaemonSet Deployment StatefulSet
    }
    "authentication.k8s.io" v1 authentication {
        SelfSubjectReview TokenReview
    }
    "authorization.k8s.io" v1 authorization {
        SelfSubjectRulesReview SubjectAccessReview
    }
    "autoscaling" v1 autoscaling {
        HorizontalPodAutoscaler Scale
    }
    "autoscaling" v2 autoscaling {
        HorizontalPodAutoscaler
    }
    "batch" v1 batch {
        CronJob Job
    }
    "certificates.k8s.io" v1 certificates {
        CertificateSigningRequest
    }
    "certificates.k8s.io" v1beta1 certificates {
        ClusterTrustBundle PodCertificateRequest
    }
    "coordination.k8s.io" v1 coordination {
        Lease
    }
    "coordination.k8s.io" v1alpha2 coordination {
        LeaseCandidate
    }
    "core" v1 core {
        Binding ComponentStatus Event LimitRange Namespace PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service
    }
    "discovery.k8s.io" v1 discovery {
        EndpointSlice
    }
    "events.k8s.io" v1 events {
        Event
    }
    "flowcontrol.apiserver.k8s.io" v1 flowcontrol {
        FlowSchema PriorityLevelConfiguration
    }
    "internal.apiserver.k8s.io" v1alpha1 apiserverinternal {
        StorageVersion
    }
    "networking.k8s.io" v1 networking {
        IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR
    }
    "networking.k8s.io" v1beta1 networking {
        IPAddress ServiceCIDR
    }
    "node.k8s.io" v1 node {
        RuntimeClass
    }
    "policy" v1 policy {
        Eviction PodDisruptionBudget
    }
    "rbac.authorization.k8s.io" v1 rbac {
        ClusterRole ClusterRoleBinding
    }
    "resource.k8s.io" v1 resource {
        ResourceClaim ResourceClaimTemplate ResourceSlice
    }
    "resource.k8s.io" v1alpha3 resource {
        DeviceTaintRule ResourcePoolStatusRequest
    }
    "resource.k8s.io" v1beta1 resource {
        DeviceClass ResourceClaim
    }
    "resource.k8s.io" v1beta2 resource {
        DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice
    }
    "scheduling.k8s.io" v1alpha2 scheduling {
        PodGroup Workload
    }
    "storage.k8s.io" v1 storage {
        CSINode CSIStorageCapacity StorageClass VolumeAttachment
    }
    "storage.k8s.io" v1beta1 storage {
        VolumeAttributesClass
    }
}

// INV-WIRE-15
#[test]
fn every_type_of_k8s_openapi_is_the_same_in_both_formats() {
    let pairs = pairs();
    let typed = pairs.iter().filter(|pair| compare(pair)).count();
    let stable = |name: &str| name.contains(".v1.") || name.contains(".v2.");
    for pair in pairs
        .iter()
        .filter(|pair| stable(&pair.name) && !compare(pair))
    {
        println!("no type for {}", pair.name);
    }
    assert!(
        pairs.is_empty() || typed > 60,
        "only {typed} of {}",
        pairs.len()
    );
}
