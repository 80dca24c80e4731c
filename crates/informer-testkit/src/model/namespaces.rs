//! Namespaces: they are created when something is created in them, and deleted with their contents.

use std::sync::Arc;

use informer_wire::{Status, StatusCause, StatusDetails};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::collection::Scope;
use super::object::StoredObject;
use super::rules::{is_marked_deleted, set_phase};
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
    pub(super) fn check_namespace(&self, name: &str, by_request: bool) -> Result<(), Status> {
        let namespaces = self.namespaces()?;
        let Some(namespace) = self.collection(&namespaces)?.get(name) else {
            if by_request && !self.create_namespaces {
                return Err(status::not_found(&namespaces, name));
            }
            return Ok(());
        };
        if !is_marked_deleted(&namespace.value(&namespaces)) {
            return Ok(());
        }
        let message = format!("namespace {name} is being terminated");
        let cause =
            StatusCause::new("NamespaceTerminating", message).with_field("metadata.namespace");
        let mut details = StatusDetails::default();
        details.causes = vec![cause];
        let message = format!(
            "unable to create new content in namespace {name} because it is being terminated"
        );
        Err(Status::failure(403, "Forbidden", message).with_details(details))
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

    /// Deletes the contents of a terminating namespace; returns `true` if nothing is left.
    pub(super) fn empty_namespace(
        &mut self,
        namespace: &Arc<StoredObject>,
        value: &mut Value,
        options: &WriteOptions,
    ) -> Result<bool, Status> {
        let namespaces = self.namespaces()?;
        if !is_marked_deleted(value) {
            set_phase(value, "Terminating");
            self.mark_deleted(&namespaces, namespace, value, options)?;
        }
        for resource in self.namespaced_resources() {
            self.delete_all(&resource, namespace.name(), options)?;
        }
        Ok(self.is_empty(namespace.name()))
    }

    /// Deletes a terminating namespace after the last of its objects.
    pub(super) fn finish_namespace_of(&mut self, removed: &StoredObject) {
        let name = removed.namespace();
        let Ok(namespaces) = self.namespaces() else {
            return;
        };
        let Ok(namespace) = self.get(&namespaces, "", name) else {
            return;
        };
        if is_marked_deleted(&namespace.value(&namespaces)) && self.is_empty(name) {
            self.remove(&namespaces, &namespace);
        }
    }

    fn namespaced_resources(&self) -> Vec<Arc<ResourceType>> {
        self.registry
            .iter()
            .filter(|resource| resource.namespaced)
            .cloned()
            .collect()
    }

    fn is_empty(&self, namespace: &str) -> bool {
        let scope = Scope::new(namespace);
        self.namespaced_resources().iter().all(|resource| {
            self.collection(resource).map_or(true, |collection| {
                collection.live(&scope, "").next().is_none()
            })
        })
    }
}
