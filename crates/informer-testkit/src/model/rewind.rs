//! Rewinds, as after a restored backup of etcd.

use super::cluster::Cluster;
use super::collection::{Collection, Scope};

impl Cluster {
    /// Makes a revision of the past the present: objects are again what they were then, and the next write gets the
    /// next revision once more. Returns the revision that was reached, which is later than the requested one if history
    /// does not go back so far.
    ///
    /// Cursors from before it are not worth anything any more; a real server would have ended them.
    /// Which resources exist stays as it is.
    pub fn rewind(&mut self, revision: u64) -> u64 {
        let reachable = self
            .collections
            .values()
            .map(|collection| collection.history().oldest());
        let target = reachable.fold(revision, u64::max).min(self.revision());
        for collection in self.collections.values_mut() {
            collection.rewind(target);
        }
        self.set_revision(target);
        self.feed.restart();
        target
    }
}

impl Collection {
    fn rewind(&mut self, revision: u64) {
        let then = self.at(revision, &Scope::new(""), "");
        self.set_live(then);
        self.history_mut().forget_after(revision);
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use informer_wire::DeleteOptions;

    use crate::model::{Cluster, ClusterOptions, ListOptions, WriteOptions};

    #[test]
    fn rewind_restores_the_past_and_repeats_revisions() {
        let at = WriteOptions::at(Timestamp::UNIX_EPOCH);
        let mut cluster = Cluster::new(&ClusterOptions::default(), Timestamp::UNIX_EPOCH);
        let pods = cluster.resource("pods").unwrap();
        let pod = |name: &str| json!({"metadata": {"name": name}});
        let first = cluster.create(&pods, "default", pod("a"), &at).unwrap();
        cluster.create(&pods, "default", pod("b"), &at).unwrap();
        let options = DeleteOptions::default();
        cluster
            .delete(&pods, "default", "a", &options, &at)
            .unwrap();
        assert_eq!(cluster.rewind(first.revision()), first.revision());
        let page = cluster.list(&pods, "", &ListOptions::new()).unwrap();
        assert_eq!(
            (page.revision, page.items),
            (first.revision(), vec![first.clone()])
        );
        let other = cluster.create(&pods, "default", pod("c"), &at).unwrap();
        assert_eq!(other.revision(), first.revision() + 1);
    }

    #[test]
    fn rewind_never_goes_forward() {
        let mut cluster = Cluster::new(&ClusterOptions::default(), Timestamp::UNIX_EPOCH);
        let now = cluster.revision();
        assert_eq!(cluster.rewind(now + 10), now);
    }
}
