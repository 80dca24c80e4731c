//! Candidates of coordinated leader election, where the control plane chooses who leads.

use std::time::Duration;

use informer_client::http::Method;
use informer_client::{Api, Client, Error};
use informer_wire::{Resource, Scope, WallClock};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::reasons::{Reasons, chain};

/// How often a candidate is read at most. The control plane waits 5 s for an answer to a ping.
const LOOK_PERIOD: Duration = Duration::from_secs(1);

/// How long a watch of it lasts.
const WATCH_TIME: Duration = Duration::from_secs(60);

/// The longest pause after failures.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How often a candidate renews without a ping, as with client-go.
const REFRESH_PERIOD: Duration = Duration::from_secs(300);

/// Offers this replica as a leader to the control plane (`LeaseCandidate` of `coordination.k8s.io/v1beta1`), with its
/// version, and answers pings.
///
/// Beside it runs a [`LeaderElector`](crate::LeaderElector) with [`ElectionConfig::coordinated`](crate::ElectionConfig::coordinated),
/// which leads once the control plane has put this name into the lease. The caller needs the rights to get, create,
/// update and watch `leasecandidates`; without the last it reads its own every second.
///
/// ```no_run
/// use informer_client::Client;
/// use informer_leader_election::LeaseCandidate;
/// use tokio_util::sync::CancellationToken;
///
/// # async fn example(client: Client, stop: CancellationToken) {
/// let candidate = LeaseCandidate::new(client, "kube-system", "pod-7f9c", "my-controller", "1.2.0");
/// candidate.run(&stop).await;
/// # }
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "NewCandidate")]
pub struct LeaseCandidate {
    client: Client,
    api: Api<Value>,
    namespace: String,
    name: String,
    lease: String,
    binary_version: String,
    emulation_version: String,
    strategy: String,
    clock: WallClock,
}

impl LeaseCandidate {
    /// Makes a candidate of this name for a lease of the same namespace, with the version of this program. The name is also
    /// the identity of its elector.
    #[must_use]
    pub fn new(
        client: Client,
        namespace: impl Into<String>,
        name: impl Into<String>,
        lease: impl Into<String>,
        version: impl Into<String>,
    ) -> Self {
        let (group, version_of_api) = ("coordination.k8s.io", "v1beta1");
        let (kind, plural) = ("LeaseCandidate", "leasecandidates");
        let candidates = Resource::new(group, version_of_api, kind, plural, Scope::Namespaced);
        let version = version.into();
        let namespace = namespace.into();
        Self {
            api: Api::new(client.clone(), candidates).in_namespace(&namespace),
            client,
            namespace,
            name: name.into(),
            lease: lease.into(),
            emulation_version: version.clone(),
            binary_version: version,
            strategy: "OldestEmulationVersion".to_owned(),
            clock: WallClock::system(),
        }
    }

    /// Sets the version that this program emulates, if it is not its own.
    #[must_use]
    pub fn emulation_version(mut self, version: impl Into<String>) -> Self {
        self.emulation_version = version.into();
        self
    }

    /// Sets the strategy by which the control plane chooses. Default: `OldestEmulationVersion`.
    #[must_use]
    pub fn strategy(mut self, strategy: impl Into<String>) -> Self {
        self.strategy = strategy.into();
        self
    }

    /// Sets the wall clock whose times are written as times of renewal, and compared with those of pings. The default is
    /// the system's.
    #[must_use]
    pub fn clock(mut self, clock: impl Into<WallClock>) -> Self {
        self.clock = clock.into();
        self
    }

    /// Stands as a candidate until `stop` is cancelled. Failures are logged, each reason once, and retried with a growing
    /// pause.
    ///
    /// # Cancellation
    /// Dropping the future ends the candidacy; the object stays until the control plane removes it.
    pub async fn run(&self, stop: &CancellationToken) {
        let _ = stop.run_until_cancelled(self.stand()).await;
    }

    async fn stand(&self) {
        let mut reasons = Reasons::default();
        let mut pause = LOOK_PERIOD;
        let mut refreshed: Option<Instant> = None;
        loop {
            let looked = Instant::now();
            let is_stale = refreshed.is_none_or(|at| at.elapsed() >= REFRESH_PERIOD);
            let ended = match self.answer(is_stale).await {
                Ok((candidate, is_written)) => {
                    if is_written {
                        refreshed = Some(Instant::now());
                    }
                    self.changed(&candidate).await
                }
                Err(error) => Err(error),
            };
            match ended {
                Ok(()) => {
                    if reasons.clear(Instant::now()) {
                        tracing::info!(
                            candidate = self.name,
                            "lease candidate requests succeed again"
                        );
                    }
                    pause = LOOK_PERIOD;
                    sleep_until(looked + LOOK_PERIOD).await;
                }
                Err(error) => {
                    let reason = chain(&error);
                    if reasons.is_new(&reason, Instant::now()) {
                        let error = reason;
                        tracing::warn!(
                            candidate = self.name,
                            error,
                            "cannot stand as a lease candidate"
                        );
                    }
                    sleep(error.retry_after().unwrap_or_default().max(pause)).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Writes the candidate if it was pinged, does not exist, or was not renewed for long. Returns it, and whether it was
    /// written.
    async fn answer(&self, is_stale: bool) -> Result<(Value, bool), Error> {
        let mut candidate = match self.api.get(&self.name).await {
            Ok(candidate) => candidate,
            Err(error) if error.is_not_found() => {
                let candidate = json!({
                    "apiVersion": "coordination.k8s.io/v1beta1",
                    "kind": "LeaseCandidate",
                    "metadata": {"name": self.name},
                    "spec": self.spec(),
                });
                return Ok((self.api.create(&candidate).await?, true));
            }
            Err(error) => return Err(error),
        };
        if !is_stale && !is_asked(&candidate["spec"]) {
            return Ok((candidate, false));
        }
        let ping = candidate["spec"]["pingTime"].take();
        candidate["spec"] = self.spec();
        if !ping.is_null() {
            candidate["spec"]["pingTime"] = ping;
        }
        Ok((self.api.replace(&self.name, &candidate).await?, true))
    }

    /// Waits until the candidate has changed, or may have: until a watch of it sends anything, or ends.
    ///
    /// What the watch sends is not looked at. The candidate is read then, so no event can be misunderstood or missed.
    async fn changed(&self, candidate: &Value) -> Result<(), Error> {
        let invalid = |reason: String| Error::Request { reason };
        let path = self.api.resource().path(Some(&self.namespace), None);
        let path = path.map_err(|error| invalid(error.to_string()))?;
        let version = &candidate["metadata"]["resourceVersion"];
        let watch = self
            .client
            .request(Method::GET, &path)
            .query([
                ("watch", "true"),
                ("fieldSelector", &format!("metadata.name={}", self.name)),
                ("resourceVersion", version.as_str().unwrap_or_default()),
                ("timeoutSeconds", &WATCH_TIME.as_secs().to_string()),
            ])
            .accept("application/json")
            .send();
        let event = async {
            let mut events = watch.await?.error_for_status().await?;
            events.chunk().await.map(drop)
        };
        match timeout(WATCH_TIME * 2, event).await {
            Ok(Err(error)) if error.is_forbidden() => {
                let error: &dyn std::error::Error = &error;
                tracing::debug!(
                    error,
                    "cannot watch lease candidate; it is read every second"
                );
                Ok(())
            }
            Ok(event) => event,
            // A connection that is dead sends nothing, and its end is no failure.
            Err(_) => Ok(()),
        }
    }

    fn spec(&self) -> Value {
        json!({
            "leaseName": self.lease,
            "binaryVersion": self.binary_version,
            "emulationVersion": self.emulation_version,
            "strategy": self.strategy,
            "renewTime": format!("{:.6}", self.clock.now()),
        })
    }
}

/// Whether the last ping follows the last answer.
fn is_asked(spec: &Value) -> bool {
    let time = |field: &str| spec[field].as_str()?.parse::<Timestamp>().ok();
    match (time("pingTime"), time("renewTime")) {
        (Some(ping), Some(renewed)) => ping > renewed,
        (ping, renewed) => ping.is_some() || renewed.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // LE7
    #[test]
    fn ping_is_open_until_it_is_answered() {
        let (early, late) = ("2026-11-29T20:00:00.000001Z", "2026-11-29T20:00:00.000002Z");
        for (spec, expected) in [
            (json!({"pingTime": late, "renewTime": early}), true),
            (json!({"pingTime": early, "renewTime": late}), false),
            (json!({"pingTime": early, "renewTime": early}), false),
            (json!({"renewTime": early}), false),
            (json!({"pingTime": early}), true),
            (json!({}), true),
        ] {
            assert_eq!(is_asked(&spec), expected, "{spec}");
        }
    }
}
