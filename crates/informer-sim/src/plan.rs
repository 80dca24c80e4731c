//! The configuration of a seed. Each has only some kinds of trouble, so that none drowns the others.

use std::time::Duration;

use fastrand::Rng;
use informer_reflector::{ListMode, ReflectorConfig};
use informer_shared::{QueueOrder, RecreatedAs};

use crate::row::Row;
use crate::versions::VersionKind;

/// The configuration of one run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) steps: u32,
    /// How many names there are.
    pub(crate) names: u32,
    /// The kinds of trouble of this run.
    pub(crate) rows: Vec<Row>,
    /// How many of a thousand requests are hit in stormy times.
    pub(crate) per_mille: u32,
    /// Whether the resource has a watch cache, and with it bookmarks.
    pub(crate) cached: bool,
    pub(crate) streaming: bool,
    pub(crate) bookmark_period: Duration,
    pub(crate) history_limit: usize,
    pub(crate) replicas: usize,
    pub(crate) rewinds: bool,
    pub(crate) versions: VersionKind,
    pub(crate) undecodable: bool,
    /// Handlers and a queue, or a reflector that feeds a store alone.
    pub(crate) shared: bool,
    /// Where not shared: a process loop with a process of its own, or a reflector alone.
    pub(crate) process_loop: bool,
    pub(crate) selector: bool,
    pub(crate) recreated_as_update: bool,
    pub(crate) resync: Option<Duration>,
    pub(crate) list_mode: ListMode,
    pub(crate) first_list_from_cache: bool,
    pub(crate) page_size: u32,
    pub(crate) page_relists: bool,
    pub(crate) max_deltas: Option<usize>,
    pub(crate) order: QueueOrder,
    /// How long handlers have when the informer stops; `None` where queued events are dropped.
    pub(crate) drain: Option<Duration>,
}

impl Plan {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let one_in = |rng: &mut Rng, n: u32| rng.u32(0..n) == 0;
        let mut rows: Vec<Row> = Row::ALL.to_vec();
        rng.shuffle(&mut rows);
        rows.truncate(rng.usize(0..=8));
        let versions = VersionKind::draw(rng);
        Self {
            steps: rng.u32(20..120),
            names: rng.u32(1..16),
            rows,
            per_mille: [50, 200, 500, 900][rng.usize(0..4)],
            cached: !one_in(rng, 6),
            streaming: !one_in(rng, 4),
            bookmark_period: Duration::from_secs([20, 60, 60, 60, 90, 36_000][rng.usize(0..6)]),
            history_limit: [3, 20, 10_000, 10_000][rng.usize(0..4)],
            replicas: [1, 1, 2, 3][rng.usize(0..4)],
            versions,
            rewinds: one_in(rng, 6) && versions.tells_rewinds(),
            // A deletion of another UID counts if it is known to be newer. Where versions cannot be compared and the creation
            // could not be decoded, the former object stays until the next list.
            undecodable: one_in(rng, 3) && versions != VersionKind::Opaque,
            shared: !one_in(rng, 4),
            // Only with a selector, the versions of values differ from others.
            selector: one_in(rng, 3) || versions == VersionKind::OfValues,
            recreated_as_update: one_in(rng, 3),
            resync: one_in(rng, 3).then(|| Duration::from_secs(rng.u64(15..400))),
            list_mode: [ListMode::Auto, ListMode::List, ListMode::Stream][rng.usize(0..3)],
            first_list_from_cache: rng.usize(0..2) == 1,
            page_size: [0, 1, 2, 5, 500][rng.usize(0..5)],
            page_relists: one_in(rng, 3),
            max_deltas: [Some(2), Some(8), None][rng.usize(0..3)],
            process_loop: one_in(rng, 2),
            drain: [None, Some(Duration::from_secs(30))][rng.usize(0..2)],
            order: draw_order(rng),
        }
    }

    pub(crate) fn recreated_as(&self) -> RecreatedAs {
        match self.recreated_as_update {
            true => RecreatedAs::Updated,
            false => RecreatedAs::default(),
        }
    }

    pub(crate) fn reflector_config(&self, seed: u64) -> ReflectorConfig {
        let mut config = ReflectorConfig::default()
            .list_mode(self.list_mode)
            .first_list_from_cache(self.first_list_from_cache)
            .page_size(self.page_size)
            .page_relists(self.page_relists)
            .seed(seed);
        if self.selector {
            config = config.label_selector("shown=yes");
        }
        config
    }
}

/// Draws the order in which the queue of an informer pops changes.
pub(crate) fn draw_order(rng: &mut Rng) -> QueueOrder {
    match rng.u8(0..3) {
        0 => QueueOrder::InOrder,
        _ => QueueOrder::ByKey,
    }
}
