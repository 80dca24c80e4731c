//! A recorded sequence: what was asked, and what the real server answered, normalised.

use serde::{Deserialize, Serialize};

use super::op::Op;
use super::session::Answer;

/// One file of `crates/informer-testkit/tests/transcripts`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Transcript {
    /// What it shows, in a sentence.
    pub(crate) about: String,
    /// The version of the real server.
    pub(crate) server: String,
    pub(crate) steps: Vec<Step>,
}

/// One operation and its normalised answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) op: Op,
    pub(crate) answer: Answer,
}
