//! The provisioner against an API server in memory: what fails, what crashes, what comes late.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer::client::Cluster;
use informer::http::HttpListerWatcher;
use informer::kubeconfig::Config;
use informer::{Client, SharedInformer};
use informer_testkit::{Answer, ApiServer, RequestMatcher, Status, Verb};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec};
use parking_lot::Mutex;
use provisioner::{
    FINALIZER, HostPath, Options, ProvisionError, ProvisionRequest, Provisioner, ServiceError,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const NAME: &str = "example.org/test";
const LIMIT: Duration = Duration::from_secs(60);

/// Storage in memory that fails as it is told.
#[derive(Clone, Default)]
struct Memory {
    storage: Arc<Mutex<Vec<String>>>,
    /// Of the next calls, the last one first.
    failures: Arc<Mutex<Vec<Failure>>>,
    calls: Arc<AtomicUsize>,
}

#[derive(Debug, Clone, Copy)]
enum Failure {
    Before,
    /// The storage is changed, and then it fails.
    After,
    Panic,
    OtherNode,
    Never,
    /// The storage is made, and no answer comes.
    Hang,
}

impl Memory {
    fn failing(failures: impl IntoIterator<Item = Failure>) -> Self {
        let memory = Self::default();
        memory.failures.lock().extend(failures);
        memory
    }

    fn change(&self, act: impl FnOnce(&mut Vec<String>)) -> Result<(), ProvisionError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let failure = self.failures.lock().pop();
        match failure {
            Some(Failure::Before) => return Err(ProvisionError::failed("the disk is busy")),
            Some(Failure::Panic) => panic!("a panic that the test wants"),
            Some(Failure::OtherNode) => return Err(ProvisionError::OtherNode),
            Some(Failure::Never) => return Err(ProvisionError::never("the disk is too small")),
            Some(Failure::After | Failure::Hang) | None => {}
        }
        act(&mut self.storage.lock());
        match failure {
            Some(Failure::Hang) | None => Ok(()),
            Some(_) => Err(ProvisionError::failed("the connection to the disk broke")),
        }
    }
}

impl Provisioner for Memory {
    async fn provision(
        &self,
        request: &ProvisionRequest,
    ) -> Result<PersistentVolumeSpec, ProvisionError> {
        let hangs = matches!(self.failures.lock().last(), Some(Failure::Hang));
        self.change(|storage| {
            if !storage.contains(&request.volume_name) {
                storage.push(request.volume_name.clone());
            }
        })?;
        if hangs {
            std::future::pending::<()>().await;
        }
        Ok(PersistentVolumeSpec::default())
    }

    async fn delete(&self, volume: &PersistentVolume) -> Result<(), ProvisionError> {
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        self.change(|storage| storage.retain(|other| other != name))
    }

    async fn list(&self) -> Result<Vec<String>, ProvisionError> {
        Ok(self.storage.lock().clone())
    }

    async fn discard(&self, name: &str) -> Result<(), ProvisionError> {
        self.change(|storage| storage.retain(|other| other != name))
    }
}

/// A server with classes, and a provisioner at work.
struct World {
    server: ApiServer,
    client: Client,
    stop: CancellationToken,
    task: Option<JoinHandle<Result<(), ServiceError>>>,
}

impl World {
    async fn new() -> Self {
        Self::with_bookmarks_each(Duration::from_millis(50)).await
    }

    async fn with_bookmarks_each(period: Duration) -> Self {
        let server = ApiServer::builder().bookmark_period(period).start();
        let server = server.await.expect("a server");
        let cluster = Cluster::new(&server.url()).expect("a URL");
        let client = Client::new(Config::new(cluster)).expect("a client");
        for (name, policy, mode) in [
            ("fast", "Delete", "Immediate"),
            ("kept", "Retain", "Immediate"),
            ("late", "Delete", "WaitForFirstConsumer"),
        ] {
            let class = json!({
                "metadata": {"name": name}, "provisioner": NAME,
                "reclaimPolicy": policy, "volumeBindingMode": mode,
            });
            server.create("storageclasses", class).expect("new");
        }
        Self {
            server,
            client,
            stop: CancellationToken::new(),
            task: None,
        }
    }

    fn run(&mut self, provisioner: impl Provisioner) {
        self.run_with(provisioner, Options::new(NAME, "one"));
    }

    fn run_with(&mut self, provisioner: impl Provisioner, options: Options) {
        self.stop = CancellationToken::new();
        let (client, stop) = (self.client.clone(), self.stop.clone());
        self.task = Some(tokio::spawn(async move {
            provisioner::run(client, provisioner, options, &stop).await
        }));
    }

    async fn end(&mut self) {
        self.stop.cancel();
        let task = self.task.take().expect("it runs");
        task.await.expect("no panic").expect("it ends well");
    }

    /// As SIGKILL: nothing is given back.
    async fn crash(&mut self) {
        let task = self.task.take().expect("it runs");
        task.abort();
        let _ = task.await;
        // Otherwise the next one would wait for the lease to end.
        let lease = "provisioner-example-org-test";
        self.server
            .delete("leases", "default", lease)
            .expect("there");
    }

    fn claim(&self, name: &str, class: &str) -> String {
        let claim = json!({
            "metadata": {"namespace": "shop", "name": name},
            "spec": {"storageClassName": class, "resources": {"requests": {"storage": "1Gi"}}},
        });
        let created = self
            .server
            .create("persistentvolumeclaims", claim)
            .expect("new");
        created["metadata"]["uid"]
            .as_str()
            .expect("the server gives one")
            .to_owned()
    }

    fn patch_claim(&self, name: &str, patch: Value) {
        let patched = self
            .server
            .merge_patch("persistentvolumeclaims", "shop", name, patch);
        patched.expect("there");
    }

    fn volumes(&self) -> Vec<Value> {
        self.server.list("persistentvolumes", "").expect("listed")
    }

    fn stored_claim(&self, name: &str) -> Value {
        self.server
            .get("persistentvolumeclaims", "shop", name)
            .expect("there")
    }

    async fn bound(&self, name: &str) {
        self.until(name, || {
            self.stored_claim(name)["status"]["phase"] == "Bound"
        })
        .await;
    }

    async fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let waited = tokio::time::timeout(LIMIT, async {
            while !holds() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        assert!(waited.await.is_ok(), "never: {what}");
    }

    /// Waits for the watches of claims and volumes.
    async fn watches_are_open(&self) {
        let watched = |resource: &str| {
            let requests = self.server.requests();
            let watch = RequestMatcher::verb(Verb::Watch).resource(resource);
            requests.iter().any(|request| watch.matches(request))
        };
        let both = || watched("persistentvolumes") && watched("persistentvolumeclaims");
        self.until("claims and volumes are watched", both).await;
    }

    fn has_event(&self, reason: &str) -> bool {
        let events = self.server.list("events.events.k8s.io", "shop");
        let events = events
            .or_else(|_| self.server.list("events", "shop"))
            .expect("listed");
        events.iter().any(|event| event["reason"] == reason)
    }
}

#[tokio::test]
async fn failures_and_panics_are_told_and_tried_again_until_there_is_one_volume() {
    let mut world = World::new().await;
    let memory = Memory::failing([Failure::After, Failure::Panic, Failure::Before]);
    world.run(memory.clone());
    let uid = world.claim("c", "fast");
    world.bound("c").await;
    assert_eq!(world.volumes().len(), 1);
    assert_eq!(*memory.storage.lock(), [format!("pvc-{uid}")]);
    for reason in ["ProvisioningFailed", "ProvisioningSucceeded"] {
        world.until(reason, || world.has_event(reason)).await;
    }
    world.end().await;
}

#[tokio::test]
async fn what_can_never_be_made_is_tried_once_until_something_changes() {
    let mut world = World::new().await;
    let memory = Memory::failing([Failure::Never]);
    world.run(memory.clone());
    world.claim("c", "fast");
    world
        .until("an event", || world.has_event("ProvisioningFailed"))
        .await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(memory.calls.load(Ordering::SeqCst), 1);
    world.patch_claim("c", json!({"metadata": {"labels": {"a": "b"}}}));
    world.bound("c").await;
    world.end().await;
}

#[tokio::test]
async fn a_crash_at_any_point_leaves_one_volume() {
    for (verb, resource) in [
        (Verb::Get, "persistentvolumeclaims"),
        (Verb::Create, "persistentvolumes"),
        (Verb::Patch, "persistentvolumes"),
        (Verb::Patch, "persistentvolumeclaims"),
    ] {
        let mut world = World::new().await;
        let memory = Memory::default();
        // The server takes no such request, and the first replica dies over it.
        let broken = Status::failure(500, "InternalError", "as the test wants");
        world
            .server
            .fail(RequestMatcher::verb(verb).resource(resource), broken, 1000);
        world.run(memory.clone());
        let uid = world.claim("c", "fast");
        let asked = || {
            let requests = world.server.requests();
            requests
                .iter()
                .any(|request| request.verb == verb && request.path.contains(resource))
        };
        world.until("it comes so far", asked).await;
        world.crash().await;
        world.server.clear_faults();
        world.run(memory.clone());
        world.bound("c").await;
        assert_eq!(world.volumes().len(), 1, "{verb:?} {resource}");
        assert_eq!(*memory.storage.lock(), [format!("pvc-{uid}")]);
        world.end().await;
    }
}

/// A replica that dies between storage and volume, and a claim that is deleted before the next one leads.
async fn orphan(world: &mut World, memory: &Memory) -> String {
    // It asks for no volume: the server might take that after the crash.
    memory.failures.lock().push(Failure::Hang);
    world.run(memory.clone());
    world.watches_are_open().await;
    let name = format!("pvc-{}", world.claim("gone", "fast"));
    let made = || memory.storage.lock().contains(&name);
    world.until("there is storage", made).await;
    world.crash().await;
    let claims = "persistentvolumeclaims";
    let deleted = world.server.delete(claims, "shop", "gone");
    deleted.expect("there");
    name
}

fn quick() -> Options {
    let mut options = Options::new(NAME, "two");
    options.orphan_age = Duration::from_millis(200);
    options
}

#[tokio::test]
async fn storage_that_a_crash_left_without_volume_and_claim_is_deleted() {
    let mut world = World::new().await;
    let memory = Memory::default();
    let orphan = orphan(&mut world, &memory).await;
    // A volume whose claim is gone, a claim that is to have its volume yet, and what somebody else keeps there.
    let volume = json!({"metadata": {"name": "pvc-kept"}, "spec": {"storageClassName": "kept"}});
    world
        .server
        .create("persistentvolumes", volume)
        .expect("new");
    let waiting = format!("pvc-{}", world.claim("waiting", "late"));
    let others = ["pvc-kept", &*waiting, "pvc-", "notes", "lost+found"].map(str::to_owned);
    memory.storage.lock().extend(others.clone());
    world.run_with(memory.clone(), quick());
    let is_gone = || !memory.storage.lock().contains(&orphan);
    world.until("the orphan is gone", is_gone).await;
    let bound = world.claim("later", "fast");
    world.bound("later").await;
    world.end().await;
    let mut kept = others.to_vec();
    kept.push(format!("pvc-{bound}"));
    assert_eq!(*memory.storage.lock(), kept);
}

/// A cache whose watch is silent may be of long ago.
#[tokio::test]
async fn no_storage_is_deleted_before_the_caches_have_heard_from_the_server() {
    let mut world = World::with_bookmarks_each(Duration::from_secs(3600)).await;
    let memory = Memory::default();
    let orphan = orphan(&mut world, &memory).await;
    // It leads only once its watches are open, so that nothing is heard after that.
    let leases = RequestMatcher::any().resource("leases");
    let broken = Status::failure(500, "InternalError", "as the test wants");
    world.server.clear_requests();
    world.server.fail(leases, broken, 1000);
    world.run_with(memory.clone(), quick());
    world.watches_are_open().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    world.server.clear_faults();
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(memory.storage.lock().contains(&orphan));
    // Events of claims and of volumes.
    world.claim("later", "fast");
    world.bound("later").await;
    let is_gone = || !memory.storage.lock().contains(&orphan);
    world.until("the orphan is gone", is_gone).await;
    world.end().await;
}

/// The cache of volumes does not have it, but the server does.
#[tokio::test]
async fn storage_whose_volume_the_server_knows_is_kept() {
    let mut world = World::new().await;
    let memory = Memory::default();
    let orphan = orphan(&mut world, &memory).await;
    let volumes = || RequestMatcher::verb(Verb::Get).resource("persistentvolumes");
    let there =
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": orphan}});
    let answer = Answer::json(200, there.to_string());
    world.server.fail(volumes(), answer, 1000);
    world.run_with(memory.clone(), quick());
    let asked = || {
        let requests = world.server.requests();
        requests.iter().any(|request| volumes().matches(request))
    };
    world.until("the server is asked", asked).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    world.end().await;
    assert_eq!(*memory.storage.lock(), [orphan]);
}

#[tokio::test]
async fn a_claim_waits_for_its_node_and_may_get_another() {
    let annotation = "volume.kubernetes.io/selected-node";
    let node = |node: &str| json!({"metadata": {"annotations": {annotation: node}}});
    let mut world = World::new().await;
    world.run(Memory::failing([Failure::OtherNode]));
    world.claim("c", "late");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(world.volumes().is_empty(), "no node is selected");
    world.patch_claim("c", node("full"));
    let is_asked = || world.stored_claim("c")["metadata"]["annotations"][annotation].is_null();
    world.until("the scheduler is asked again", is_asked).await;
    world.patch_claim("c", node("free"));
    world.bound("c").await;
    world.end().await;
}

#[tokio::test]
async fn storage_goes_or_stays_as_the_class_says() {
    let mut world = World::new().await;
    let memory = Memory::default();
    world.run(memory.clone());
    world.claim("goes", "fast");
    let stays = format!("pvc-{}", world.claim("stays", "kept"));
    world.bound("goes").await;
    world.bound("stays").await;
    assert_eq!(
        world.volumes()[0]["metadata"]["finalizers"],
        json!([FINALIZER])
    );
    // The deletion fails half through, and is tried again.
    memory.failures.lock().push(Failure::After);
    for claim in ["goes", "stays"] {
        world
            .server
            .delete("persistentvolumeclaims", "shop", claim)
            .expect("there");
    }
    world
        .until("one volume is gone", || world.volumes().len() == 1)
        .await;
    assert_eq!(*memory.storage.lock(), std::slice::from_ref(&stays));
    // Someone deletes the volume; the storage is theirs.
    world
        .server
        .delete("persistentvolumes", "", &stays)
        .expect("there");
    world
        .until("the other is gone", || world.volumes().is_empty())
        .await;
    assert_eq!(*memory.storage.lock(), [stays]);
    world.end().await;
}

#[tokio::test]
async fn claims_may_be_followed_elsewhere() {
    let mut world = World::new().await;
    let source =
        HttpListerWatcher::<PersistentVolumeClaim>::namespaced(world.client.clone(), "shop");
    let claims = SharedInformer::builder(source)
        .build()
        .expect("one name for each index");
    let directory = tempfile::tempdir().expect("a directory");
    let mut options = Options::new(NAME, "one");
    options.claims = Some(claims.clone());
    world.run_with(HostPath::new(directory.path()), options);
    let uid = world.claim("c", "fast");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(
        world.volumes().is_empty(),
        "the claims are not yet followed"
    );
    claims.start().expect("a runtime");
    world.bound("c").await;
    assert!(directory.path().join(format!("pvc-{uid}")).is_dir());
    // Without claims nothing can be decided any more.
    claims.stop().await.expect("stopped");
    let ended = tokio::time::timeout(LIMIT, world.task.take().expect("it runs")).await;
    let ended = ended.expect("it ends").expect("no panic");
    assert!(matches!(ended, Err(ServiceError::Informer(_))), "{ended:?}");
}

#[tokio::test]
async fn the_class_may_come_after_the_claim() {
    let mut world = World::new().await;
    world.run(Memory::default());
    world.claim("c", "new");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let class = json!({"metadata": {"name": "new"}, "provisioner": NAME});
    world.server.create("storageclasses", class).expect("new");
    world.bound("c").await;
    world.end().await;
}
