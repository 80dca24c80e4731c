//! Requests all resources of a server: in two requests, or one for each group and version of older servers.

use bytes::Bytes;
use http::Method;
use serde::de::DeserializeOwned;

use super::Discovery;
use super::documents::{Aggregated, Groups, ResourceList, Versions};
use crate::api::decode;
use crate::client::Client;
use crate::error::Error;

/// The most bytes of a response of discovery.
const MAX_DISCOVERY_BYTES: usize = 32 << 20;

/// All at once if the server can (since 1.26, in this version since 1.30), else one by one.
const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                      application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
                      application/json";

/// Requests all resources.
pub(super) async fn discover(client: &Client) -> Result<Discovery, Error> {
    let mut found = Discovery::default();
    for root in ["/api", "/apis"] {
        let Some(document) = ask(client, root).await? else {
            continue;
        };
        if document.is_aggregated {
            found.add_aggregated(document.read()?);
        } else if root == "/api" {
            let versions: Versions = document.read()?;
            for version in versions.versions {
                found.add_version(client, "", &version).await?;
            }
        } else {
            found.add_groups(client, document.read()?).await?;
        }
    }
    Ok(found)
}

impl Discovery {
    fn add_aggregated(&mut self, document: Aggregated) {
        for group in document.items {
            let name = group.metadata.name;
            for version in group.versions {
                if version.freshness == "Stale" {
                    self.set_unavailable(&name, &version.version);
                }
                for resource in version.resources {
                    self.add(&name, &version.version, resource.into());
                }
            }
        }
    }

    async fn add_groups(&mut self, client: &Client, document: Groups) -> Result<(), Error> {
        for group in document.groups {
            let preferred = group.preferred_version.version;
            let versions = group.versions.into_iter().map(|version| version.version);
            let (first, others): (Vec<_>, Vec<_>) =
                versions.partition(|version| *version == preferred);
            for version in first.into_iter().chain(others) {
                self.add_version(client, &group.name, &version).await?;
            }
        }
        Ok(())
    }

    async fn add_version(
        &mut self,
        client: &Client,
        group: &str,
        version: &str,
    ) -> Result<(), Error> {
        if !is_name(version) || !(group.is_empty() || is_name(group)) {
            return Ok(());
        }
        let path = if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        };
        match ask(client, &path).await {
            Ok(Some(document)) => {
                for served in document.read::<ResourceList>()?.resources {
                    self.add(group, version, served);
                }
            }
            Ok(None) => {}
            // One group whose server is down must not hide the others.
            Err(error) if error.status().is_some_and(|status| status.code >= 500) => {
                self.set_unavailable(group, version);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn set_unavailable(&mut self, group: &str, version: &str) {
        let place = if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        };
        tracing::warn!(
            group = place,
            "cannot discover the resources of a group; the server behind it is down"
        );
        self.unavailable.push(place);
    }
}

/// One document of discovery.
struct Document {
    is_aggregated: bool,
    body: Bytes,
}

impl Document {
    fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        decode(&self.body)
    }
}

/// Reads one document; `None` if the server has none there.
async fn ask(client: &Client, path: &str) -> Result<Option<Document>, Error> {
    let limit = client.inner.request_timeout;
    let whole = async {
        let request = client.request(Method::GET, path).accept(ACCEPT);
        let answer = request.send().await?.error_for_status().await?;
        let is_aggregated = answer
            .content_type()
            .is_some_and(|text| text.contains("as=APIGroupDiscoveryList"));
        let body = answer.bytes(MAX_DISCOVERY_BYTES).await?;
        Ok::<_, Error>(Some(Document {
            is_aggregated,
            body,
        }))
    };
    match tokio::time::timeout(limit, whole).await {
        Ok(Err(error)) if error.is_not_found() => Ok(None),
        Ok(result) => result,
        Err(_) => Err(Error::timeout("response", limit)),
    }
}

/// Returns `true` if a text can be a group or a version.
fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    !text.is_empty() && !text.starts_with('.') && !text.contains("..") && text.bytes().all(plain)
}
