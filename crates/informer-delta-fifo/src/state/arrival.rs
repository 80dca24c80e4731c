//! Up to which resource version everything has arrived, and what arrived while a list was under way.

use std::collections::HashMap;

use informer_store::{Object, ObjectKey, ResourceVersion, mutant};

/// When a list was opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opened(u64);

/// The last change of a key while a list was under way.
#[derive(Debug)]
pub(crate) struct Touch {
    tick: u64,
    pub(crate) version: Option<ResourceVersion>,
}

/// What has arrived.
#[derive(Debug, Default)]
pub(crate) struct Arrival {
    /// Everything up to here has arrived.
    complete: Option<ResourceVersion>,
    /// Everything up to here was applied.
    applied: Option<ResourceVersion>,
    /// Everything up to here has arrived, once the open lists are settled.
    after_lists: Option<ResourceVersion>,
    /// The server went back in time at least once.
    is_rewound: bool,
    /// How many lists are under way.
    open: usize,
    /// Counts openings and touches.
    tick: u64,
    /// Keys that changed while a list was under way.
    touched: HashMap<ObjectKey, Touch>,
}

impl Arrival {
    pub(crate) fn is_list_open(&self) -> bool {
        self.open > 0
    }

    pub(crate) fn complete(&self) -> Option<&ResourceVersion> {
        self.complete.as_ref()
    }

    /// Up to where everything was applied.
    pub(crate) fn applied_up_to(&self) -> Option<&ResourceVersion> {
        self.applied.as_ref()
    }

    /// True if nothing as new as this has arrived, as is so after a rewind.
    pub(crate) fn is_beyond(&self, version: &ResourceVersion) -> bool {
        let mut arrived = self.complete.iter().chain(&self.after_lists);
        arrived.all(|mark| mark.is_older_than(version))
    }

    /// True for a copy of a time that the server went back from.
    pub(crate) fn is_undone<K: Object>(&self, object: &K) -> bool {
        self.is_rewound
            && !mutant!("fifo-forget-the-rewind")
            && object
                .resource_version()
                .is_some_and(|version| self.is_beyond(&version))
    }

    /// True if a consumer has yet to hear how far things have come.
    pub(crate) fn has_news(&self) -> bool {
        self.complete.is_some() && self.complete != self.applied
    }

    /// An object was told as added. Where nothing is known of how far all has arrived, this tells nothing of it: a
    /// watch that starts at no version first tells of what is there, in no order.
    pub(crate) fn arrive_added(&mut self, version: Option<ResourceVersion>) {
        if self.complete.is_some() || self.open > 0 || mutant!("fifo-count-unordered-additions") {
            self.arrive(version);
        }
    }

    /// Everything up to this version has arrived.
    pub(crate) fn arrive(&mut self, version: Option<ResourceVersion>) {
        let Some(version) = version.filter(|version| !version.is_unset()) else {
            return;
        };
        // While a list is under way, what came before it in the server's history may still be missing.
        let mark = if self.open > 0 {
            &mut self.after_lists
        } else {
            &mut self.complete
        };
        if mark
            .as_ref()
            .is_none_or(|mark| !version.is_older_than(mark))
        {
            *mark = Some(version);
        }
    }

    /// A consumer has applied everything up to this version.
    pub(crate) fn applied(&mut self, version: Option<&ResourceVersion>) {
        let Some(version) = version else { return };
        // What was taken out before a rewind says nothing of the time after it.
        let is_ahead = self
            .complete
            .as_ref()
            .is_none_or(|mark| mark.is_older_than(version));
        self.applied = (!is_ahead).then(|| version.clone());
    }

    pub(crate) fn open_list(&mut self) -> Opened {
        self.open += 1;
        self.tick += 1;
        Opened(self.tick)
    }

    /// A list ended, well or not.
    pub(crate) fn close_list(&mut self) {
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            self.touched.clear();
            let after = self.after_lists.take();
            self.arrive(after);
        }
    }

    /// Everything up to the version of a list has arrived, and after a rewind nothing later.
    pub(crate) fn listed(&mut self, version: &ResourceVersion, rewind: bool) {
        if rewind {
            self.complete = None;
            self.after_lists = None;
            self.applied = None;
            self.is_rewound = true;
        }
        if version.is_unset() {
            // How far it has come cannot be told, and what comes now may be older than what came before.
            self.complete = None;
            self.after_lists = None;
            return;
        }
        if self
            .complete
            .as_ref()
            .is_none_or(|mark| !version.is_older_than(mark))
        {
            self.complete = Some(version.clone());
        }
    }

    /// This key changed.
    pub(crate) fn touch(&mut self, key: &ObjectKey, version: Option<&ResourceVersion>) {
        if self.open > 0 {
            self.tick += 1;
            let touch = Touch {
                tick: self.tick,
                version: version.cloned(),
            };
            self.touched.insert(key.clone(), touch);
        }
    }

    /// The last change of the key, if it came after that list was opened.
    pub(crate) fn touched_since(&self, key: &ObjectKey, opened: Opened) -> Option<&Touch> {
        if self.touched.is_empty() {
            return None;
        }
        self.touched.get(key).filter(|touch| touch.tick > opened.0)
    }
}
