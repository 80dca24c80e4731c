//! The provisioner at work: informers first, then an election, then two controllers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::try_join;
use informer::controller::{
    Controller, ControllerError, EventRecorder, EventSource, Finalizer, RecorderError,
};
use informer::leader_election::{
    ConfigError, ElectionConfig, HttpLeaseLock, LeaderElector, Leadership,
};
use informer::shared::{BuildError, RunError};
use informer::{Api, Client, Object, ObjectKey, SharedInformer, StaticResource};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use tokio_util::sync::CancellationToken;

use crate::caches::Caches;
use crate::context::Context;
use crate::provisioner::Provisioner;
use crate::rules;
use crate::stand_in::StandIn;

/// How long to wait before controllers that ended are started again.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// How long the last events may take at the end.
const FLUSH_LIMIT: Duration = Duration::from_secs(5);

/// How a provisioner runs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Its name, by which classes ask for it.
    pub name: String,
    /// Who this replica is.
    pub identity: String,
    /// How many claims, and how many volumes, are worked on at once.
    pub workers: usize,
    /// How often every claim and volume is looked at again. Zero is never.
    pub resync: Duration,
    /// For how long a new leader lets storage be that has neither volume nor claim. The leader before may have made it
    /// a moment ago.
    pub orphan_age: Duration,
    /// Where the lease of the election is.
    pub lease_namespace: String,
    /// For how long other replicas let a leader be that does not renew the lease.
    pub lease_duration: Duration,
    /// For how long a leader tries to renew the lease before it stops working.
    pub renew_deadline: Duration,
    /// How long replicas wait between two requests for the lease.
    pub retry_period: Duration,
    /// Claims that are followed elsewhere. Whoever made this informer runs it.
    pub claims: Option<SharedInformer<PersistentVolumeClaim>>,
}

impl Options {
    /// Four workers, a resync every ten minutes, orphans deleted after one, the lease in `default`, for 15 s, given up
    /// after 10 s, renewed every 2 s.
    #[must_use]
    pub fn new(name: impl Into<String>, identity: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            identity: identity.into(),
            workers: 4,
            resync: Duration::from_secs(600),
            orphan_age: Duration::from_secs(60),
            lease_namespace: "default".to_owned(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            claims: None,
        }
    }
}

/// Why a provisioner ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The informers' settings.
    #[error("cannot make the informers")]
    Build(#[from] BuildError),
    /// The election's settings.
    #[error("the settings of the election are wrong")]
    Election(#[from] ConfigError),
    /// An informer was not started, or stopped for good, as one that is run elsewhere.
    #[error("an informer does not run, without which nothing can be provisioned")]
    Informer(#[from] RunError),
    /// The provisioner's name or that of the replica.
    #[error("no events can be recorded under these names")]
    Recorder(#[from] RecorderError),
}

/// Takes part in the election, and provisions while it leads, until it is stopped. Then it gives the lease back. If it
/// loses the leadership it takes part again.
///
/// # Errors
/// When it cannot begin, or an informer has stopped for good.
pub async fn run<P: Provisioner>(
    client: Client,
    provisioner: P,
    options: Options,
    stop: &CancellationToken,
) -> Result<(), ServiceError> {
    let caches = Caches::new(client.clone(), options.resync, options.claims.clone())?;
    // Before the election: whoever takes over has its caches filled.
    caches.start()?;
    let lock = HttpLeaseLock::new(
        client.clone(),
        &options.lease_namespace,
        lease_name(&options.name),
    );
    let config = ElectionConfig::new(&options.identity)
        .lease_duration(options.lease_duration)
        .renew_deadline(options.renew_deadline)
        .retry_period(options.retry_period);
    let elector = LeaderElector::new(lock, config)?;
    let recorder = EventRecorder::new(client.clone(), &options.name, &options.identity)?;
    let provisioner = Arc::new(provisioner);
    // What is written as the leader passes only under the lease. Caches and events do without.
    let client = client.gated(elector.gate());
    let ended = loop {
        let led = elector.run(stop, |lost| {
            let (recorder, caches) = (recorder.clone(), caches.clone());
            lead(
                client.clone(),
                Arc::clone(&provisioner),
                &options,
                caches,
                recorder,
                lost,
            )
        });
        match led.await {
            Ok(Leadership::Worked(ended)) => break ended,
            Ok(_) => break Ok(()),
            // What ran is gone. The next run is as that of any other replica.
            Err(lost) => {
                tracing::warn!(error = &lost as &dyn std::error::Error, "takes part again");
            }
        }
    };
    if let Err(error) = recorder.flush(FLUSH_LIMIT).await {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "the last events may be lost"
        );
    }
    caches.shut_down().await?;
    ended
}

/// The name of the lease of all replicas of a provisioner.
fn lease_name(provisioner: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let name: String = provisioner.chars().map(plain).collect();
    format!("provisioner-{}", name.trim_matches('-'))
}

/// Works as the leader, until told to end.
async fn lead<P: Provisioner>(
    client: Client,
    provisioner: Arc<P>,
    options: &Options,
    caches: Caches,
    recorder: EventRecorder,
    stop: CancellationToken,
) -> Result<(), ServiceError> {
    let Some(stand_in) = stop.run_until_cancelled(stand_in(&client)).await else {
        return Ok(());
    };
    let volumes = PersistentVolume::resource();
    let context = Arc::new(Context {
        provisioner,
        name: options.name.clone(),
        finalizer: Finalizer::new(client.clone(), volumes, rules::FINALIZER),
        client,
        caches,
        recorder,
        stand_in,
    });
    let orphans = async {
        let _ = stop
            .run_until_cancelled(discard_orphans(&context, options.orphan_age))
            .await;
        Ok(())
    };
    let claims = supervise(
        "claims",
        &stop,
        || claims_controller(&context, options),
        |controller| {
            let (context, stop) = (Arc::clone(&context), stop.clone());
            async move {
                let reconcile = move |key| {
                    let context = Arc::clone(&context);
                    async move { context.reconcile_claim(key).await }
                };
                controller.run(&stop, reconcile).await
            }
        },
    );
    let volumes = supervise(
        "volumes",
        &stop,
        || volumes_controller(&context, options),
        |controller| {
            let (context, stop) = (Arc::clone(&context), stop.clone());
            async move {
                let reconcile = move |key| {
                    let context = Arc::clone(&context);
                    async move { context.reconcile_volume(key).await }
                };
                controller.run(&stop, reconcile).await
            }
        },
    );
    try_join(try_join(claims, volumes), orphans).await.map(drop)
}

/// Whether to do the controller manager's work, asked until the server says.
async fn stand_in(client: &Client) -> Option<StandIn> {
    loop {
        match StandIn::unless_managed(client).await {
            Ok(stand_in) => return stand_in,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "no word of a controller manager"
                );
                tokio::time::sleep(RESTART_PAUSE).await;
            }
        }
    }
}

/// Runs a controller in a task of its own, and another one when it ends before it is told to or panics.
async fn supervise<R>(
    what: &str,
    stop: &CancellationToken,
    make: impl Fn() -> Result<Controller, RunError>,
    run: impl Fn(Controller) -> R,
) -> Result<(), ServiceError>
where
    R: Future<Output = Result<(), ControllerError>> + Send + 'static,
{
    loop {
        // Dropped with this future, so that it does not go on beside another leader.
        let mut task = tokio::task::JoinSet::new();
        task.spawn(run(make()?));
        let ended = task.join_next().await;
        if stop.is_cancelled() {
            return Ok(());
        }
        tracing::error!(what, ?ended, "ended, and is started again");
        let _ = stop
            .run_until_cancelled(tokio::time::sleep(RESTART_PAUSE))
            .await;
    }
}

fn claims_controller<P>(context: &Context<P>, options: &Options) -> Result<Controller, RunError> {
    let caches = context.caches.clone();
    Controller::new("claims")
        .workers(options.workers)
        .watch(EventSource::existing_objects(&context.caches.claims))?
        // A class may come after its claims.
        .watch(EventSource::mapped(
            &context.caches.classes,
            move |class: &StorageClass| caches.claims_of_class(class.name()),
        ))?
        // A volume that is there is bound.
        .watch(EventSource::mapped(
            &context.caches.volumes,
            |volume: &PersistentVolume| {
                let claim = volume.spec.as_ref()?.claim_ref.as_ref()?;
                Some(ObjectKey::namespaced(
                    claim.namespace.as_deref()?,
                    claim.name.as_deref()?,
                ))
            },
        ))
}

fn volumes_controller<P>(context: &Context<P>, options: &Options) -> Result<Controller, RunError> {
    let caches = context.caches.clone();
    Controller::new("volumes")
        .workers(options.workers)
        .watch(EventSource::existing_objects(&context.caches.volumes))?
        // A claim that is gone releases its volume.
        .watch(EventSource::mapped(
            &context.caches.claims,
            move |claim: &PersistentVolumeClaim| {
                let volume = caches.volume_of_claim(claim.metadata.uid.as_deref()?)?;
                Some(ObjectKey::of(&*volume))
            },
        ))
}

/// Deletes storage that a crash left behind: its claim went before its volume was there.
async fn discard_orphans<P: Provisioner>(context: &Context<P>, age: Duration) {
    let listed = match context.provisioner.list().await {
        Ok(listed) => listed,
        Err(error) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the storage cannot be listed"
            );
            return;
        }
    };
    let listed_at = Instant::now();
    tokio::time::sleep(age).await;
    // A watch may have died without a word, and the cache be of long ago.
    while !context.caches.have_heard_since(listed_at) {
        tokio::time::sleep(RESTART_PAUSE).await;
    }
    for name in listed {
        match discard_orphan(context, &name).await {
            Ok(true) => tracing::info!(name, "deleted storage that nobody claims"),
            Ok(false) => {}
            Err(error) => {
                // The next leader tries again.
                tracing::warn!(error = &*error, name, "not deleted");
            }
        }
    }
    let caches = &context.caches;
    for class in caches.classes.store().list() {
        let volumes = caches.volumes_of_class(class.name());
        tracing::debug!(class = class.name(), volumes, "volumes of a class");
    }
}

/// Deletes storage if it has neither volume nor claim. True if it did.
async fn discard_orphan<P: Provisioner>(
    context: &Context<P>,
    name: &str,
) -> Result<bool, Box<dyn std::error::Error + Send + Sync>> {
    let caches = &context.caches;
    // What has another name was not made here.
    let Some(uid) = name.strip_prefix("pvc-").filter(|uid| !uid.is_empty()) else {
        return Ok(false);
    };
    if caches.claim_by_uid(uid).is_some() || caches.volumes.store().contains(name) {
        return Ok(false);
    }
    let volumes = Api::<PersistentVolume>::cluster(context.client.clone());
    match volumes.get(name).await {
        Ok(_) => Ok(false),
        Err(error) if error.is_not_found() => {
            context.provisioner.discard(name).await?;
            Ok(true)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_has_a_name_that_servers_accept() {
        assert_eq!(
            lease_name("example.org/Host_Path"),
            "provisioner-example-org-host-path"
        );
        assert_eq!(lease_name("/x/"), "provisioner-x");
    }
}
