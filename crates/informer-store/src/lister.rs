//! Listers: reads of one resource, as controllers need them.

use std::sync::Arc;

use crate::index::NAMESPACE_INDEX;
use crate::key::{KeyLike, ObjectKey};
use crate::object::Object;
use crate::root::Slot;
use crate::selector::Selector;
use crate::snapshot::Snapshot;
use crate::store::StoreReader;

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
    store: StoreReader<K>,
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
    /// Returns the resource, as `pods`.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// Returns the namespace of the look-up.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns the name of the look-up.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<K: Object> Lister<K> {
    /// Makes a lister of a [`Store`](crate::Store) or its reader. The resource, as `pods`, is for error messages.
    #[must_use]
    pub fn new(store: impl Into<StoreReader<K>>, resource: &str) -> Self {
        Self {
            store: store.into(),
            resource: Arc::from(resource),
        }
    }

    /// Returns the store that is read.
    #[must_use]
    pub const fn store(&self) -> &StoreReader<K> {
        &self.store
    }

    /// Returns the objects that a selector chooses, in all namespaces.
    #[must_use]
    #[doc(alias = "ListAll")]
    pub fn list<S: Selector>(&self, selector: &S) -> Vec<Arc<K>> {
        self.store.snapshot().select(selector).cloned().collect()
    }

    /// Returns the object of a key: its name if the resource has no namespaces, or `namespace/name`.
    ///
    /// # Errors
    /// If there is none.
    pub fn get<Q: KeyLike + ?Sized>(&self, key: &Q) -> Result<Arc<K>, NotFound> {
        self.store.get(key).ok_or_else(|| {
            let text = key.as_text();
            match text.parse::<ObjectKey>() {
                Ok(key) => self.not_found(key.namespace(), key.name()),
                Err(_) => self.not_found(None, text),
            }
        })
    }

    /// Returns a lister of one namespace.
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
    /// Returns the namespace that is read.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the objects of the namespace that a selector chooses. Uses the index by namespace if the store has it,
    /// else it reads every object.
    #[must_use]
    #[doc(alias = "ListAllByNamespace")]
    pub fn list<S: Selector>(&self, selector: &S) -> Vec<Arc<K>> {
        self.lister
            .store
            .snapshot()
            .list_namespace(&self.namespace, selector)
    }

    /// Returns the object of this name in the namespace.
    ///
    /// # Errors
    /// If there is none.
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
    /// Returns the objects that a selector chooses, by reference. Reads each object, unless the selector chooses
    /// everything or nothing.
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

    /// Returns the objects of a namespace that a selector chooses. The empty namespace stands for all.
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
