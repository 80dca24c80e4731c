//! Candidates of coordinated leader election, where the control plane chooses who leads.

use std::time::Duration;

use informer_client::{Api, Client, Error};
use informer_wire::{Resource, Scope};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

/// How often a candidate looks whether it was asked. The control plane waits 5 s for an answer.
const LOOK_PERIOD: Duration = Duration::from_secs(1);

/// How often a candidate says unasked that it is there, as with client-go.
const REFRESH_PERIOD: Duration = Duration::from_secs(300);

/// Offers this replica as a leader to the control plane (`LeaseCandidate` of `coordination.k8s.io/v1beta1`): it is there,
/// it has this version, and it answers when it is asked.
///
/// Beside it runs a [`LeaderElector`](crate::LeaderElector) with [`Config::coordinated`](crate::Config::coordinated),
/// which leads once the control plane has put this name into the lease. The caller needs the rights to get, create and
/// update `leasecandidates`.
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
    api: Api<Value>,
    name: String,
    lease: String,
    binary_version: String,
    emulation_version: String,
    strategy: String,
}

impl LeaseCandidate {
    /// A candidate of this name for a lease of the same namespace, with the version of this program. The name is also
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
        Self {
            api: Api::new(client, candidates).in_namespace(namespace),
            name: name.into(),
            lease: lease.into(),
            emulation_version: version.clone(),
            binary_version: version,
            strategy: "OldestEmulationVersion".to_owned(),
        }
    }

    /// The version that this program behaves as, where that is not its own.
    #[must_use]
    pub fn emulation_version(mut self, version: impl Into<String>) -> Self {
        self.emulation_version = version.into();
        self
    }

    /// How the control plane is to choose. The default is `OldestEmulationVersion`.
    #[must_use]
    pub fn strategy(mut self, strategy: impl Into<String>) -> Self {
        self.strategy = strategy.into();
        self
    }

    /// Stands as a candidate until it is stopped. What fails is logged and tried again every second.
    ///
    /// # Cancellation
    /// Dropping the future ends the candidacy; the object stays until the control plane removes it.
    pub async fn run(&self, stop: &CancellationToken) {
        let _ = stop.run_until_cancelled(self.stand()).await;
    }

    async fn stand(&self) {
        let mut look = tokio::time::interval(LOOK_PERIOD);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut refreshed: Option<Instant> = None;
        loop {
            look.tick().await;
            let is_stale = refreshed.is_none_or(|at| at.elapsed() >= REFRESH_PERIOD);
            match self.answer(is_stale).await {
                Ok(true) => refreshed = Some(Instant::now()),
                Ok(false) => {}
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(
                        error,
                        candidate = self.name,
                        "the candidacy was not written"
                    );
                }
            }
        }
    }

    /// Says that it is there, if it was asked, is not known, or has not said so for long. True if it did.
    async fn answer(&self, is_stale: bool) -> Result<bool, Error> {
        let mut candidate = match self.api.get(&self.name).await {
            Ok(candidate) => candidate,
            Err(error) if error.is_not_found() => {
                let candidate = json!({
                    "apiVersion": "coordination.k8s.io/v1beta1",
                    "kind": "LeaseCandidate",
                    "metadata": {"name": self.name},
                    "spec": self.spec(),
                });
                return self.api.create(&candidate).await.map(|_| true);
            }
            Err(error) => return Err(error),
        };
        if !is_stale && !is_asked(&candidate["spec"]) {
            return Ok(false);
        }
        let ping = candidate["spec"]["pingTime"].take();
        candidate["spec"] = self.spec();
        if !ping.is_null() {
            candidate["spec"]["pingTime"] = ping;
        }
        self.api.replace(&self.name, &candidate).await.map(|_| true)
    }

    fn spec(&self) -> Value {
        json!({
            "leaseName": self.lease,
            "binaryVersion": self.binary_version,
            "emulationVersion": self.emulation_version,
            "strategy": self.strategy,
            "renewTime": format!("{:.6}", Timestamp::now()),
        })
    }
}

/// Whether the last question came after the last answer.
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
    fn a_question_is_open_until_it_is_answered() {
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
