//! A token bucket as plain data, in whole nanoseconds: what all items may be retried together.

use crate::limit::RetryRate;

/// The number of tokens, kept as one time: that at which the bucket is full again.
///
/// Counting in time instead of in parts of tokens needs no fractions, so nothing is rounded away however long it runs.
#[derive(Debug, Clone)]
pub(super) struct Bucket {
    /// How long one token takes to come back.
    step: u128,
    /// How long all of them take.
    full: u128,
    full_at: u128,
    /// How long an item waits for its token at most.
    longest: u64,
}

impl Bucket {
    pub(super) fn new(rate: &RetryRate) -> Self {
        let step = 1e9 / rate.per_second;
        // A conversion of floats that keeps to the range of the type; a rate of zero is one token in 584 years.
        let step = u128::from(step.round() as u64);
        Self {
            step,
            full: step * u128::from(rate.burst),
            full_at: 0,
            longest: rate.longest_wait.map_or(u64::MAX, crate::shared::nanos),
        }
    }

    /// Returns when a token can be had, `now` or later.
    pub(super) fn next(&self, now: u64) -> u64 {
        let time = self.full_at.max(u128::from(now)) + self.step;
        let time = time.saturating_sub(self.full);
        u64::try_from(time).unwrap_or(u64::MAX).max(now)
    }

    /// Returns until when at most an item waits for a token that has waited since this time.
    pub(super) const fn until(&self, since: u64) -> u64 {
        since.saturating_add(self.longest)
    }

    /// Takes a token, now or once there is one.
    pub(super) fn take(&mut self, now: u64) {
        self.full_at = self.full_at.max(u128::from(now)) + self.step;
    }

    /// Takes back the token that was to be had at this time and was not used, unless further ones were taken after it: they
    /// would all have to come earlier for it.
    pub(super) fn put_back(&mut self, time: u64) {
        if self.full_at == u128::from(time) + self.full {
            self.full_at = self.full_at.saturating_sub(self.step);
        }
    }

    /// Takes back all tokens that are still waited for.
    pub(super) fn put_all_back(&mut self, now: u64) {
        self.full_at = self.full_at.min(u128::from(now) + self.full);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MS: u64 = 1_000_000;

    fn wait(bucket: &mut Bucket, now: u64) -> u64 {
        let next = bucket.next(now);
        bucket.take(now);
        (next - now) / MS
    }

    // RL1
    #[test]
    fn tokens_come_back_with_time_up_to_the_burst() {
        let mut bucket = Bucket::new(&RetryRate::new(2.0, 1));
        let mut at = |seconds: u64| wait(&mut bucket, seconds * 1000 * MS);
        assert_eq!([at(0), at(0), at(0)], [0, 500, 1000]);
        assert_eq!([at(2), at(2)], [0, 500]);
        assert_eq!([at(100), at(100)], [0, 500]);
    }

    #[test]
    fn a_burst_passes_at_once_and_a_token_that_is_put_back_serves_the_next() {
        let mut bucket = Bucket::new(&RetryRate::new(10.0, 2));
        assert_eq!([(); 4].map(|()| wait(&mut bucket, 0)), [0, 0, 100, 200]);
        bucket.put_back(100 * MS);
        assert_eq!(wait(&mut bucket, 0), 300, "one was taken after it");
        bucket.put_back(300 * MS);
        bucket.put_back(200 * MS);
        assert_eq!(wait(&mut bucket, 0), 200);
        bucket.put_all_back(0);
        assert_eq!(wait(&mut bucket, 0), 100);
    }

    #[test]
    fn odd_rates_neither_panic_nor_let_more_through() {
        for rate in [
            0.0,
            -0.0,
            -1.0,
            f64::NAN,
            f64::MIN_POSITIVE,
            f64::NEG_INFINITY,
        ] {
            for burst in [0, 1, u32::MAX] {
                let mut bucket = Bucket::new(&RetryRate::new(rate, burst));
                for passed in 0..3 {
                    let next = bucket.next(7);
                    assert_eq!(next > 7, passed >= burst, "{rate} {burst}");
                    bucket.take(7);
                    assert_eq!(bucket.next(u64::MAX), u64::MAX);
                }
                for time in [0, 7, u64::MAX] {
                    bucket.put_back(time);
                }
                bucket.put_all_back(u64::MAX);
            }
        }
        let mut none = Bucket::new(&RetryRate::new(f64::INFINITY, 0));
        none.take(7);
        assert_eq!(none.next(7), 7);
        let mut much = Bucket::new(&RetryRate::new(f64::MAX, 0));
        much.take(7);
        assert_eq!(much.next(7), 7);
    }

    #[test]
    fn the_longest_wait_counts_from_when_the_wait_began() {
        let rate = RetryRate::new(1.0, 0).longest_wait(Duration::from_nanos(5));
        assert_eq!(Bucket::new(&rate).until(10), 15);
        let rate = rate.longest_wait(Duration::MAX);
        assert_eq!(Bucket::new(&rate).until(10), 15, "the shortest holds");
        assert_eq!(Bucket::new(&RetryRate::new(1.0, 0)).until(10), u64::MAX);
    }
}
