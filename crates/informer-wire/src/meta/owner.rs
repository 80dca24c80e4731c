//! Owner references as metadata keeps them.

use std::sync::Arc;

use informer_store::{OwnerReference, Uid};

/// One entry of `metadata.ownerReferences`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    pub(super) api_version: Arc<str>,
    pub(super) kind: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) uid: Uid,
    pub(super) controller: Option<bool>,
    pub(super) block_owner_deletion: Option<bool>,
}

impl Owner {
    pub(super) fn reference(&self) -> OwnerReference<'_> {
        OwnerReference::new(&self.api_version, &self.kind, &self.name, self.uid.clone())
            .controller(self.controller.unwrap_or(false))
            .block_owner_deletion(self.block_owner_deletion.unwrap_or(false))
    }
}
