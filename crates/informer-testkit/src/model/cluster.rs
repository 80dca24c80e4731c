//! The whole cluster: every collection under one revision counter.

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_wire::Status;
use jiff::Timestamp;

use super::collection::Collection;
use super::custom;
use super::feed::Feed;
use super::object::StoredObject;
use crate::resource::{GroupResource, Registry, ResourceType};
use crate::status;

/// The settings of a [`Cluster`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClusterOptions {
    /// How many changes of each resource a client may go back; older ones are "too old".
    pub history_limit: usize,
    /// The revision before the first write; at most half of what a number of 64 bits holds.
    pub first_revision: u64,
    /// Whether a request to create an object in a namespace that does not exist makes the namespace, instead of failing
    /// with 404 as on a real server.
    pub create_namespaces: bool,
    /// Whether watches may ask for a streaming list (`sendInitialEvents`).
    pub streaming_lists: bool,
    /// The seed of UIDs and generated names.
    pub seed: u64,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            history_limit: 10_000,
            first_revision: 1,
            create_namespaces: false,
            streaming_lists: true,
            seed: 0,
        }
    }
}

/// A cluster in memory: a registry of resources, their objects and histories, one revision counter.
///
/// ```
/// use informer_testkit::model::{Cluster, ClusterOptions, ListOptions, WriteOptions};
/// use jiff::Timestamp;
/// use serde_json::json;
///
/// let now = Timestamp::UNIX_EPOCH;
/// let mut cluster = Cluster::new(&ClusterOptions::default(), now);
/// let pods = cluster.resource("pods")?;
/// let pod = json!({"metadata": {"name": "a"}});
/// let stored = cluster.create(&pods, "default", pod, &WriteOptions::at(now))?;
/// let page = cluster.list(&pods, "", &ListOptions::new())?;
/// assert_eq!(page.items, [stored]);
/// # Ok::<(), informer_testkit::Status>(())
/// ```
#[derive(Debug)]
pub struct Cluster {
    pub(super) registry: Registry,
    pub(super) collections: BTreeMap<GroupResource, Collection>,
    revision: u64,
    compacted: u64,
    history_limit: usize,
    pub(super) create_namespaces: bool,
    pub(super) streaming_lists: bool,
    pub(super) random: fastrand::Rng,
    /// Warnings of the last write, for its response.
    pub(super) warnings: Vec<String>,
    /// What changed since the actors looked; kept for them alone.
    pub(super) feed: Feed,
}

impl Cluster {
    /// Makes a cluster with the built-in kinds and the standard namespaces.
    pub fn new(options: &ClusterOptions, now: Timestamp) -> Self {
        let mut cluster = Self {
            registry: Registry::with_builtin(),
            collections: BTreeMap::new(),
            // Room for more writes than anybody makes.
            revision: options.first_revision.min(u64::MAX / 2),
            compacted: 0,
            history_limit: options.history_limit,
            create_namespaces: options.create_namespaces,
            streaming_lists: options.streaming_lists,
            random: fastrand::Rng::with_seed(options.seed),
            warnings: Vec::new(),
            feed: Feed::default(),
        };
        let known: Vec<Arc<ResourceType>> = cluster.registry.iter().cloned().collect();
        for resource in known {
            cluster.open_collection(&resource);
        }
        cluster.create_standard_namespaces(now);
        cluster
    }

    /// Returns the newest revision: that of the last write to any resource.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Adds a resource, in place of one with the same group, version and plural.
    pub fn register(&mut self, resource: ResourceType) -> Arc<ResourceType> {
        let resource = self.registry.register(resource);
        self.open_collection(&resource);
        resource
    }

    /// Returns the resource of a name: `pods`, `po`, `Pod`, `v1/pods`, `apps/v1/deployments` or `deployments.apps`.
    ///
    /// # Errors
    /// 404 when there is no such resource.
    pub fn resource(&self, name: &str) -> Result<Arc<ResourceType>, Status> {
        self.registry.resolve(name)
    }

    /// Returns the resource of a path of the API.
    pub(crate) fn find(
        &self,
        group: &str,
        version: &str,
        plural: &str,
    ) -> Result<Arc<ResourceType>, Status> {
        let found = self.registry.find(group, version, plural);
        found.cloned().ok_or_else(status::unknown_resource)
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns one object.
    ///
    /// # Errors
    /// 404 when it does not exist.
    pub fn get(
        &self,
        resource: &ResourceType,
        namespace: &str,
        name: &str,
    ) -> Result<Arc<StoredObject>, Status> {
        let key = super::object::object_key(namespace, name);
        let found = self.collection(resource)?.get(&key);
        found
            .map(|object| custom::view(resource, object))
            .ok_or_else(|| status::not_found(resource, name))
    }

    /// Takes the warnings of the last patch.
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Notes the fields that stand twice in the bytes of the next patch.
    pub(crate) fn note_repeated(&mut self, repeated: Vec<String>) {
        self.warnings = repeated;
    }

    /// Returns the number of objects of a resource, in all namespaces.
    pub fn count(&self, resource: &ResourceType) -> usize {
        self.collection(resource).map_or(0, Collection::len)
    }

    /// Refuses lists and new watches below a revision from now on, in every resource. Open watches go on.
    pub fn compact(&mut self, revision: u64) {
        self.compacted = self.compacted.max(revision.min(self.revision));
        for collection in self.collections.values_mut() {
            collection.history_mut().compact(self.compacted);
        }
    }

    /// Sets how many changes of each resource a client may go back.
    pub fn set_history_limit(&mut self, changes: usize) {
        self.history_limit = changes;
        for collection in self.collections.values_mut() {
            collection.history_mut().set_limit(changes);
        }
    }

    pub(super) fn collection(&self, resource: &ResourceType) -> Result<&Collection, Status> {
        self.collections
            .get(&resource.group_resource())
            .ok_or_else(status::unknown_resource)
    }

    pub(super) fn open_collection(&mut self, resource: &ResourceType) -> &mut Collection {
        let (floor, limit) = (self.compacted, self.history_limit);
        self.collections
            .entry(resource.group_resource())
            .or_insert_with(|| Collection::new(floor, limit))
    }

    pub(super) fn set_revision(&mut self, revision: u64) {
        self.revision = revision;
        self.compacted = self.compacted.min(revision);
    }

    pub(super) fn next_revision(&self) -> u64 {
        self.revision + 1
    }

    /// Writes or removes one object at the next revision: the one place where anything changes.
    pub(super) fn commit(
        &mut self,
        resource: &ResourceType,
        key: &str,
        new: Option<Arc<StoredObject>>,
    ) {
        self.revision += 1;
        let revision = self.revision;
        let collection = self.open_collection(resource);
        let old = collection.get(key).cloned();
        collection.apply(key, revision, new.clone());
        self.feed.push(resource, old, new);
    }
}
