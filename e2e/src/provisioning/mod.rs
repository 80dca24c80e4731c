//! The example `provisioner` at work: its replicas, the claims that they make volumes for, and what must be true of both.

mod claims;
mod replica;

pub(crate) use claims::{
    DELETES, claims, claims_path, each_claim_has_one_volume, make_claims, make_classes, names,
    volumes,
};
pub(crate) use replica::{Replica, directories};

/// By which classes ask for the provisioner.
pub(crate) const NAME: &str = "e2e.example/host-path";
/// The lease of its replicas, in the namespace `default`.
pub(crate) const LEASE: &str = "provisioner-e2e-example-host-path";
