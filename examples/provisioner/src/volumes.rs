//! Reconciles a volume: when its claim is gone, its storage goes or stays, as its class said.

use informer::client::DeleteOptions;
use informer::controller::{
    Action, EventType, FinalizerStep, ObjectReference, ReconcileError, ReconcileRequest,
};
use informer::{Api, StaticResource};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};

use crate::claims::describe;
use crate::context::Context;
use crate::provisioner::{ProvisionError, Provisioner};
use crate::rules;

impl<P: Provisioner> Context<P> {
    pub(crate) async fn reconcile_volume(
        &self,
        key: ReconcileRequest,
    ) -> Result<Action, ReconcileError> {
        let Some(volume) = self.caches.volumes.store().get(&*key) else {
            return Ok(Action::Done);
        };
        if !rules::is_made_by(&volume, &self.name) {
            return Ok(Action::Done);
        }
        let done = if volume.metadata.deletion_timestamp.is_some() {
            self.clean_up(&key, &volume).await
        } else if rules::is_reclaimed(&volume) && self.is_released(&volume).await? {
            self.delete(&key, &volume).await
        } else {
            Ok(())
        };
        if let Err(error) = &done {
            let regarding = ObjectReference::of(&PersistentVolume::resource(), &*volume);
            let (event, note) = (EventType::Warning, describe(error));
            self.recorder
                .record(&regarding, event, "VolumeFailedDelete", "Delete", &note);
        }
        done.map(|()| Action::Done)
    }

    /// Whether the claim of a volume is gone for good.
    async fn is_released(&self, volume: &PersistentVolume) -> Result<bool, ReconcileError> {
        let Some(claim) = volume
            .spec
            .as_ref()
            .and_then(|spec| spec.claim_ref.as_ref())
        else {
            return Ok(false);
        };
        let (Some(uid), Some(name)) = (&claim.uid, &claim.name) else {
            return Ok(false);
        };
        if self.caches.claim_by_uid(uid).is_some() {
            return Ok(false);
        }
        // The caches of claims and volumes are not of one moment: storage is deleted only on the server's own word.
        let namespace = claim.namespace.clone().unwrap_or_default();
        let claims = Api::<PersistentVolumeClaim>::namespaced(self.client.clone(), namespace);
        match claims.get(name).await {
            Ok(now) => Ok(now.metadata.uid.as_ref() != Some(uid)),
            Err(error) if error.is_not_found() => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Begins the deletion. The finalizer keeps the volume until its storage is gone.
    async fn delete(
        &self,
        key: &ReconcileRequest,
        volume: &PersistentVolume,
    ) -> Result<(), ReconcileError> {
        if self.finalizer.step(volume) == FinalizerStep::Add {
            // Someone took it off; without it a crash would leave storage behind that nobody knows.
            return Ok(self.finalizer.add(volume).await?);
        }
        let uid = volume.metadata.uid.clone().unwrap_or_default();
        let options = DeleteOptions::default().only_uid(uid);
        let volumes = Api::<PersistentVolume>::cluster(self.client.clone());
        match volumes.delete(key.name(), &options).await {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Deletes the storage of a volume that is to go, if it goes with it, and lets the volume go.
    async fn clean_up(
        &self,
        key: &ReconcileRequest,
        volume: &PersistentVolume,
    ) -> Result<(), ReconcileError> {
        // A volume that was deleted under its claim stays until the claim is gone.
        if !self.is_released(volume).await? {
            return Ok(());
        }
        if self.finalizer.step(volume) == FinalizerStep::CleanUp {
            if rules::is_reclaimed(volume) {
                match self.provisioner.delete(volume).await {
                    Ok(()) => tracing::info!(volume = key.name(), "deleted"),
                    Err(error @ ProvisionError::Never(_)) => {
                        return Err(ReconcileError::terminal(error));
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            self.finalizer.remove(volume).await?;
        }
        if let Some(stand_in) = &self.stand_in {
            stand_in.unprotect_volume(volume).await?;
        }
        Ok(())
    }
}
