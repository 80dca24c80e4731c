//! Listers: the reading side of a store, as controllers use it.

use std::sync::Arc;

use crate::index::NAMESPACE_INDEX;
use crate::key::{KeyLike, ObjectKey};
use crate::object::Object;
use crate::root::Slot;
use crate::selector::Selector;
use crate::snapshot::Snapshot;
use crate::store::Store;

/// Reads the objects of one resource from a store.
///
/// ```
/// use informer_store::{LabelSelector, Lister, Store};
/// use k8s_openapi::api::core::v1::Pod;
///
/// let store: Store<Pod> = Store::new();
/// store.add_namespace_index()?;
/// let pods = Lister::new(store, "pods");
///
/// let web: LabelSelector = "app=web".parse()?;
/// assert!(pods.list(&web).is_empty());
/// assert!(pods.namespaced("shop").list(&LabelSelector::everything()).is_empty());
/// let error = pods.namespaced("shop").get("cart-1").unwrap_err();
/// assert_eq!(error.to_string(), "pods \"cart-1\" not found in namespace \"shop\" of the cache");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "GenericLister")]
#[doc(alias = "ResourceIndexer")]
#[derive(Debug)]
pub struct Lister<K: Object> {
    store: Store<K>,
    resource: Arc<str>,
}

impl<K: Object> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            resource: Arc::clone(&self.resource),
        }
    }
}

/// An object that a lister does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{resource} {name:?} not found in {}the cache",
    .namespace.as_ref().map(|n| format!("namespace {n:?} of ")).unwrap_or_default())]
pub struct NotFound {
    resource: Arc<str>,
    namespace: Option<String>,
    name: String,
}

impl NotFound {
    /// The resource, as `pods`.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// The namespace that was looked in.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The name that was looked for.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<K: Object> Lister<K> {
    /// A lister over a store. The resource, as `pods`, is for error messages.
    #[must_use]
    pub fn new(store: Store<K>, resource: &str) -> Self {
        Self {
            store,
            resource: Arc::from(resource),
        }
    }

    /// The store that is read.
    #[must_use]
    pub const fn store(&self) -> &Store<K> {
        &self.store
    }

    /// The objects that a selector chooses, in all namespaces.
    #[must_use]
    #[doc(alias = "ListAll")]
    pub fn list<S: Selector>(&self, selector: &S) -> Vec<Arc<K>> {
        self.store.snapshot().select(selector).cloned().collect()
    }

    /// The object of a key: its name if the resource has no namespaces, or `namespace/name`.
    ///
    /// # Errors
    /// When there is none.
    pub fn get<Q: KeyLike + ?Sized>(&self, key: &Q) -> Result<Arc<K>, NotFound> {
        self.store.get(key).ok_or_else(|| {
            let text = key.as_text();
            match text.parse::<ObjectKey>() {
                Ok(key) => self.not_found(key.namespace(), key.name()),
                Err(_) => self.not_found(None, text),
            }
        })
    }

    /// The same for one namespace.
    #[must_use]
    pub fn namespaced(&self, namespace: &str) -> NamespaceLister<K> {
        NamespaceLister {
            lister: self.clone(),
            namespace: Box::from(namespace),
        }
    }

    fn not_found(&self, namespace: Option<&str>, name: &str) -> NotFound {
        NotFound {
            resource: Arc::clone(&self.resource),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }
}

/// Reads the objects of one resource and one namespace from a store. The empty namespace stands for all.
#[doc(alias = "GenericNamespaceLister")]
#[derive(Debug)]
pub struct NamespaceLister<K: Object> {
    lister: Lister<K>,
    namespace: Box<str>,
}

impl<K: Object> Clone for NamespaceLister<K> {
    fn clone(&self) -> Self {
        Self {
            lister: self.lister.clone(),
            namespace: self.namespace.clone(),
        }
    }
}

impl<K: Object> NamespaceLister<K> {
    /// The namespace that is read.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The objects of the namespace that a selector chooses. Uses the index by namespace if the store has it, and
    /// looks at every object if not.
    #[must_use]
    #[doc(alias = "ListAllByNamespace")]
    pub fn list<S: Selector>(&self, selector: &S) -> Vec<Arc<K>> {
        self.lister
            .store
            .snapshot()
            .list_namespace(&self.namespace, selector)
    }

    /// The object of this name in the namespace.
    ///
    /// # Errors
    /// When there is none.
    pub fn get(&self, name: &str) -> Result<Arc<K>, NotFound> {
        self.lister
            .store
            .get(&ObjectKey::namespaced(&self.namespace, name))
            .ok_or_else(|| {
                let namespace = Some(&*self.namespace).filter(|n| !n.is_empty());
                self.lister.not_found(namespace, name)
            })
    }
}

impl<K: Object> Snapshot<K> {
    /// The objects that a selector chooses, by reference. Looks at each object, unless the selector chooses everything
    /// or nothing.
    pub fn select<'a, S: Selector>(
        &'a self,
        selector: &'a S,
    ) -> impl Iterator<Item = &'a Arc<K>> + use<'a, K, S> {
        let limit = if selector.is_nothing() { 0 } else { self.len() };
        let chosen = |slot: &&Slot<K>| slot.is_chosen(selector);
        self.root()
            .slots()
            .take(limit)
            .filter(chosen)
            .map(|slot| &slot.object)
    }

    /// The objects of a namespace that a selector chooses. The empty namespace stands for all.
    #[must_use]
    pub fn list_namespace<S: Selector>(&self, namespace: &str, selector: &S) -> Vec<Arc<K>> {
        if namespace.is_empty() || selector.is_nothing() {
            return self.select(selector).cloned().collect();
        }
        match self.visit_index(NAMESPACE_INDEX, namespace) {
            Ok(objects) => objects.select(selector).cloned().collect(),
            Err(_) => {
                let inside = |object: &&Arc<K>| object.namespace() == Some(namespace);
                self.select(selector).filter(inside).cloned().collect()
            }
        }
    }
}
