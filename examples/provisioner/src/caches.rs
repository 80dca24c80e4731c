//! What is known of the cluster: claims, volumes and classes, each indexed by what they are asked for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use informer::shared::{BuildError, RunError};
use informer::store::IndexError;
use informer::{
    Client, IndexValues, Indexers, InformerFactory, ObjectKey, SharedInformer, StaticResource,
};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;

use crate::rules::{claim_uid_of, class_of};

/// Claims by their UID.
const CLAIM_UID: &str = "provisioner.uid";
/// Claims and volumes by their class.
const CLASS: &str = "provisioner.class";
/// Volumes by the UID of the claim that they are for.
const VOLUME_CLAIM: &str = "provisioner.claim";

/// The informers of a provisioner, of one factory but for claims that are followed elsewhere.
#[derive(Debug, Clone)]
pub(crate) struct Caches {
    factory: InformerFactory<Client>,
    pub(crate) claims: SharedInformer<PersistentVolumeClaim>,
    pub(crate) volumes: SharedInformer<PersistentVolume>,
    pub(crate) classes: SharedInformer<StorageClass>,
}

impl Caches {
    pub(crate) fn new(
        client: Client,
        resync: Duration,
        claims: Option<SharedInformer<PersistentVolumeClaim>>,
    ) -> Result<Self, BuildError> {
        let factory = InformerFactory::builder(client)
            .resync_period(resync)
            .build()?;
        let claims = claims.unwrap_or_else(|| factory.informer());
        let (volumes, _) = factory.informer_with(PersistentVolume::resource(), |builder| {
            builder.indexers(volume_indexers())
        })?;
        let missing = !claims
            .store()
            .index_names()
            .iter()
            .any(|name| name == CLAIM_UID);
        if missing {
            claims.add_indexers(&claim_indexers())?;
        }
        let classes = factory.informer();
        Ok(Self {
            factory,
            claims,
            volumes,
            classes,
        })
    }

    /// Starts what is not followed elsewhere.
    pub(crate) fn start(&self) -> Result<(), RunError> {
        self.factory.start()
    }

    pub(crate) async fn shut_down(&self) -> Result<(), RunError> {
        self.factory.shutdown().await
    }

    /// Whether the watches of claims and volumes have brought something since then, be it bookmarks: so what happened
    /// before is in the caches.
    pub(crate) fn have_heard_since(&self, then: Instant) -> bool {
        let last_events = [
            self.claims.status().reflector.last_event_at,
            self.volumes.status().reflector.last_event_at,
        ];
        last_events.iter().all(|at| at.is_some_and(|at| at > then))
    }

    pub(crate) fn claim_by_uid(&self, uid: &str) -> Option<Arc<PersistentVolumeClaim>> {
        first(self.claims.store().by_index(CLAIM_UID, uid))
    }

    pub(crate) fn volume_of_claim(&self, uid: &str) -> Option<Arc<PersistentVolume>> {
        first(self.volumes.store().by_index(VOLUME_CLAIM, uid))
    }

    /// The keys of all claims of a class.
    pub(crate) fn claims_of_class(&self, class: &str) -> Vec<ObjectKey> {
        self.claims
            .store()
            .index_keys(CLASS, class)
            .unwrap_or_default()
    }

    /// How many volumes of a class there are.
    pub(crate) fn volumes_of_class(&self, class: &str) -> usize {
        self.volumes
            .store()
            .index_keys(CLASS, class)
            .map_or(0, |keys| keys.len())
    }
}

fn first<K>(found: Result<Vec<Arc<K>>, IndexError>) -> Option<Arc<K>> {
    found.ok()?.into_iter().next()
}

fn claim_indexers() -> Indexers<PersistentVolumeClaim> {
    Indexers::new()
        .index(
            CLAIM_UID,
            |claim: &PersistentVolumeClaim, values: &mut IndexValues<'_>| {
                values.extend(claim.metadata.uid.as_deref());
            },
        )
        .index(
            CLASS,
            |claim: &PersistentVolumeClaim, values: &mut IndexValues<'_>| {
                values.extend(class_of(claim));
            },
        )
}

fn volume_indexers() -> Indexers<PersistentVolume> {
    Indexers::new()
        .index(
            VOLUME_CLAIM,
            |volume: &PersistentVolume, values: &mut IndexValues<'_>| {
                values.extend(claim_uid_of(volume));
            },
        )
        .index(
            CLASS,
            |volume: &PersistentVolume, values: &mut IndexValues<'_>| {
                let spec = volume.spec.as_ref();
                values.extend(spec.and_then(|spec| spec.storage_class_name.as_deref()));
            },
        )
}
