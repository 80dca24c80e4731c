//! Seeded simulation: real informers against the test kit's API server, in virtual time, with faults at every step.
//!
//! One seed decides everything: the configuration, what is written, what goes wrong and when. [`run()`] plays a seed and
//! returns a hash of everything that happened, which is the same each time, or the promise that was broken. `cargo xtask
//! sim` plays many and prints how often each kind of trouble occurred.
//!
//! | part | does |
//! |---|---|
//! | `plan` | draws what a seed is about, so that each has its own mix of trouble |
//! | `versions` | servers whose resource versions are no single rising history |
//! | `workload` | writes to the server, and records each write in the oracle |
//! | `oracle` | has every state that each object ever had, and judges the cache by it |
//! | `row` | every row of the error table and every fault of the network, as faults of the test kit |
//! | `chaos` | chooses a row for each request |
//! | `checked` | between reflector and server: judges requests, their order and their rate |
//! | `handlers` | of every kind and policy; some are slow, stall or fail; the events of each are judged |
//! | `fleet` | some seeds are about a factory: many informers that start together, a few at a time |
//! | `control` | the half above the cache: replicas of an operator, with electors and controllers ([`run_control()`]) |
//! | `world` | plays the steps, then lets all come to rest and judges the end |

mod chaos;
mod checked;
mod control;
mod fleet;
mod handlers;
mod object;
mod oracle;
mod plan;
mod row;
mod run;
mod tally;
mod trace;
mod versions;
mod workload;
mod world;

pub use control::Counts;
pub use run::{Failure, Outcome, quiet_panics, run, run_control};
pub use tally::Tally;
