//! Connections made of one reading of certificates.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::material::Material;
use super::recipe::{HttpVersion, MAX_STREAMS, Recipe};
use crate::error::BuildError;

/// Connections that share their certificates. With HTTP/1.1 it is one pool, in which each running request has a
/// connection of its own. With HTTP/2 it is one connection for each [`MAX_STREAMS`] running requests.
pub(crate) struct Lanes {
    pub(crate) material: Material,
    tls: rustls::ClientConfig,
    open: Mutex<Vec<Lane>>,
}

/// Whose connections are used: those that all share, or those of one client and its clones.
#[derive(Clone, Default)]
pub(crate) struct Pool(Option<Arc<()>>);

impl Pool {
    /// Connections that nobody else uses.
    pub(crate) fn new() -> Self {
        Self(Some(Arc::new(())))
    }
}

struct Lane {
    http: reqwest::Client,
    /// Whose it is; `None` if it is everybody's.
    owner: Option<Weak<()>>,
    /// The number of its running requests.
    running: Arc<AtomicUsize>,
}

/// A place in a lane. It is free again when this is dropped.
pub(crate) struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Lanes {
    /// Makes the TLS configuration and the first lane, so that errors are found now.
    pub(super) fn new(recipe: &Recipe, material: Material) -> Result<Self, BuildError> {
        let tls = recipe.tls(&material)?;
        let first = Lane::new(recipe, &tls, &Pool::default())?;
        Ok(Self {
            material,
            tls,
            open: Mutex::new(vec![first]),
        })
    }

    /// Returns a lane with room for one more request. The first ones are filled first, so that the last ones fall idle
    /// and close.
    pub(super) fn place(
        &self,
        recipe: &Recipe,
        pool: &Pool,
    ) -> Result<(reqwest::Client, Place), BuildError> {
        let mut open = self.open.lock();
        let limit = match recipe.version {
            HttpVersion::Http1 => usize::MAX,
            HttpVersion::Http2 => MAX_STREAMS,
        };
        if let Some(lane) = open
            .iter()
            .find(|lane| lane.is_of(pool) && lane.is_below(limit))
        {
            return Ok(lane.take());
        }
        // Those of clients that are dropped serve nobody.
        open.retain(|lane| {
            lane.owner
                .as_ref()
                .is_none_or(|owner| owner.strong_count() > 0)
        });
        let lane = Lane::new(recipe, &self.tls, pool)?;
        let place = lane.take();
        open.push(lane);
        Ok(place)
    }
}

impl Lane {
    fn new(recipe: &Recipe, tls: &rustls::ClientConfig, pool: &Pool) -> Result<Self, BuildError> {
        Ok(Self {
            http: recipe.http(tls.clone())?,
            owner: pool.0.as_ref().map(Arc::downgrade),
            running: Arc::default(),
        })
    }

    fn is_of(&self, pool: &Pool) -> bool {
        match (&self.owner, &pool.0) {
            (None, None) => true,
            (Some(owner), Some(pool)) => std::ptr::eq(owner.as_ptr(), Arc::as_ptr(pool)),
            _ => false,
        }
    }

    /// Places are taken under a lock, so the number only ever shrinks beside it.
    fn is_below(&self, limit: usize) -> bool {
        self.running.load(Ordering::Relaxed) < limit
    }

    fn take(&self) -> (reqwest::Client, Place) {
        self.running.fetch_add(1, Ordering::Relaxed);
        (self.http.clone(), Place(Arc::clone(&self.running)))
    }
}
