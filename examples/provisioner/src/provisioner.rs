//! What makes and deletes storage: the trait to implement for another kind of it.

use std::error::Error as StdError;
use std::future::Future;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec};
use k8s_openapi::api::storage::v1::StorageClass;

/// Storage that is wanted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProvisionRequest {
    /// The name of the volume: the same each time for one claim, and of no other.
    pub volume_name: String,
    /// The claim.
    pub claim: Arc<PersistentVolumeClaim>,
    /// Its class, with parameters.
    pub class: Arc<StorageClass>,
    /// The node on which it will be used first, for classes that wait for that.
    pub selected_node: Option<String>,
}

/// Why storage was not made or not deleted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProvisionError {
    /// It may go well another time.
    #[error("the storage cannot be changed now")]
    Failed(#[source] Box<dyn StdError + Send + Sync>),
    /// It never will, unless the claim or the class changes.
    #[error("the storage cannot be changed as asked")]
    Never(#[source] Box<dyn StdError + Send + Sync>),
    /// Not on the node that was selected: the scheduler is to choose another.
    #[error("there is no storage on the node that was selected")]
    OtherNode,
}

impl ProvisionError {
    /// An error that may pass.
    pub fn failed(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Failed(error.into())
    }

    /// An error that does not pass by itself.
    pub fn never(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Never(error.into())
    }
}

/// Makes and deletes storage. Each call may come again after it went well, or half through it: after a crash nobody
/// knows how far the last one came.
pub trait Provisioner: Send + Sync + 'static {
    /// Makes storage of this name, if it is not there. Gives back where it is: the source of the volume and, if it is on
    /// one node, the affinity. What the claim says (capacity, modes, class) is filled in by the caller.
    ///
    /// # Errors
    /// When it cannot be made.
    fn provision(
        &self,
        request: &ProvisionRequest,
    ) -> impl Future<Output = Result<PersistentVolumeSpec, ProvisionError>> + Send;

    /// Deletes the storage of a volume, if it is there.
    ///
    /// # Errors
    /// When it cannot be deleted.
    fn delete(
        &self,
        volume: &PersistentVolume,
    ) -> impl Future<Output = Result<(), ProvisionError>> + Send;

    /// The names of all storage that was made. What a crash left behind, with neither volume nor claim, is deleted.
    ///
    /// # Errors
    /// When it cannot be listed.
    fn list(&self) -> impl Future<Output = Result<Vec<String>, ProvisionError>> + Send;

    /// Deletes storage that never became a volume, by its name.
    ///
    /// # Errors
    /// When it cannot be deleted.
    fn discard(&self, name: &str) -> impl Future<Output = Result<(), ProvisionError>> + Send;
}
