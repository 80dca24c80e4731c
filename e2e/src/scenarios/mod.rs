//! The scenarios, each a program of its own against a server of its own.

mod alike;
mod churn;
mod cli;
mod client_go;
mod credentials;
mod expired;
mod kill;
mod kinds;
mod kube_rs;
mod kubectl;
mod many;
mod network;
mod provisioner;
mod replicas;
mod server;
mod sync;
mod trust;
mod writes;

use std::future::Future;
use std::pin::Pin;

/// One scenario.
pub(crate) struct Scenario {
    /// By which it is chosen.
    pub(crate) name: &'static str,
    /// What it shows.
    pub(crate) about: &'static str,
    /// Runs it; what is random in it follows from the seed.
    pub(crate) run: fn(seed: u64) -> Run,
}

/// A scenario at work.
pub(crate) type Run = Pin<Box<dyn Future<Output = anyhow::Result<()>>>>;

/// Every scenario, in the order in which they run.
pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "server",
        about: "what the other scenarios take for granted of the server",
        run: |_| Box::pin(server::run()),
    },
    Scenario {
        name: "sync",
        about: "pods and a custom resource, in every form, list mode and wire format, are what the server has",
        run: |seed| Box::pin(sync::run(seed)),
    },
    Scenario {
        name: "kinds",
        about: "an object of each kind, read as protobuf, is what it is as JSON",
        run: |_| Box::pin(kinds::run()),
    },
    Scenario {
        name: "churn",
        about: "500 random changes while informers watch",
        run: |seed| Box::pin(churn::run(seed)),
    },
    Scenario {
        name: "kill",
        about: "connections are cut and the server is killed while objects change",
        run: |seed| Box::pin(kill::run(seed)),
    },
    Scenario {
        name: "expired",
        about: "informers come back after etcd was compacted: 410, one list, no deletion lost",
        run: |seed| Box::pin(expired::run(seed)),
    },
    Scenario {
        name: "cli",
        about: "the command informer, by certificate, by token, forbidden, and told to end",
        run: |seed| Box::pin(cli::run(seed)),
    },
    Scenario {
        name: "kubectl",
        about: "kubectl says the same of the test kit as of the real server",
        run: |_| Box::pin(kubectl::run()),
    },
    Scenario {
        name: "client-go",
        about: "a controller on client-go sees the same of the test kit as of the real server",
        run: |_| Box::pin(client_go::run()),
    },
    Scenario {
        name: "kube-rs",
        about: "a controller on kube-rs sees the same of the test kit as of the real server",
        run: |_| Box::pin(kube_rs::run()),
    },
    Scenario {
        name: "writes",
        about: "what a controller writes, deletes of every kind among it, is in its caches before its keys go on",
        run: |_| Box::pin(writes::run()),
    },
    Scenario {
        name: "provisioner",
        about: "two replicas of a storage provisioner; leaders are killed, the server restarts, claims come and go",
        run: |_| Box::pin(provisioner::run()),
    },
    Scenario {
        name: "replicas",
        about: "replicas of the provisioner are frozen, killed and cut off; the audit log shows who wrote when",
        run: |seed| Box::pin(replicas::run(seed)),
    },
    Scenario {
        name: "credentials",
        about: "certificates of both versions, tokens that rotate, exec plugins, impersonation",
        run: |_| Box::pin(credentials::run()),
    },
    Scenario {
        name: "trust",
        about: "wrong, expired and rotated certificates of the server; other names; a proxy",
        run: |_| Box::pin(trust::run()),
    },
    Scenario {
        name: "network",
        about: "RST, FIN, silence, slow drip, cuts and GOAWAY, over HTTP/1.1 and HTTP/2",
        run: |_| Box::pin(network::run()),
    },
    Scenario {
        name: "many",
        about: "300 informers on one client, beside watches that nobody reads",
        run: |_| Box::pin(many::run()),
    },
];
