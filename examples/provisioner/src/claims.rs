//! Reconciles a claim: makes its volume, once.

use std::sync::Arc;

use informer::client::Patch;
use informer::controller::{Action, EventType, ObjectReference, ReconcileError, ReconcileRequest};
use informer::{Api, StaticResource};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use serde_json::json;

use crate::context::Context;
use crate::provisioner::{ProvisionError, ProvisionRequest, Provisioner};
use crate::rules::{self, Need, SELECTED_NODE};

impl<P: Provisioner> Context<P> {
    pub(crate) async fn reconcile_claim(
        &self,
        key: ReconcileRequest,
    ) -> Result<Action, ReconcileError> {
        let Some(claim) = self.caches.claims.store().get(&*key) else {
            return Ok(Action::Done);
        };
        if let Some(stand_in) = &self.stand_in {
            stand_in
                .settle_claim(&self.caches, &claim, &self.name)
                .await?;
        }
        let class = rules::class_of(&claim);
        let Some(class) = class.and_then(|class| self.caches.classes.store().get(class)) else {
            return Ok(Action::Done);
        };
        let Some(uid) = claim.metadata.uid.as_deref() else {
            return Ok(Action::Done);
        };
        let has_volume = self.caches.volume_of_claim(uid).is_some();
        if has_volume || rules::need(&claim, &class, &self.name) != Need::Volume {
            return Ok(Action::Done);
        }
        let request = rules::request(&claim, &class, uid);
        match self.provision(&request).await {
            Ok(()) => Ok(Action::Done),
            Err(error) => {
                self.tell(
                    &claim,
                    EventType::Warning,
                    "ProvisioningFailed",
                    &describe(&error),
                );
                Err(error)
            }
        }
    }

    /// Makes storage, then the volume. It can be broken off anywhere and begun again: storage and volume have the same
    /// name each time.
    async fn provision(&self, request: &ProvisionRequest) -> Result<(), ReconcileError> {
        // The cache may lag behind: storage for a claim that is gone would be nobody's.
        if !self.is_wanted(request).await? {
            return Ok(());
        }
        let source = match self.provisioner.provision(request).await {
            Ok(source) => source,
            Err(ProvisionError::OtherNode) => {
                self.deselect_node(&request.claim).await?;
                return Err(ProvisionError::OtherNode.into());
            }
            Err(error @ ProvisionError::Never(_)) => return Err(ReconcileError::terminal(error)),
            Err(error) => return Err(error.into()),
        };
        // Nor may it have gone meanwhile.
        if !self.is_wanted(request).await? {
            return Ok(self.provisioner.discard(&request.volume_name).await?);
        }
        let volume = rules::volume(request, source, &self.name);
        let volumes = Api::<PersistentVolume>::cluster(self.client.clone());
        match volumes.create(&volume).await {
            Ok(_) => {}
            // A run before this one came so far.
            Err(error) if error.is_already_exists() => {
                let there = volumes.get(&request.volume_name).await?;
                if rules::claim_uid_of(&there) != request.claim.metadata.uid.as_deref() {
                    return Err(ReconcileError::terminal(error));
                }
            }
            Err(error) => return Err(error.into()),
        }
        let note = format!("made the volume {}", request.volume_name);
        tracing::info!(volume = request.volume_name, "provisioned");
        self.tell(
            &request.claim,
            EventType::Normal,
            "ProvisioningSucceeded",
            &note,
        );
        Ok(())
    }

    /// Whether the claim, as it is on the server now, still needs the volume.
    async fn is_wanted(&self, request: &ProvisionRequest) -> Result<bool, ReconcileError> {
        let meta = &request.claim.metadata;
        let namespace = meta.namespace.clone().unwrap_or_default();
        let claims = Api::<PersistentVolumeClaim>::namespaced(self.client.clone(), namespace);
        match claims.get(meta.name.as_deref().unwrap_or_default()).await {
            Ok(now) => Ok(now.metadata.uid == meta.uid
                && rules::need(&now, &request.class, &self.name) == Need::Volume),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets the scheduler choose another node.
    async fn deselect_node(&self, claim: &PersistentVolumeClaim) -> Result<(), ReconcileError> {
        let meta = &claim.metadata;
        let namespace = meta.namespace.clone().unwrap_or_default();
        let claims = Api::<PersistentVolumeClaim>::namespaced(self.client.clone(), namespace);
        let patch = json!({"metadata": {
            "uid": meta.uid, "resourceVersion": meta.resource_version, "annotations": {SELECTED_NODE: null},
        }});
        claims
            .patch(
                meta.name.as_deref().unwrap_or_default(),
                &Patch::Merge(patch),
            )
            .await?;
        Ok(())
    }

    fn tell(&self, claim: &Arc<PersistentVolumeClaim>, event: EventType, reason: &str, note: &str) {
        let regarding = ObjectReference::of(&PersistentVolumeClaim::resource(), &**claim);
        self.recorder
            .record(&regarding, event, reason, "Provision", note);
    }
}

/// An error and its causes in one line.
pub(crate) fn describe(error: &ReconcileError) -> String {
    let mut text = error.error().to_string();
    let mut source = error.error().source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
