//! A small object for tests.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use informer_store::{Object, ObjectMetadata, OwnerReference, ResourceVersion, Uid};

/// An object with metadata and one field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thing {
    pub meta: Meta,
    /// For index functions to read.
    pub words: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    pub name: String,
    pub namespace: String,
    pub uid: Option<String>,
    pub version: Option<String>,
    pub labels: BTreeMap<String, String>,
}

impl Thing {
    /// A thing of a key `namespace/name`.
    pub fn new(key: &str) -> Self {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let meta = Meta {
            name: name.into(),
            namespace: namespace.into(),
            ..Meta::default()
        };
        Self {
            meta,
            words: Vec::new(),
        }
    }

    pub fn uid(mut self, uid: &str) -> Self {
        self.meta.uid = Some(uid.into());
        self
    }

    pub fn version(mut self, version: impl ToString) -> Self {
        self.meta.version = Some(version.to_string());
        self
    }

    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.meta.labels.insert(key.into(), value.into());
        self
    }

    pub fn words<W: ToString>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.words = words.into_iter().map(|word| word.to_string()).collect();
        self
    }
}

impl Object for Thing {
    type Metadata = Meta;

    fn metadata(&self) -> &Meta {
        &self.meta
    }
}

impl ObjectMetadata for Meta {
    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }
    fn namespace(&self) -> Option<&str> {
        Some(&self.namespace)
    }
    fn uid(&self) -> Option<Uid> {
        self.uid.as_deref().map(Uid::new)
    }
    fn resource_version(&self) -> Option<ResourceVersion> {
        self.version.as_deref().map(ResourceVersion::new)
    }
    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }
    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }
    fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        std::iter::empty()
    }

    fn generation(&self) -> Option<i64> {
        None
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    fn is_being_deleted(&self) -> bool {
        false
    }
    fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }
}

/// Drives a future on this thread. It is looked at again only once it was woken, so that a wake-up that is lost is
/// seen: after a time no sound run would take, this panics.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread, AtomicBool);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.1.store(true, Ordering::SeqCst);
            self.0.unpark();
        }
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    let unpark = Arc::new(Unpark(std::thread::current(), AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&unpark));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        while !unpark.1.swap(false, Ordering::SeqCst) {
            assert!(Instant::now() < deadline, "a future is not woken");
            std::thread::park_timeout(Duration::from_secs(1));
        }
    }
}

/// Looks once whether a future is ready.
pub fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// A waker that remembers whether it was called.
#[derive(Default)]
pub struct Woken(AtomicBool);

impl Woken {
    pub fn is_woken(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}
