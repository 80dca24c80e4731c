//! Rights that clients lack, as where RBAC does not grant them.

use std::collections::HashSet;

use informer_wire::Status;

use crate::request::{RequestRecord, Verb};
use crate::server::ApiServer;
use crate::status;

/// What is forbidden: verbs on resources, such as `pods` or `pods/status`.
#[derive(Debug, Default)]
pub(crate) struct Rights {
    forbidden: HashSet<(Verb, String)>,
}

impl Rights {
    /// Refuses what is forbidden, with 403.
    pub(crate) fn check(&self, request: &RequestRecord) -> Result<(), Status> {
        if self.forbidden.is_empty() {
            return Ok(());
        }
        let resource = match request.subresource.as_str() {
            "" => request.resource.clone(),
            subresource => format!("{}/{subresource}", request.resource),
        };
        if !self.forbidden.contains(&(request.verb, resource)) {
            return Ok(());
        }
        Err(status::forbidden_request(request))
    }
}

/// Rights.
impl ApiServer {
    /// Forbids a verb on a resource, by its plural, or on a subresource, such as `pods/status`: from now on such requests
    /// are refused with 403, in the words of RBAC. Watches that are open go on, as on a real server.
    ///
    /// The user in the refusal is the client's [name](Self::service_as), or `system:anonymous`. For one client alone use
    /// [`Self::fail`] with [`status::forbidden`].
    ///
    /// ```
    /// use informer_testkit::{ApiServer, Verb};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = ApiServer::start().await?;
    /// server.forbid(Verb::List, "secrets");
    /// // What does the program do without its rights, and once they are granted?
    /// server.allow(Verb::List, "secrets");
    /// # Ok(())
    /// # }
    /// ```
    pub fn forbid(&self, verb: Verb, resource: &str) {
        let shared = self.shared();
        let mut rights = shared.rights.lock();
        rights.forbidden.insert((verb, resource.to_owned()));
    }

    /// Allows again what was [forbidden](Self::forbid).
    pub fn allow(&self, verb: Verb, resource: &str) {
        let shared = self.shared();
        let mut rights = shared.rights.lock();
        rights.forbidden.remove(&(verb, resource.to_owned()));
    }
}
