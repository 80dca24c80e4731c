//! Discovery: which resources a server has. Small: one resource at a time, nothing is kept.

use std::borrow::Cow;

use http::Method;
use informer_wire::{Resource, Scope};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::api::decode;
use crate::client::Client;
use crate::error::Error;

/// The largest answer of discovery, in bytes.
const MAX_DISCOVERY_BYTES: usize = 32 << 20;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ResourceList {
    group_version: String,
    resources: Option<Vec<Served>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Served {
    name: String,
    singular_name: String,
    namespaced: bool,
    kind: String,
    short_names: Option<Vec<String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Versions {
    versions: Option<Vec<String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Groups {
    groups: Option<Vec<Group>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Group {
    name: String,
    versions: Vec<GroupVersion>,
    preferred_version: GroupVersion,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct GroupVersion {
    version: String,
}

impl Client {
    /// Asks the server for the resource that a person names: `pods`, `po`, `pod`, `deployments.apps`, `v1/pods`,
    /// `apps/v1/deployments`. Without a version it is the one that the server prefers; without a group the first one
    /// that has the name, the core group before others.
    ///
    /// ```no_run
    /// # async fn example(client: informer_client::Client) -> Result<(), informer_client::Error> {
    /// let widgets = client.find_resource("widgets.example.org").await?;
    /// assert_eq!(widgets.kind, "Widget");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownResource`] when the server has none of this name; others when it cannot be asked, also when only
    /// a group cannot that might have it.
    pub async fn find_resource(&self, name: &str) -> Result<Resource, Error> {
        let unknown = || Error::UnknownResource {
            name: name.to_owned(),
        };
        let found = match name.split('/').collect::<Vec<_>>()[..] {
            [name] => self.find_unversioned(name).await?,
            [version, name] => self.find_in("", version, name).await?,
            [group, version, name] => self.find_in(group, version, name).await?,
            _ => None,
        };
        found.ok_or_else(unknown)
    }

    async fn find_unversioned(&self, name: &str) -> Result<Option<Resource>, Error> {
        let (name, group) = match name.split_once('.') {
            Some((name, group)) => (name, Some(group)),
            None => (name, None),
        };
        if group.is_none() {
            let core: Option<Versions> = self.discover("/api").await?;
            for version in core.unwrap_or_default().versions.unwrap_or_default() {
                if let Some(found) = self.find_in("", &version, name).await? {
                    return Ok(Some(found));
                }
            }
        }
        let mut down = None;
        let groups: Option<Groups> = self.discover("/apis").await?;
        for candidate in groups.unwrap_or_default().groups.unwrap_or_default() {
            if group.is_some_and(|group| group != candidate.name) {
                continue;
            }
            let preferred = candidate.preferred_version.version;
            let others = candidate
                .versions
                .into_iter()
                .map(|version| version.version);
            let others = others
                .filter(|version| *version != preferred)
                .collect::<Vec<_>>();
            for version in std::iter::once(preferred.clone()).chain(others) {
                // One group whose server is down must not hide the others.
                match self.find_in(&candidate.name, &version, name).await {
                    Ok(Some(found)) => return Ok(Some(found)),
                    Ok(None) => {}
                    Err(error) if error.status().is_some_and(|status| status.code >= 500) => {
                        tracing::warn!(group = candidate.name, %error, "a group of the API cannot be asked for its resources");
                        down.get_or_insert(error);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        down.map_or(Ok(None), Err)
    }

    /// The resource of this name in one group and version, if there is one.
    async fn find_in(
        &self,
        group: &str,
        version: &str,
        name: &str,
    ) -> Result<Option<Resource>, Error> {
        if !is_name(version) || !(group.is_empty() || is_name(group)) {
            return Ok(None);
        }
        let path = if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        };
        let Some(list) = self.discover::<ResourceList>(&path).await? else {
            return Ok(None);
        };
        let served = list.resources.unwrap_or_default();
        let best = best(&served, name).map(|served| {
            let scope = if served.namespaced {
                Scope::Namespaced
            } else {
                Scope::Cluster
            };
            let own = |text: &str| Cow::Owned(text.to_owned());
            Resource::new(
                own(group),
                own(version),
                own(&served.kind),
                own(&served.name),
                scope,
            )
        });
        Ok(best)
    }

    /// Reads one document of discovery; `None` if the server has none there.
    async fn discover<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Error> {
        let limit = self.inner.request_timeout;
        let request = self.request(Method::GET, path).accept("application/json");
        let whole = async {
            let answer = request.send().await?.error_for_status().await?;
            decode(&answer.bytes(MAX_DISCOVERY_BYTES).await?).map(Some)
        };
        match tokio::time::timeout(limit, whole).await {
            Ok(Err(error)) if error.is_not_found() => Ok(None),
            Ok(result) => result,
            Err(_) => Err(Error::timeout("answer", limit)),
        }
    }
}

/// The resource that a name means: by plural, then singular or kind, then short name.
fn best<'a>(served: &'a [Served], name: &str) -> Option<&'a Served> {
    let whole = || served.iter().filter(|served| !served.name.contains('/'));
    whole()
        .find(|served| served.name == name)
        .or_else(|| {
            whole().find(|served| {
                served.singular_name == name || served.kind.eq_ignore_ascii_case(name)
            })
        })
        .or_else(|| {
            whole().find(|served| {
                served
                    .short_names
                    .iter()
                    .flatten()
                    .any(|short| short == name)
            })
        })
}

/// Whether a text can be a group or a version.
fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    !text.is_empty() && !text.starts_with('.') && !text.contains("..") && text.bytes().all(plain)
}
