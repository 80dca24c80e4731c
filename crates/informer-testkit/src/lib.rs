//! A Kubernetes API server in memory, over real HTTP, for tests of controllers and informers.
//!
//! [`ApiServer`] listens on loopback and serves lists, watches and writes of any resource as a
//! real server does: the same resource versions and paging, the same errors, the same shapes down
//! to the order of keys. A test holds the server in its own process, so it can write objects
//! directly, drop history, break connections and read the requests it received.
//!
//! ```
//! use informer_testkit::{ApiServer, Fault, RequestMatcher, Status, Verb};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::start().await?;
//!
//! // Set a state up.
//! server.create("pods", json!({"metadata": {"namespace": "web", "name": "a"}}))?;
//! server.merge_patch("pods", "web", "a", json!({"status": {"phase": "Running"}}))?;
//!
//! // Script what goes wrong: the next list is answered with 429, and the next watch breaks off
//! // after a hundred bytes.
//! let busy = Status::failure(429, "TooManyRequests", "slow down").with_retry_after(1);
//! server.fail_next(RequestMatcher::verb(Verb::List).resource("pods"), busy);
//! server.fail_next(RequestMatcher::verb(Verb::Watch), Fault::Cut { after: 100 });
//!
//! // Let the client under test work against `server.url()`, then look at what it did.
//! # let client = |_url: String| {};
//! client(server.url());
//! for request in server.requests() {
//!     println!("{:?} {} {}", request.verb, request.path, request.user_agent);
//! }
//! server.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! # What it does
//!
//! - **Resources**: the common kinds of Kubernetes' own groups, any [`ResourceType`] that is
//!   registered, and any `CustomResourceDefinition` that is created.
//! - **Lists** with label and field selectors, paging over a snapshot, every rule of
//!   `resourceVersion` and `resourceVersionMatch`, 410 for revisions that are too old, 504 for those too
//!   new; whole, as metadata, or as a table.
//! - **Watches** with bookmarks, timeouts, streaming lists (`sendInitialEvents`), a window of
//!   history, selectors that objects enter and leave, and the end of watchers that do not read.
//! - **Writes**: create, replace, JSON, merge and strategic merge patch, server-side apply with the owners of
//!   fields, delete with finalizers, preconditions, propagation policies and grace periods, deletion of
//!   collections, dry runs. A test's own writes make their namespace, requests find it missing.
//! - **Schemas**: custom resources are pruned, defaulted and validated by the schema of their definition, in a real
//!   server's words, and each served version shows the stored object in its own shape. Requests drop unknown fields of
//!   every kind, with a warning or a refusal as their `fieldValidation` says; methods of the server write objects of
//!   built-in kinds as they are.
//! - **Bodies** in JSON, YAML and protobuf; what cannot be read is refused in a real server's words.
//! - **Subresources**: `/status`, `/scale` (also of custom resources), `/finalize` of namespaces, evictions that spend
//!   disruption budgets, bindings, tokens; reviews of access, which allow everything.
//! - **Actors**, which do what other programs of a cluster do: deleted namespaces are emptied and
//!   deleted pods end; by choice garbage is collected and pods start. See [`Actors`].
//! - **`kubectl`** works against it: `cargo xtask e2e kubectl` compares what some 200 of its commands say with what they say
//!   of a real server, to the columns of tables and the fields of `explain`; see [`ApiServer::kubeconfig`].
//! - **Faults**: one [`Fault`] for each request that fits a [`RequestMatcher`];
//!   [`ApiServer::end_watches`] for the streams that are open.
//! - **Replicas** that are behind, and **rewinds** of the whole history.
//! - **Virtual time**: without a socket ([`ApiServerBuilder::in_memory`]) and under a paused clock, the
//!   same server is a [tower service](ApiServer::service) for the clients of whole programs, and a
//!   [`ListerWatcher`](informer_reflector::ListerWatcher). The time of day is that of a [`TestClock`].
//! - **Processes** of a simulation: clients with [names](ApiServer::service_as), each with its own replica, faults, and
//!   [end](ApiServer::fence).
//! - **Between requests**: one is [held](ApiServer::hold_next) until the test lets it go, or code
//!   [runs](ApiServer::before_next) before it is handled; verbs are [forbidden](ApiServer::forbid), as by RBAC.
//! - **For assertions**: typed [objects](ApiServer::objects), waits that say what they saw last ([`eventually`],
//!   [`ApiServer::until`]), the log of [requests](ApiServer::requests), with bodies if [wanted](RecordedBodies).
//! - **A workload**: [`Workload`] fills the server with realistic pods and keeps changing them.
//!
//! # What it does not do
//!
//! There is no TLS and no compression. Custom resources, their definitions and API services are not taken in protobuf.
//! There is no authorisation beyond one bearer token, no admission, and no controller of workloads runs: deployments,
//! stateful sets and jobs make no pods. Built-in kinds are checked as to their fields' types and their metadata, not
//! further. Its OpenAPI has fields and types, without descriptions.
//! Rules in CEL (`x-kubernetes-validations`) are not evaluated, definitions are not converted by webhooks, and unknown
//! fields of a definition itself are kept. An open watch goes on in the schema that its resource had when it began.
//! Built-in objects get few defaults: the phase of pods and namespaces. Owners of fields are tracked for writes by
//! request from an object's creation on, for a test's own writes once the object was applied to. The core group's events
//! and those of `events.k8s.io` are two resources here. A revision that lies ahead is refused at
//! once; a real server waits for it up to 3 seconds first.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `client` | `ApiServer::client`: the client of `informer-client` over the server in memory |
//!
//! # The model
//!
//! Under the HTTP layer lies [`model`]: plain data without I/O and without a clock, which can be
//! driven directly, for instance by a simulation.

mod actors;
mod apply;
mod builder;
mod builtin;
#[cfg(feature = "client")]
mod client;
mod clients;
mod clock;
mod definition;
mod encode;
mod fault;
mod fields;
mod hooks;
mod http;
mod listener;
mod managed_fields;
mod memory;
pub mod model;
mod patch;
pub mod protobuf;
mod rare;
mod replicas;
mod request;
mod request_body;
mod resource;
mod rights;
mod schema;
mod selector;
mod server;
mod service;
mod shared;
mod signal;
pub mod status;
mod strategy;
mod table;
mod time;
mod typed;
mod virtual_resource;
mod virtual_time;
mod wait;
mod workload;

pub use self::actors::Actors;
pub use self::builder::ApiServerBuilder;
pub use self::clock::TestClock;
pub use self::fault::{Answer, Fault, RequestMatcher};
pub use self::hooks::HeldRequest;
pub use self::memory::{MemoryBody, MemoryList, MemoryListerWatcher, MemoryWatch};
pub use self::request::{RecordedBodies, RequestRecord, Verb};
pub use self::resource::ResourceType;
pub use self::schema::FieldValidation;
pub use self::server::{ApiServer, StreamEnd};
pub use self::service::{ApiService, ServiceBody};
pub use self::typed::Objects;
pub use self::wait::{NotYet, eventually};
pub use self::workload::{Changes, RunningWorkload, Workload};
// Part of our interface, so that tests need not depend on the crate that has them.
pub use informer_wire::{
    DeleteOptions, Deleted, Patch, Preconditions, Propagation, Status, StatusCause, StatusDetails,
    WallClock,
};
