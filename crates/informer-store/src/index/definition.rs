//! The definition of an index: its name, its function, the type of its values.

use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::index::error::IndexError;
use crate::index::ordered::{Order, OrderedValues};
use crate::index::table::{Table, TableOf};
use crate::index::values::{IndexOutcome, IndexValues};
use crate::key::hash_value;
use crate::object::Object;

/// The name of the index by namespace, which [`Store::add_namespace_index`](crate::Store::add_namespace_index) adds.
#[doc(alias = "NamespaceIndex")]
pub const NAMESPACE_INDEX: &str = "namespace";

type Function<K, V> = dyn Fn(&K, &mut IndexValues<'_, V>) -> Option<String> + Send + Sync;

type MakeOrder<V> = fn() -> Box<dyn Order<V>>;

/// Returns what identifies an index in the tags of its values.
pub(crate) fn index_tag(name: &str) -> u32 {
    hash_value(name)
}

/// The name and the function of an index.
pub(crate) struct Definition<K, V: 'static> {
    name: Arc<str>,
    /// The hash of the name.
    tag: u32,
    function: Box<Function<K, V>>,
    /// Makes the order of the values, if they have one.
    order: Option<MakeOrder<V>>,
}

impl<K, V> Definition<K, V> {
    pub(crate) fn new<F, R>(name: &str, function: F) -> Self
    where
        F: Fn(&K, &mut IndexValues<'_, V>) -> R + Send + Sync + 'static,
        R: IndexOutcome,
    {
        Self {
            name: Arc::from(name),
            tag: index_tag(name),
            order: None,
            function: Box::new(move |object, values| function(object, values).failure()),
        }
    }

    fn ordered(self) -> Self
    where
        V: Ord + Send + Sync,
    {
        Self {
            order: Some(|| Box::new(OrderedValues::default())),
            ..self
        }
    }

    pub(super) const fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) const fn tag(&self) -> u32 {
        self.tag
    }

    pub(super) fn order(&self) -> Option<Box<dyn Order<V>>> {
        self.order.map(|make| make())
    }

    /// Runs user code: it may panic.
    pub(super) fn call(&self, object: &K, values: &mut IndexValues<'_, V>) -> Option<String> {
        (self.function)(object, values)
    }
}

/// Makes the table of an index, once for each store it is added to.
trait MakeTable<K>: Send + Sync {
    fn name(&self) -> &Arc<str>;
    fn make(&self) -> Box<dyn Table<K>>;
}

impl<K: Object, V: Hash + Eq + Send + Sync + 'static> MakeTable<K> for Arc<Definition<K, V>> {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn make(&self) -> Box<dyn Table<K>> {
        Box::new(TableOf::new(Self::clone(self)))
    }
}

/// The name of an index and the type of its values, to read it with.
///
/// ```
/// use informer_store::{IndexValues, Store};
/// # use k8s_openapi::api::core::v1::Pod;
/// let store: Store<Pod> = Store::new();
/// let by_priority = store.add_typed_index("priority", |pod: &Pod, values: &mut IndexValues<'_, i32>| {
///     values.extend(pod.spec.as_ref().and_then(|spec| spec.priority.as_ref()));
/// })?;
/// assert!(store.by(&by_priority, &1000)?.is_empty());
/// # Ok::<(), informer_store::IndexError>(())
/// ```
pub struct Index<V: 'static = String> {
    name: Arc<str>,
    values: PhantomData<fn() -> V>,
}

impl<V> Index<V> {
    /// Makes the handle of an index that was, or will be, added with values of this type.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: Arc::from(name),
            values: PhantomData,
        }
    }

    /// Returns the index's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<V> Clone for Index<V> {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            values: PhantomData,
        }
    }
}

impl<V> fmt::Debug for Index<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Index({:?} of {})",
            self.name,
            std::any::type_name::<V>()
        )
    }
}

/// A set of indexes, to be added to one or more stores at once.
///
/// ```
/// use informer_store::{Indexers, IndexValues, Store};
/// # use k8s_openapi::api::core::v1::Pod;
/// let indexers = Indexers::new()
///     .namespace()
///     .index("node", |pod: &Pod, values: &mut IndexValues<'_>| {
///         values.extend(pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()));
///     });
/// let store: Store<Pod> = Store::new();
/// store.add_indexers(&indexers)?;
/// assert_eq!(store.index_names(), ["namespace", "node"]);
/// # Ok::<(), informer_store::IndexError>(())
/// ```
pub struct Indexers<K> {
    definitions: Vec<Arc<dyn MakeTable<K>>>,
}

impl<K> Clone for Indexers<K> {
    fn clone(&self) -> Self {
        Self {
            definitions: self.definitions.clone(),
        }
    }
}

impl<K> Default for Indexers<K> {
    fn default() -> Self {
        Self {
            definitions: Vec::new(),
        }
    }
}

impl<K> fmt::Debug for Indexers<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.definitions.iter().map(|index| index.name()))
            .finish()
    }
}

impl<K: Object> Indexers<K> {
    /// Makes an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an index whose values are texts.
    #[must_use]
    pub fn index<F, R>(self, name: &str, function: F) -> Self
    where
        F: Fn(&K, &mut IndexValues<'_, String>) -> R + Send + Sync + 'static,
        R: IndexOutcome,
    {
        self.typed_index::<String, F, R>(name, function)
    }

    /// Adds an index whose values are of any type that can be hashed.
    #[must_use]
    pub fn typed_index<V, F, R>(mut self, name: &str, function: F) -> Self
    where
        V: Hash + Eq + Send + Sync + 'static,
        F: Fn(&K, &mut IndexValues<'_, V>) -> R + Send + Sync + 'static,
        R: IndexOutcome,
    {
        self.definitions
            .push(Arc::new(Arc::new(Definition::new(name, function))));
        self
    }

    /// Adds an index that also answers for ranges of its values, and of texts for a prefix.
    #[must_use]
    pub fn ordered_index<V, F, R>(mut self, name: &str, function: F) -> Self
    where
        V: Ord + Hash + Send + Sync + 'static,
        F: Fn(&K, &mut IndexValues<'_, V>) -> R + Send + Sync + 'static,
        R: IndexOutcome,
    {
        self.definitions.push(Arc::new(Arc::new(
            Definition::new(name, function).ordered(),
        )));
        self
    }

    /// Adds the index by namespace, which [`Lister`](crate::Lister) uses.
    #[must_use]
    #[doc(alias = "MetaNamespaceIndexFunc")]
    pub fn namespace(self) -> Self {
        self.index(
            NAMESPACE_INDEX,
            |object: &K, values: &mut IndexValues<'_, String>| {
                values.extend(object.namespace());
            },
        )
    }

    /// Returns the names of these indexes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions.iter().map(|index| &**index.name())
    }

    /// Returns the indexes whose names are chosen.
    #[doc(hidden)]
    #[must_use]
    pub fn filtered(&self, is_chosen: impl Fn(&str) -> bool) -> Self {
        let chosen = self
            .definitions
            .iter()
            .filter(|index| is_chosen(index.name()));
        Self {
            definitions: chosen.cloned().collect(),
        }
    }

    /// Makes empty tables of all of them, unless a name is taken or occurs twice.
    pub(crate) fn make(
        &self,
        is_taken: impl Fn(&str) -> bool,
    ) -> Result<Vec<Box<dyn Table<K>>>, IndexError> {
        for (at, name) in self.names().enumerate() {
            if is_taken(name) || self.names().take(at).any(|earlier| earlier == name) {
                return Err(IndexError::Exists {
                    name: name.to_owned(),
                });
            }
        }
        Ok(self.definitions.iter().map(|index| index.make()).collect())
    }
}
