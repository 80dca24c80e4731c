//! What the controllers of kube-controller-manager do for claims and volumes, for clusters that run none of them: the
//! volume controller's binding, and the end of the protection of what nobody uses.
//!
//! Where a controller manager leads, this stays out of its way: see [`StandIn::unless_managed`].

use informer::client::{Error, Patch};
use informer::controller::{Finalizer, FinalizerStep};
use informer::{Api, Client, Object, StaticResource};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use serde_json::{Value, json};

use crate::caches::Caches;
use crate::rules;

const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";

/// Does the controller manager's work for the claims of one provisioner.
#[derive(Debug, Clone)]
pub(crate) struct StandIn {
    client: Client,
    claim_protection: Finalizer,
    volume_protection: Finalizer,
}

impl StandIn {
    /// A stand-in, unless the cluster has a controller manager: one that ever led has a lease.
    pub(crate) async fn unless_managed(client: &Client) -> Result<Option<Self>, Error> {
        let leases = Api::<Lease>::namespaced(client.clone(), "kube-system");
        match leases.get("kube-controller-manager").await {
            Ok(_) => Ok(None),
            Err(error) if error.is_not_found() => Ok(Some(Self::new(client))),
            Err(error) => Err(error),
        }
    }

    fn new(client: &Client) -> Self {
        let (claims, volumes) = (
            PersistentVolumeClaim::resource(),
            PersistentVolume::resource(),
        );
        Self {
            claim_protection: Finalizer::new(client.clone(), claims, CLAIM_PROTECTION),
            volume_protection: Finalizer::new(client.clone(), volumes, VOLUME_PROTECTION),
            client: client.clone(),
        }
    }

    /// Binds a claim to its volume, or lets a deleted one go that no pod uses.
    pub(crate) async fn settle_claim(
        &self,
        caches: &Caches,
        claim: &PersistentVolumeClaim,
        provisioner: &str,
    ) -> Result<(), Error> {
        let uid = claim.metadata.uid.as_deref().unwrap_or_default();
        let Some(volume) = caches.volume_of_claim(uid) else {
            return self.release_unbound(caches, claim, provisioner).await;
        };
        if !rules::is_made_by(&volume, provisioner) {
            return Ok(());
        }
        if claim.metadata.deletion_timestamp.is_some() {
            return self.unprotect_claim(claim).await;
        }
        self.bind(claim, &volume).await
    }

    /// A deleted claim of ours that never got a volume is let go too.
    async fn release_unbound(
        &self,
        caches: &Caches,
        claim: &PersistentVolumeClaim,
        provisioner: &str,
    ) -> Result<(), Error> {
        let class = rules::class_of(claim).and_then(|class| caches.classes.store().get(class));
        let is_ours = class.is_some_and(|class| class.provisioner == provisioner);
        let is_deleted = claim.metadata.deletion_timestamp.is_some();
        if is_ours && is_deleted && rules::volume_name_of(claim).is_none() {
            return self.unprotect_claim(claim).await;
        }
        Ok(())
    }

    /// Lets a deleted volume go that no claim is bound to.
    pub(crate) async fn unprotect_volume(&self, volume: &PersistentVolume) -> Result<(), Error> {
        if self.volume_protection.step(volume) == FinalizerStep::CleanUp {
            self.volume_protection.remove(volume).await?;
        }
        Ok(())
    }

    async fn unprotect_claim(&self, claim: &PersistentVolumeClaim) -> Result<(), Error> {
        let step = self.claim_protection.step(claim);
        if step != FinalizerStep::CleanUp || self.is_used(claim).await? {
            return Ok(());
        }
        self.claim_protection.remove(claim).await
    }

    /// Whether a pod that has not ended names the claim.
    async fn is_used(&self, claim: &PersistentVolumeClaim) -> Result<bool, Error> {
        let namespace = claim.namespace().unwrap_or_default();
        let path = Pod::resource().path(Some(namespace), None);
        let path = path.map_err(|error| Error::Request {
            reason: error.to_string(),
        })?;
        let answer = self
            .client
            .request(informer::client::http::Method::GET, &path)
            .send()
            .await?;
        let bytes = answer
            .error_for_status()
            .await?
            .bytes(MAX_PODS_BYTES)
            .await?;
        let list: Value = serde_json::from_slice(&bytes).map_err(|error| Error::Decode {
            reason: error.to_string(),
        })?;
        let pods = list["items"].as_array().into_iter().flatten();
        let live = pods.filter(|pod| {
            !matches!(
                pod["status"]["phase"].as_str(),
                Some("Succeeded" | "Failed")
            )
        });
        let mut volumes = live
            .filter_map(|pod| pod["spec"]["volumes"].as_array())
            .flatten();
        Ok(volumes.any(|volume| volume["persistentVolumeClaim"]["claimName"] == claim.name()))
    }

    /// Writes what the volume controller writes, each part only where it is missing.
    async fn bind(
        &self,
        claim: &PersistentVolumeClaim,
        volume: &PersistentVolume,
    ) -> Result<(), Error> {
        let is_bound = |phase: Option<&str>| phase == Some("Bound");
        let status = volume.status.as_ref();
        if !is_bound(status.and_then(|status| status.phase.as_deref())) {
            let volumes = Api::<Value>::new(self.client.clone(), PersistentVolume::resource());
            let patch = Patch::Merge(json!({"status": {"phase": "Bound"}}));
            volumes
                .subresource("status")
                .patch(volume.name(), &patch)
                .await?;
        }
        let namespace = claim.namespace().unwrap_or_default();
        let claims = Api::<Value>::new(self.client.clone(), PersistentVolumeClaim::resource());
        let claims = claims.in_namespace(namespace);
        let uid = claim.metadata.uid.as_deref();
        if rules::volume_name_of(claim).is_none() {
            let patch = json!({
                "metadata": {"uid": uid, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
                "spec": {"volumeName": volume.name()},
            });
            claims.patch(claim.name(), &Patch::Merge(patch)).await?;
        }
        let status = claim.status.as_ref();
        if !is_bound(status.and_then(|status| status.phase.as_deref())) {
            let spec = volume.spec.as_ref();
            let patch = json!({"metadata": {"uid": uid}, "status": {
                "phase": "Bound",
                "capacity": spec.and_then(|spec| spec.capacity.as_ref()),
                "accessModes": spec.and_then(|spec| spec.access_modes.as_ref()),
            }});
            claims
                .subresource("status")
                .patch(claim.name(), &Patch::Merge(patch))
                .await?;
        }
        Ok(())
    }
}

/// How much is read to see whether a pod uses a claim.
const MAX_PODS_BYTES: usize = 256 << 20;
