//! Connections made of one reading of certificates.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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

struct Lane {
    http: reqwest::Client,
    /// How many requests run in it.
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
    /// Makes the TLS configuration and the first lane, so that what cannot work is found now.
    pub(super) fn new(recipe: &Recipe, material: Material) -> Result<Self, BuildError> {
        let tls = recipe.tls(&material)?;
        let first = Lane::new(recipe, &tls)?;
        Ok(Self {
            material,
            tls,
            open: Mutex::new(vec![first]),
        })
    }

    /// A lane with room for one more request. The first ones are filled first, so that the last ones fall idle and
    /// close.
    pub(super) fn place(&self, recipe: &Recipe) -> Result<(reqwest::Client, Place), BuildError> {
        let mut open = self.open.lock();
        let limit = match recipe.version {
            HttpVersion::Http1 => usize::MAX,
            HttpVersion::Http2 => MAX_STREAMS,
        };
        if let Some(lane) = open.iter().find(|lane| lane.is_below(limit)) {
            return Ok(lane.take());
        }
        let lane = Lane::new(recipe, &self.tls)?;
        let place = lane.take();
        open.push(lane);
        Ok(place)
    }
}

impl Lane {
    fn new(recipe: &Recipe, tls: &rustls::ClientConfig) -> Result<Self, BuildError> {
        Ok(Self {
            http: recipe.http(tls.clone())?,
            running: Arc::default(),
        })
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
