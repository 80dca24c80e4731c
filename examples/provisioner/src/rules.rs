//! What is to be done, decided by objects alone: no requests, no caches.

use std::collections::BTreeMap;
use std::sync::Arc;

use informer::{Object, StaticResource};
use k8s_openapi::api::core::v1::{
    ObjectReference, PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec,
};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::provisioner::ProvisionRequest;

/// Says who made a volume.
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// Says who is to make a claim's volume; set by the volume controller.
const STORAGE_PROVISIONER: [&str; 2] = [
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
];
/// Says on which node a claim will be used; set by the scheduler.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// Keeps a volume until its storage is deleted.
pub const FINALIZER: &str = "informer.example/provisioned-storage";

/// What a claim needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Need {
    /// Nothing: it has a volume, or it is none of ours.
    Nothing,
    /// A node must be selected first.
    Node,
    /// A volume, of this class.
    Volume,
}

/// The class that a claim asks for.
pub(crate) fn class_of(claim: &PersistentVolumeClaim) -> Option<&str> {
    let spec = claim.spec.as_ref();
    claim
        .annotation(BETA_CLASS)
        .or_else(|| spec?.storage_class_name.as_deref())
}

/// The UID of the claim that a volume is for.
pub(crate) fn claim_uid_of(volume: &PersistentVolume) -> Option<&str> {
    volume.spec.as_ref()?.claim_ref.as_ref()?.uid.as_deref()
}

/// The volume that a claim is bound to.
pub(crate) fn volume_name_of(claim: &PersistentVolumeClaim) -> Option<&str> {
    let name = claim.spec.as_ref()?.volume_name.as_deref();
    name.filter(|name| !name.is_empty())
}

/// The name of a claim's volume. One claim has one name, so that the server refuses a second volume.
pub(crate) fn volume_name_for(uid: &str) -> String {
    format!("pvc-{uid}")
}

/// Whether a volume was made by this provisioner.
pub(crate) fn is_made_by(volume: &PersistentVolume, provisioner: &str) -> bool {
    volume.annotation(PROVISIONED_BY) == Some(provisioner)
}

/// Whether the storage goes with the claim.
pub(crate) fn is_reclaimed(volume: &PersistentVolume) -> bool {
    let spec = volume.spec.as_ref();
    let policy = spec.and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref());
    policy == Some("Delete")
}

/// What a claim of this class needs of this provisioner.
pub(crate) fn need(claim: &PersistentVolumeClaim, class: &StorageClass, provisioner: &str) -> Need {
    let others = STORAGE_PROVISIONER
        .iter()
        .find_map(|annotation| claim.annotation(annotation))
        .is_some_and(|named| named != provisioner);
    let is_bound = volume_name_of(claim).is_some();
    let is_deleted = claim.metadata.deletion_timestamp.is_some();
    let selects = claim
        .spec
        .as_ref()
        .is_some_and(|spec| spec.selector.is_some());
    if others || is_bound || is_deleted || selects || class.provisioner != provisioner {
        return Need::Nothing;
    }
    let waits = class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer");
    if waits && claim.annotation(SELECTED_NODE).is_none_or(str::is_empty) {
        return Need::Node;
    }
    Need::Volume
}

/// The request for a claim's storage.
pub(crate) fn request(
    claim: &Arc<PersistentVolumeClaim>,
    class: &Arc<StorageClass>,
    uid: &str,
) -> ProvisionRequest {
    ProvisionRequest {
        volume_name: volume_name_for(uid),
        claim: Arc::clone(claim),
        class: Arc::clone(class),
        selected_node: claim.annotation(SELECTED_NODE).map(str::to_owned),
    }
}

/// The volume of a claim, around the source that the storage has.
pub(crate) fn volume(
    request: &ProvisionRequest,
    source: PersistentVolumeSpec,
    provisioner: &str,
) -> PersistentVolume {
    let (claim, class) = (&request.claim, &request.class);
    let wanted = claim.spec.clone().unwrap_or_default();
    let policy = class
        .reclaim_policy
        .clone()
        .unwrap_or_else(|| "Delete".to_owned());
    let made_by = (PROVISIONED_BY.to_owned(), provisioner.to_owned());
    PersistentVolume {
        metadata: ObjectMeta {
            name: Some(request.volume_name.clone()),
            annotations: Some(BTreeMap::from([made_by])),
            finalizers: Some(vec![FINALIZER.to_owned()]),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeSpec {
            access_modes: wanted.access_modes,
            capacity: wanted.resources.and_then(|resources| resources.requests),
            claim_ref: Some(ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some(PersistentVolumeClaim::resource().kind.into_owned()),
                namespace: claim.metadata.namespace.clone(),
                name: claim.metadata.name.clone(),
                uid: claim.metadata.uid.clone(),
                ..ObjectReference::default()
            }),
            mount_options: class.mount_options.clone(),
            persistent_volume_reclaim_policy: Some(policy),
            storage_class_name: class_of(claim).map(str::to_owned),
            volume_mode: wanted.volume_mode,
            ..source
        }),
        status: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const OURS: &str = "example.org/host";

    fn claim(annotations: Value, spec: Value) -> PersistentVolumeClaim {
        let claim = json!({
            "metadata": {"name": "c", "namespace": "n", "uid": "u", "annotations": annotations},
            "spec": spec,
        });
        serde_json::from_value(claim).expect("a claim")
    }

    fn class(mode: &str) -> StorageClass {
        let class =
            json!({"metadata": {"name": "fast"}, "provisioner": OURS, "volumeBindingMode": mode});
        serde_json::from_value(class).expect("a class")
    }

    #[test]
    fn a_claim_needs_a_volume_once() {
        let wants = json!({"storageClassName": "fast"});
        let bound = json!({"storageClassName": "fast", "volumeName": "pv"});
        let [new, beta] = STORAGE_PROVISIONER;
        let immediate = class("Immediate");
        for (annotations, spec, expected) in [
            (json!({}), &wants, Need::Volume),
            (json!({}), &bound, Need::Nothing),
            (json!({new: OURS}), &wants, Need::Volume),
            (json!({new: "another"}), &wants, Need::Nothing),
            (json!({beta: "another"}), &wants, Need::Nothing),
        ] {
            let claim = claim(annotations, spec.clone());
            assert_eq!(need(&claim, &immediate, OURS), expected, "{claim:?}");
        }
        assert_eq!(
            need(&claim(json!({}), wants.clone()), &immediate, "another"),
            Need::Nothing
        );
        let mut deleted = claim(json!({}), wants);
        deleted.metadata.deletion_timestamp =
            serde_json::from_value(json!("2026-11-29T20:00:00Z")).ok();
        assert_eq!(need(&deleted, &immediate, OURS), Need::Nothing);
    }

    #[test]
    fn a_class_may_wait_for_the_first_consumer() {
        let (waits, wants) = (
            class("WaitForFirstConsumer"),
            json!({"storageClassName": "fast"}),
        );
        assert_eq!(
            need(&claim(json!({}), wants.clone()), &waits, OURS),
            Need::Node
        );
        let selected = claim(json!({SELECTED_NODE: "node-1"}), wants);
        assert_eq!(need(&selected, &waits, OURS), Need::Volume);
        let request = request(&Arc::new(selected), &Arc::new(waits), "u");
        assert_eq!(request.selected_node.as_deref(), Some("node-1"));
    }

    #[test]
    fn a_volume_says_whose_it_is_and_what_becomes_of_it() {
        let wants = json!({
            "storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        });
        let claim = Arc::new(claim(json!({}), wants));
        let mut retaining = class("Immediate");
        retaining.reclaim_policy = Some("Retain".to_owned());
        for (class, is_kept) in [(class("Immediate"), false), (retaining, true)] {
            let request = request(&claim, &Arc::new(class), "u");
            let volume = volume(&request, PersistentVolumeSpec::default(), OURS);
            assert_eq!(volume.metadata.name.as_deref(), Some("pvc-u"));
            assert!(is_made_by(&volume, OURS) && !is_made_by(&volume, "another"));
            assert_eq!(claim_uid_of(&volume), Some("u"));
            assert_eq!(is_reclaimed(&volume), !is_kept);
            let spec = volume.spec.expect("set");
            assert_eq!(
                spec.capacity
                    .map(|capacity| capacity["storage"].0.clone())
                    .as_deref(),
                Some("1Gi")
            );
        }
    }
}
