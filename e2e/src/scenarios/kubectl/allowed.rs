//! Commands whose output may differ, and why a user may live with it.

/// Commands that say something else of the test kit.
#[derive(Debug)]
pub(super) struct Allowed {
    /// The command; `*` at its end stands for any rest.
    pub(super) command: &'static str,
    /// What the test kit does not do.
    pub(super) reason: &'static str,
}

const DEFAULTS: &str = "Objects are stored as they were sent, without the defaults of their types.";
const SERVICES: &str = "Services get no addresses and no node ports.";
const JOBS: &str = "Jobs get no selector and no labels of their own.";
const GRACE: &str = "Pods are deleted at once, without a grace period.";
const TAINTS: &str = "A new node has no taint.";
const COMPONENTS: &str = "There are no component statuses.";

const fn row(command: &'static str, reason: &'static str) -> Allowed {
    Allowed { command, reason }
}

/// The table. An entry that a run does not need is an error.
pub(super) const ALLOWED: &[Allowed] = &[
    row("diff -f app.yaml", DEFAULTS),
    row("get deployment shop -o yaml", DEFAULTS),
    row("describe deployment shop", DEFAULTS),
    row("describe pod loose", DEFAULTS),
    row("describe secret keys", DEFAULTS),
    row("get all", SERVICES),
    row("get services*", SERVICES),
    row("get pods,services", SERVICES),
    row("get deployment/shop service/plain", SERVICES),
    row("describe service plain", SERVICES),
    row("get jobs -o wide", JOBS),
    row("describe job once", JOBS),
    row("drain node-a --force*", GRACE),
    row("delete pod bare*", GRACE),
    row("get node node-a -o*", TAINTS),
    row("describe node node-a", TAINTS),
    row("api-resources", COMPONENTS),
    row("api-resources --verbs=list -o wide", COMPONENTS),
];

impl Allowed {
    pub(super) fn covers(&self, command: &str) -> bool {
        match self.command.strip_suffix('*') {
            Some(start) => command.starts_with(start),
            None => command == self.command,
        }
    }
}
