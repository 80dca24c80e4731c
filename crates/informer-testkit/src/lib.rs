//! A Kubernetes API server in memory, over real HTTP, for tests of controllers and informers.

mod builder;
mod builtin;
mod encode;
mod fault;
mod http;
mod managed_fields;
pub mod model;
mod patch;
mod request;
mod resource;
mod selector;
mod server;
mod status;
mod table;
mod time;
mod workload;

pub use self::builder::ApiServerBuilder;
pub use self::fault::{Answer, Fault, RequestMatcher};
pub use self::patch::Patch;
pub use self::request::{RequestRecord, Verb};
pub use self::resource::ResourceType;
pub use self::server::{ApiServer, StreamEnd};
pub use self::status::{Status, StatusCause, StatusDetails};
pub use self::workload::{Changes, RunningWorkload, Workload};
