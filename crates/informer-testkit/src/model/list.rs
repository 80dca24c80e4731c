//! Lists: the revision that a request means, paging over a snapshot, and the errors of revisions that are too old or
//! too new.

use std::sync::Arc;

use informer_wire::Status;

use super::cluster::Cluster;
use super::collection::Scope;
use super::custom;
use super::object::StoredObject;
use super::options::ListOptions;
use super::replica::ReplicaView;
use super::token::ContinueToken;
use crate::resource::ResourceType;
use crate::selector::Selection;
use crate::status;

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The revision of this state: the list's `metadata.resourceVersion`.
    pub revision: u64,
    /// The objects in the order of their keys.
    pub items: Vec<Arc<StoredObject>>,
    /// The token of the next page; empty on the last one.
    pub continue_token: String,
    /// The number of objects behind this page; only known without a selector.
    pub remaining: Option<u64>,
}

/// The start of a page, in time and in the order of keys.
struct Plan {
    revision: u64,
    from: String,
    limit: usize,
}

const TOKEN_TOO_OLD: &str = "The provided continue parameter is too old to display a consistent \
    list result. You can start a new list without the continue parameter, or use the continue \
    token in this response to retrieve the remainder of the results. Continuing with the provided \
    token results in an inconsistent list - objects that were created, modified, or deleted \
    between the time the first chunk was returned and now may show up in the list.";

impl Cluster {
    /// Lists a namespace, or everything when `namespace` is empty.
    ///
    /// # Errors
    /// Those of a real server: 400 and 422 for parameters that make no sense, 410 for revisions that are
    /// too old, 504 for a revision that has not been reached.
    pub fn list(
        &self,
        resource: &ResourceType,
        namespace: &str,
        options: &ListOptions,
    ) -> Result<Page, Status> {
        self.list_seen(ReplicaView::newest(), resource, namespace, options)
    }

    /// Lists as [`Self::list`], from a replica that may be behind.
    ///
    /// # Errors
    /// As [`Self::list`]; a revision that the replica has not seen is one that lies ahead.
    pub fn list_seen(
        &self,
        view: ReplicaView,
        resource: &ResourceType,
        namespace: &str,
        options: &ListOptions,
    ) -> Result<Page, Status> {
        options.check_list()?;
        let selection =
            Selection::parse(resource, &options.label_selector, &options.field_selector)?;
        let collection = self.collection(resource)?;
        let scope = Scope::new(namespace);
        let plan = self.plan(view, resource, &scope, options)?;
        let mut items = collection.at(plan.revision, &scope, &plan.from);
        custom::view_all(resource, &mut items);
        let mut remaining = select(&mut items, &selection, plan.limit);
        if selection.fields.is_of_one_name() && !(resource.namespaced && namespace.is_empty()) {
            // A real server reads that one object, so nothing can follow.
            remaining = 0;
        }
        let continue_token = match items.last() {
            Some(last) if remaining > 0 => {
                ContinueToken::after(plan.revision, scope.relative(last.key())).encode()
            }
            _ => String::new(),
        };
        let countable = remaining > 0 && selection.is_empty();
        Ok(Page {
            revision: plan.revision,
            items,
            continue_token,
            remaining: countable.then_some(remaining as u64),
        })
    }

    fn plan(
        &self,
        view: ReplicaView,
        resource: &ResourceType,
        scope: &Scope,
        options: &ListOptions,
    ) -> Result<Plan, Status> {
        let limit = match usize::try_from(options.limit) {
            Ok(0) | Err(_) => usize::MAX,
            Ok(limit) => limit,
        };
        if !options.continue_token.is_empty() {
            if !matches!(options.resource_version.as_str(), "" | "0") {
                return Err(status::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            return self.plan_next_page(resource, scope, &options.continue_token, limit);
        }
        let asked = options
            .revision()
            .map_err(|why| status::bad_request(format!("invalid resource version: {why}")))?;
        let from = String::new();
        match asked {
            None => Ok(Plan {
                revision: self.revision(),
                from,
                limit,
            }),
            Some(0) => {
                // The watch cache answers in one piece.
                let limit = if resource.has_watch_cache() {
                    usize::MAX
                } else {
                    limit
                };
                Ok(Plan {
                    revision: view.revision(self.revision()),
                    from,
                    limit,
                })
            }
            Some(asked) => {
                let wanted = options.resource_version_match.as_str();
                // A limit without a match has always meant "exactly".
                let exact = wanted == "Exact" || (wanted.is_empty() && options.limit > 0);
                let revision = if exact {
                    self.exactly(resource, asked)?
                } else {
                    self.not_older_than(view, asked)?
                };
                Ok(Plan {
                    revision,
                    from,
                    limit,
                })
            }
        }
    }

    fn plan_next_page(
        &self,
        resource: &ResourceType,
        scope: &Scope,
        token: &str,
        limit: usize,
    ) -> Result<Plan, Status> {
        let token = ContinueToken::decode(token)?;
        let from = scope.absolute(&token.start);
        let Some(revision) = token.revision else {
            return Ok(Plan {
                revision: self.revision(),
                from,
                limit,
            });
        };
        if revision > self.revision() {
            return Err(status::too_large(revision, self.revision(), 0));
        }
        if revision < self.collection(resource)?.history().floor() {
            let inconsistent = ContinueToken {
                revision: None,
                ..token
            };
            let mut expired = status::expired(TOKEN_TOO_OLD);
            expired.metadata.continue_token = Some(inconsistent.encode().into());
            return Err(expired);
        }
        Ok(Plan {
            revision,
            from,
            limit,
        })
    }

    fn exactly(&self, resource: &ResourceType, asked: u64) -> Result<u64, Status> {
        if asked > self.revision() {
            return Err(status::too_large(asked, self.revision(), 0));
        }
        if asked < self.collection(resource)?.history().floor() {
            return Err(status::expired(
                "The resourceVersion for the provided list is too old.",
            ));
        }
        Ok(asked)
    }

    pub(super) fn not_older_than(&self, view: ReplicaView, asked: u64) -> Result<u64, Status> {
        let seen = view.revision(self.revision());
        if asked > seen {
            return Err(status::too_large(asked, seen, 1));
        }
        Ok(seen)
    }
}

/// Keeps the first selected objects, as many as a page has, and returns how many objects follow the last of them. They
/// count whether they are selected or not: as on a real server, only the next page tells.
fn select(items: &mut Vec<Arc<StoredObject>>, selection: &Selection, limit: usize) -> usize {
    if selection.is_empty() {
        let remaining = items.len().saturating_sub(limit);
        items.truncate(limit);
        return remaining;
    }
    let (mut page, mut rest) = (Vec::new(), items.drain(..));
    while page.len() < limit
        && let Some(object) = rest.next()
    {
        if selection.matches(&object) {
            page.push(object);
        }
    }
    let remaining = rest.len();
    drop(rest);
    *items = page;
    remaining
}
