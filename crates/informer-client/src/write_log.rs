//! What an `Api` wrote, for whoever waits until a cache has it.

use informer_wire::Resource;
use serde::Deserialize;

/// Receives each write of a [client](crate::Client::with_write_log)'s [`Api`](crate::Api)s that the server confirmed.
///
/// Creates, replaces, patches, deletes and those of subresources, once the response has been received; no dry run, nothing
/// that was refused, and no response without the resource version of an object, such as that of an eviction. A write without
/// a response may have happened, and is not in it. Nor is what was sent by [`Client::request`](crate::Client::request).
///
/// ```no_run
/// use informer_client::{Api, Client, Write};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// # async fn example(client: Client, map: ConfigMap) -> Result<(), informer_client::Error> {
/// let client = client.with_write_log(|write: Write| println!("{} at {:?}", write.name, write.resource_version));
/// Api::<ConfigMap>::namespaced(client, "shop").create(&map).await?;
/// # Ok(()) }
/// ```
pub trait WriteLog: Send + Sync + 'static {
    /// Receives a write, before the call that made it returns: keep it short.
    fn wrote(&self, write: Write);
}

impl<F: Fn(Write) + Send + Sync + 'static> WriteLog for F {
    fn wrote(&self, write: Write) {
        self(write);
    }
}

/// A write that the server confirmed: which object, and its version after it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Write {
    /// The object's resource.
    pub resource: Resource,
    /// The object's namespace.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
    /// The object's UID.
    pub uid: Option<String>,
    /// The object's resource version after the write. After a deletion that of the deletion, as far as the server sends it:
    /// some kinds and servers send the last one of the object, others none.
    pub resource_version: Option<String>,
    /// Whether the object does not exist any more. `false` for one that is being deleted, and waits for its finalizers or
    /// the end of its grace period.
    pub is_deleted: bool,
}

/// The members of a response to a write that matter here.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Answer {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<Metadata>,
    details: Option<Details>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    deletion_timestamp: Option<String>,
    deletion_grace_period_seconds: Option<i64>,
    finalizers: Option<Vec<String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Details {
    uid: Option<String>,
}

impl Write {
    /// Reads what a response says of a write to an object of this resource: by its name, or of a create.
    pub(crate) fn of_response(
        resource: &Resource,
        namespace: Option<&str>,
        name: Option<&str>,
        is_delete: bool,
        body: &[u8],
    ) -> Option<Self> {
        let answer: Answer = serde_json::from_slice(body).ok()?;
        let meta = answer.metadata.unwrap_or_default();
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        let is_status =
            answer.kind.as_deref() == Some("Status") && answer.api_version.as_deref() == Some("v1");
        if is_status {
            let name = name.filter(|_| is_delete)?;
            return Some(Self {
                resource: resource.clone(),
                namespace: namespace.map(str::to_owned),
                name: name.to_owned(),
                uid: filled(answer.details.unwrap_or_default().uid),
                resource_version: filled(meta.resource_version),
                is_deleted: true,
            });
        }
        let is_deleted = meta.is_deleted(resource, is_delete);
        // Not every response is an object that is stored: a token, a review.
        let resource_version = Some(filled(meta.resource_version)?);
        Some(Self {
            resource: resource.clone(),
            namespace: filled(meta.namespace).or_else(|| namespace.map(str::to_owned)),
            name: filled(meta.name)?,
            uid: filled(meta.uid),
            resource_version,
            is_deleted,
        })
    }
}

impl Metadata {
    /// Returns `true` if a server does not keep this object: it was deleted at once, or this write removed what kept it.
    fn is_deleted(&self, resource: &Resource, is_delete: bool) -> bool {
        if self.deletion_timestamp.is_none() {
            return is_delete;
        }
        // Namespaces have finalizers of their own, in their spec, and are emptied first.
        let is_namespace = resource.group.is_empty() && resource.plural == "namespaces";
        let is_kept = self.finalizers.as_ref().is_some_and(|all| !all.is_empty())
            || self.deletion_grace_period_seconds.unwrap_or(0) > 0;
        !is_kept && !is_namespace
    }
}
