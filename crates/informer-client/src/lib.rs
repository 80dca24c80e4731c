//! A connection to a Kubernetes API server: TLS, credentials, and typed requests.
//!
//! [`Client`] is made from a [`Config`]. Informers list and watch through it; [`Api`] reads and writes single objects.
//!
//! ```no_run
//! use informer_client::{Api, Client, Patch};
//! use k8s_openapi::api::core::v1::ConfigMap;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::infer()?;
//! let maps = Api::<ConfigMap>::namespaced(client, "shop");
//!
//! let map = maps.get("settings").await?;
//! println!("{:?}", map.data);
//! let change = serde_json::json!({"data": {"colour": "green"}});
//! match maps.patch("settings", &Patch::Merge(&change)).await {
//!     Ok(_) => println!("changed"),
//!     Err(error) if error.is_not_found() => println!("it does not exist"),
//!     Err(error) => return Err(error.into()),
//! }
//! # Ok(()) }
//! ```
//!
//! # Promises
//!
//! - Only the certificate authorities of the configuration are trusted; those of the system, if it names none.
//! - Credentials are sent to the server of the configuration only, over https only. Redirects are not followed. Plain http to
//!   this machine carries them only if enabled.
//! - Credentials appear in no `Debug` output, no error and no log.
//! - Tokens, certificates and keys in files are read again about every minute, and once after a 401 or a failed
//!   handshake. The last good ones stay in use while a file cannot be read. Running watches go on.
//! - No program of a kubeconfig is run unless [`ClientBuilder::exec`] allows it.
//! - Nothing is installed for the whole process: no TLS provider, no logger.
//! - No response is read without a limit on its size, nor an error without a limit on its time.
//!
//! # Connections
//!
//! Each running watch has a connection of its own (HTTP/1.1). [`HttpVersion::Http2`] makes it one for each 64: an API
//! server allows 100 streams on one HTTP/2 connection, and the HTTP library would let the next one wait for ever. It was
//! the slower of the two where it was measured, and saves connections.
//!
//! Proxies: the configuration's `proxy-url`, else `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` of the environment. An API
//! server on this machine is never reached through the environment's proxy.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `ring` (default) | cryptography that needs no further tool to build |
//! | `aws-lc-rs` | the other cryptography; counts before `ring` |
//! | `tower` | `Client::from_service`: requests over any tower service, as kube's client |
//! | `k8s-openapi` | types of the `k8s-openapi` crate have their resource |

mod api;
mod body;
mod builder;
mod client;
mod credentials;
mod dial;
mod discovery;
mod error;
mod field_validation;
mod gate;
mod gzip;
mod path;
mod request;
mod response;
mod tls;
mod transport;
mod user_agent;
mod warning;
mod write_log;

pub use api::Api;
pub use body::Body;
pub use builder::ClientBuilder;
pub use client::Client;
pub use discovery::Discovery;
pub use error::{BuildError, Error};
pub use field_validation::FieldValidation;
pub use gate::Gate;
pub use request::RequestBuilder;
pub use response::Response;
pub use transport::HttpVersion;
pub use write_log::{Write, WriteLog};

// Part of our interface, so that users need not depend on them.
pub use bytes;
pub use http;
pub use informer_kubeconfig::{
    AuthInfo, Cluster, Config, ConfigError, ConfigLoader, ExecError, ExecPolicy,
};
pub use informer_wire::{DeleteOptions, Deleted, Patch, Preconditions, Propagation, Status};
pub use rustls::crypto::CryptoProvider;
