//! The server in a test: from `start` to `shutdown`.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use informer_wire::{DeleteOptions, Deleted, Patch, Status};
use jiff::Timestamp;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::builder::ApiServerBuilder;
use crate::fault::{Fault, FaultRule, FaultSource, RequestMatcher};
use crate::listener::accept;
use crate::model::{Cluster, ClusterOptions, ListOptions, Page, WriteOptions};
use crate::request::RequestRecord;
use crate::resource::ResourceType;
use crate::shared::Shared;

/// The way in which an open watch ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// As at its timeout: the body ends between two events.
    #[default]
    Clean,
    /// With a last `ERROR` event.
    Error(Status),
    /// The connection breaks.
    Cut,
    /// Nothing follows; the connection stays open until the client closes it.
    Silence,
}

/// A Kubernetes API server in memory, listening on loopback.
///
/// Requests over HTTP and the methods here work on the same objects; the methods write whole
/// objects, status included, which no single request can. Dropping the server stops it.
///
/// Resources are named as people name them: `pods`, `po`, `v1/pods`, `apps/v1/deployments`,
/// `deployments.apps`. Cluster-scoped resources have the namespace `""`.
///
/// ```
/// use informer_testkit::ApiServer;
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = ApiServer::start().await?;
/// server.create("pods", json!({"metadata": {"namespace": "web", "name": "a"}}))?;
/// server.merge_patch("pods", "web", "a", json!({"status": {"phase": "Running"}}))?;
/// assert_eq!(server.get("pods", "web", "a")?["status"]["phase"], "Running");
/// println!("kubectl --server={} get pods -A", server.url());
/// server.shutdown().await;
/// # Ok(())
/// # }
/// ```
pub struct ApiServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    task: Option<JoinHandle<()>>,
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl ApiServer {
    /// Starts a server with the defaults on a free port.
    ///
    /// # Errors
    /// When no socket can be opened on loopback, or tokio's time is paused.
    pub async fn start() -> io::Result<Self> {
        Self::builder().start().await
    }

    /// Returns a builder of a server.
    pub fn builder() -> ApiServerBuilder {
        ApiServerBuilder::default()
    }

    pub(crate) fn serve(listener: TcpListener, shared: Shared) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let shared = Arc::new(shared);
        let task = tokio::spawn(accept(listener, shared.clone()));
        shared.start_actors(&tokio::runtime::Handle::current());
        Ok(Self {
            shared,
            address,
            task: Some(task),
        })
    }

    /// Makes a server without a socket.
    pub(crate) fn unconnected(shared: Shared) -> Self {
        let shared = Arc::new(shared);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            shared.start_actors(&runtime);
        }
        Self {
            shared,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            task: None,
        }
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    /// Returns `http://127.0.0.1:PORT`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns a kubeconfig for this server, as YAML, for use with `kubectl`.
    pub fn kubeconfig(&self) -> String {
        let user = match &self.shared.settings.token {
            // JSON's quoting is YAML's too.
            Some(token) => format!("{{token: {}}}", Value::from(token.as_str())),
            None => "{}".to_owned(),
        };
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: testkit\nclusters:\n- name: testkit\n  \
             cluster: {{server: \"{url}\"}}\nusers:\n- name: testkit\n  user: {user}\ncontexts:\n\
             - name: testkit\n  context: {{cluster: testkit, user: testkit, namespace: default}}\n",
            url = self.url()
        )
    }

    /// Adds a resource.
    pub fn register(&self, resource: ResourceType) {
        self.shared.cluster.lock().register(resource);
    }

    /// Creates an object, in the namespace that its metadata names, or in `default`.
    ///
    /// # Errors
    /// Those of the server, such as 409 when the name is taken.
    pub fn create(&self, resource: &str, object: Value) -> Result<Value, Status> {
        let options = WriteOptions::at(self.shared.clock.now());
        self.shared.write(|cluster| {
            let resource = cluster.resource(resource)?;
            let namespace = namespace_of(&resource, &object);
            let object = cluster.create(&resource, &namespace, object, &options)?;
            Ok(object.value(&resource))
        })
    }

    /// Replaces the object that the metadata names. With a resource version in it, only that
    /// version is replaced.
    ///
    /// # Errors
    /// Those of the server, such as 404, or 409 for an outdated version.
    pub fn replace(&self, resource: &str, object: Value) -> Result<Value, Status> {
        let options = WriteOptions::at(self.shared.clock.now());
        self.shared.write(|cluster| {
            let resource = cluster.resource(resource)?;
            let namespace = namespace_of(&resource, &object);
            let name = object["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let object = cluster.replace(&resource, &namespace, &name, object, &options)?;
            Ok(object.value(&resource))
        })
    }

    /// Applies a JSON merge patch.
    ///
    /// # Errors
    /// Those of the server, such as 404.
    pub fn merge_patch(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
        patch: Value,
    ) -> Result<Value, Status> {
        self.patch(resource, namespace, name, &Patch::Merge(patch))
    }

    /// Applies a patch of any type.
    ///
    /// # Errors
    /// Those of the server, such as 404, or 422 for a patch that does not fit.
    pub fn patch(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
        patch: &Patch<Value>,
    ) -> Result<Value, Status> {
        let options = WriteOptions::at(self.shared.clock.now());
        self.shared.write(|cluster| {
            let resource = cluster.resource(resource)?;
            let object = cluster.patch(&resource, namespace, name, patch, &options)?;
            Ok(object.value(&resource))
        })
    }

    /// Deletes an object; one with finalizers is only marked. Returns its last version. A pod goes at once, as after its
    /// grace period: a test that wants to see it end deletes it by a request.
    ///
    /// # Errors
    /// Those of the server, such as 404.
    pub fn delete(&self, resource: &str, namespace: &str, name: &str) -> Result<Value, Status> {
        let options = WriteOptions::at(self.shared.clock.now());
        self.shared.write(|cluster| {
            let resource = cluster.resource(resource)?;
            let last = cluster.get(&resource, namespace, name)?;
            let how = DeleteOptions::default();
            let deleted = cluster.delete(&resource, namespace, name, &how, &options)?;
            let object = match &deleted {
                Deleted::Object(marked) => marked,
                Deleted::Status(_) => &last,
            };
            Ok(object.value(&resource))
        })
    }

    /// Reads an object.
    ///
    /// # Errors
    /// 404 when it does not exist.
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Result<Value, Status> {
        let cluster = self.shared.cluster.lock();
        let resource = cluster.resource(resource)?;
        Ok(cluster.get(&resource, namespace, name)?.value(&resource))
    }

    /// Returns all objects of a namespace, or of all namespaces when it is empty, in the order of their keys.
    ///
    /// # Errors
    /// 404 when there is no such resource.
    pub fn list(&self, resource: &str, namespace: &str) -> Result<Vec<Value>, Status> {
        let (resource, page) = self.page(resource, namespace, &ListOptions::new())?;
        Ok(page
            .items
            .iter()
            .map(|object| object.value(&resource))
            .collect())
    }

    /// Returns a list with all its options, undecoded: 50,000 objects are read in a moment.
    ///
    /// # Errors
    /// Those of the server.
    pub fn page(
        &self,
        resource: &str,
        namespace: &str,
        options: &ListOptions,
    ) -> Result<(Arc<ResourceType>, Page), Status> {
        let cluster = self.shared.cluster.lock();
        let resource = cluster.resource(resource)?;
        let page = cluster.list(&resource, namespace, options)?;
        Ok((resource, page))
    }

    /// Makes several changes in one step, which no request sees halfway.
    pub fn with_cluster<R>(&self, change: impl FnOnce(&mut Cluster) -> R) -> R {
        self.shared.write(change)
    }

    /// Returns the revision of the last write.
    pub fn resource_version(&self) -> u64 {
        self.shared.cluster.lock().revision()
    }

    /// Drops all history: from now on a list or a new watch at any older revision is too old. Open watches go on.
    pub fn compact(&self) {
        let mut cluster = self.shared.cluster.lock();
        let revision = cluster.revision();
        cluster.compact(revision);
    }

    /// Drops the history up to a revision.
    pub fn compact_to(&self, revision: u64) {
        self.shared.cluster.lock().compact(revision);
    }

    /// Sets how many changes of each resource a list or a new watch may go back.
    pub fn set_history_limit(&self, changes: usize) {
        self.shared.cluster.lock().set_history_limit(changes);
    }

    /// Returns the received requests, oldest first; at most the last 100,000.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.shared.requests.lock().all()
    }

    /// Empties the log of requests.
    pub fn clear_requests(&self) {
        self.shared.requests.lock().clear();
    }

    /// Ends every open watch stream cleanly, as at its timeout.
    pub fn drop_watches(&self) {
        self.end_watches(StreamEnd::Clean);
    }

    /// Ends every open watch stream in the given way.
    pub fn end_watches(&self, end: StreamEnd) {
        self.shared.end_watches(None, end);
    }

    /// Hits the next request that matches with this fault. Faults for the same request are used up in the order in
    /// which they were added.
    pub fn fail_next(&self, matcher: RequestMatcher, fault: impl Into<Fault>) {
        self.fail(matcher, fault, 1);
    }

    /// Hits the next requests that match with this fault, so many of them.
    pub fn fail(&self, matcher: RequestMatcher, fault: impl Into<Fault>, times: usize) {
        self.fail_after(matcher, 0, fault, times);
    }

    /// Hits requests as [`Self::fail`], after so many that match were skipped.
    pub fn fail_after(
        &self,
        matcher: RequestMatcher,
        skip: usize,
        fault: impl Into<Fault>,
        times: usize,
    ) {
        let rule = FaultRule {
            matcher,
            fault: fault.into(),
            skip,
            times,
        };
        self.shared.faults.lock().push(rule);
    }

    /// Sets a source of faults for each request without a rule, such as random ones. A second source replaces the
    /// first.
    pub fn fault_source(
        &self,
        source: impl FnMut(&RequestRecord) -> Option<Fault> + Send + 'static,
    ) {
        let source = FaultSource(Box::new(source));
        self.shared.faults.lock().set_source(Some(source));
    }

    /// Removes the source of faults.
    pub fn clear_fault_source(&self) {
        self.shared.faults.lock().set_source(None);
    }

    /// Removes the faults that have not hit yet.
    pub fn clear_faults(&self) {
        self.shared.faults.lock().clear();
    }

    /// Returns `true` if every fault has hit as often as it should.
    pub fn faults_used_up(&self) -> bool {
        self.shared.faults.lock().is_empty()
    }

    /// Stops the server: watches end cleanly, running responses have a moment to be sent, then the port is closed.
    /// Returns the cluster, with which another server can be started.
    ///
    /// Dropping the future stops the server at once.
    pub async fn shutdown(mut self) -> Cluster {
        self.shared.shutdown.cancel();
        if let Some(task) = self.task.take() {
            // It fails only if its runtime is going down.
            let _ = task.await;
        }
        let empty = Cluster::new(&ClusterOptions::default(), Timestamp::UNIX_EPOCH);
        let mut cluster = std::mem::replace(&mut *self.shared.cluster.lock(), empty);
        cluster.want_changes(false);
        cluster
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.shared.shutdown.cancel();
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

fn namespace_of(resource: &ResourceType, object: &Value) -> String {
    if !resource.namespaced {
        return String::new();
    }
    object["metadata"]["namespace"]
        .as_str()
        .unwrap_or("default")
        .to_owned()
}
