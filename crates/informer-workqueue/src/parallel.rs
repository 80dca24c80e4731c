//! Bounded fan-out over a known number of pieces of work.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many threads there are at most.
const MAX_THREADS: usize = 1024;

/// Works on numbered pieces with several threads, each piece once.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use informer_workqueue::Parallel;
///
/// let sum = AtomicU64::new(0);
/// let done = Parallel::new(4).chunk_size(10).run(1000, |piece| {
///     sum.fetch_add(piece as u64, Ordering::Relaxed);
/// });
/// assert_eq!((done, sum.into_inner()), (1000, 499_500));
/// ```
#[must_use = "nothing happens before `run`"]
#[doc(alias = "ParallelizeUntil")]
pub struct Parallel<'a> {
    workers: usize,
    chunk_size: usize,
    stop: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl fmt::Debug for Parallel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parallel")
            .field("workers", &self.workers)
            .field("chunk_size", &self.chunk_size)
            .field("stop", &self.stop.is_some())
            .finish()
    }
}

impl<'a> Parallel<'a> {
    /// Works with up to this many threads, the calling one among them: at least one, at most 1,024, and no more than the
    /// system has.
    pub const fn new(workers: usize) -> Self {
        Self {
            workers,
            chunk_size: 1,
            stop: None,
        }
    }

    /// Sets how many pieces a thread takes at a time; the default is 1. More cost less where pieces are small.
    #[doc(alias = "WithChunkSize")]
    pub const fn chunk_size(mut self, pieces: usize) -> Self {
        self.chunk_size = if pieces == 0 { 1 } else { pieces };
        self
    }

    /// Begins no further piece once this returns `true`; it is called before each piece.
    pub fn until(mut self, stop: &'a (dyn Fn() -> bool + Sync)) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Works on the pieces `0..pieces` and waits until all are done, or those begun before the stop. Returns how many were
    /// done.
    ///
    /// # Panics
    /// When `work` panics, once the other threads have ended.
    pub fn run(&self, pieces: usize, work: impl Fn(usize) + Sync) -> usize {
        let chunks = pieces.div_ceil(self.chunk_size);
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let worker = || {
            loop {
                let chunk = next.fetch_add(1, Ordering::Relaxed);
                if chunk >= chunks {
                    return;
                }
                let first = chunk * self.chunk_size;
                for piece in first..pieces.min(first.saturating_add(self.chunk_size)) {
                    if self.stop.is_some_and(|stop| stop()) {
                        return;
                    }
                    work(piece);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.workers.min(chunks).min(MAX_THREADS) {
                if thread::Builder::new().spawn_scoped(scope, worker).is_err() {
                    break;
                }
            }
            worker();
        });
        done.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU8;

    use super::*;

    // PA1
    #[test]
    fn each_piece_is_worked_on_once() {
        for (pieces, workers, chunk_size) in [
            (1000, 10, 1),
            (1000, 10, 10),
            (1000, 10, 100),
            (999, 10, 13),
            (1, 2, 0),
            (0, 2, 1),
            (5, 0, 1),
            (3, 2, usize::MAX),
        ] {
            let seen: Vec<_> = (0..pieces).map(|_| AtomicU8::new(0)).collect();
            let done = Parallel::new(workers)
                .chunk_size(chunk_size)
                .run(pieces, |piece| {
                    seen[piece].fetch_add(1, Ordering::Relaxed);
                });
            assert_eq!(done, pieces);
            assert!(seen.into_iter().all(|seen| seen.into_inner() == 1));
        }
    }

    // PA1
    #[test]
    fn no_piece_is_begun_after_the_stop() {
        let begun = AtomicUsize::new(0);
        let stop = || begun.load(Ordering::SeqCst) >= 5;
        let done = Parallel::new(1)
            .chunk_size(100)
            .until(&stop)
            .run(1000, |_| {
                begun.fetch_add(1, Ordering::SeqCst);
            });
        assert_eq!((done, begun.into_inner()), (5, 5));
    }
}
