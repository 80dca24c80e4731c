//! Namespaces: they are created when something is created in them, and take nothing new while they end.

use std::sync::Arc;

use informer_wire::{Status, StatusCause};
use jiff::Timestamp;
use serde_json::json;

use super::cluster::Cluster;
use super::write::WriteOptions;
use crate::resource::ResourceType;
use crate::status;

/// The namespaces of every new cluster.
const STANDARD: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

impl Cluster {
    pub(super) fn create_standard_namespaces(&mut self, now: Timestamp) {
        for name in STANDARD {
            // A fresh cluster cannot refuse them: the names are good and free.
            let _ = self.create_namespace(name, &WriteOptions::at(now));
        }
    }

    fn create_namespace(&mut self, name: &str, options: &WriteOptions) -> Result<(), Status> {
        let namespaces = self.namespaces()?;
        let object = json!({"metadata": {"name": name}, "spec": {"finalizers": ["kubernetes"]}});
        self.create(&namespaces, "", object, options).map(drop)
    }

    fn namespaces(&self) -> Result<Arc<ResourceType>, Status> {
        self.resource("v1/namespaces")
    }

    /// Checks that an object may be created in a namespace. One that does not exist is made if a test itself writes into
    /// it.
    pub(super) fn check_namespace(
        &self,
        resource: &ResourceType,
        namespace: &str,
        name: &str,
        by_request: bool,
    ) -> Result<(), Status> {
        let namespaces = self.namespaces()?;
        let Some(found) = self.collection(&namespaces)?.get(namespace) else {
            if by_request && !self.create_namespaces {
                return Err(status::not_found(&namespaces, namespace));
            }
            return Ok(());
        };
        if !found.ties().deleted {
            return Ok(());
        }
        let message = format!("namespace {namespace} is being terminated");
        let cause =
            StatusCause::new("NamespaceTerminating", message).with_field("metadata.namespace");
        let mut refusal = status::refused(
            resource,
            name,
            &format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            ),
        );
        if let Some(details) = &mut refusal.details {
            details.causes = vec![cause];
        }
        Err(refusal)
    }

    /// Makes a namespace if it is missing.
    pub(super) fn ensure_namespace(
        &mut self,
        name: &str,
        options: &WriteOptions,
    ) -> Result<(), Status> {
        let namespaces = self.namespaces()?;
        if self.collection(&namespaces)?.get(name).is_some() {
            return Ok(());
        }
        self.create_namespace(name, &WriteOptions::at(options.now))
    }
}
