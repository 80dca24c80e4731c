//! What a seed is about. Each has only some kinds of trouble, so that none drowns the others.

use std::time::Duration;

use fastrand::Rng;
use informer_delta_fifo::Order;
use informer_reflector::{FirstList, ListMode, ReflectorConfig};
use informer_shared::RecreatedAs;

use crate::row::Row;

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
    pub(crate) undecodable: bool,
    /// Handlers and a queue, or a reflector that feeds a store alone.
    pub(crate) shared: bool,
    /// Where not shared: one handler in the loop, which holds up the queue, or none.
    pub(crate) single: bool,
    pub(crate) selector: bool,
    pub(crate) recreated_as_update: bool,
    pub(crate) resync: Option<Duration>,
    pub(crate) list_mode: ListMode,
    pub(crate) first_list: FirstList,
    pub(crate) page_size: u32,
    pub(crate) page_relists: bool,
    pub(crate) max_deltas: Option<usize>,
    pub(crate) order: Order,
    /// How long handlers have when the informer stops; `None` where what waits is dropped.
    pub(crate) drain: Option<Duration>,
}

impl Plan {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let one_in = |rng: &mut Rng, n: u32| rng.u32(0..n) == 0;
        let mut rows: Vec<Row> = Row::ALL.to_vec();
        rng.shuffle(&mut rows);
        rows.truncate(rng.usize(0..=8));
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
            rewinds: one_in(rng, 6),
            undecodable: one_in(rng, 3),
            shared: !one_in(rng, 4),
            selector: one_in(rng, 3),
            recreated_as_update: one_in(rng, 3),
            resync: one_in(rng, 3).then(|| Duration::from_secs(rng.u64(15..400))),
            list_mode: [ListMode::Auto, ListMode::List, ListMode::Stream][rng.usize(0..3)],
            first_list: [FirstList::Consistent, FirstList::Any][rng.usize(0..2)],
            page_size: [0, 1, 2, 5, 500][rng.usize(0..5)],
            page_relists: one_in(rng, 3),
            max_deltas: [Some(2), Some(8), None][rng.usize(0..3)],
            single: one_in(rng, 2),
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
            .first_list(self.first_list)
            .page_size(self.page_size)
            .page_relists(self.page_relists)
            .seed(seed);
        if self.selector {
            config = config.label_selector("shown=yes");
        }
        if let Some(period) = self.resync {
            config = config.resync_period(period);
        }
        config
    }
}

/// In which order the queue of an informer hands out what it holds.
pub(crate) fn draw_order(rng: &mut Rng) -> Order {
    match rng.u8(0..3) {
        0 => Order::InOrder,
        _ => Order::ByKey,
    }
}
