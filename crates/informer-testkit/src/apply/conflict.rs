//! Conflicts between managers, in a real server's words.

use std::collections::BTreeMap;

use informer_wire::{Status, StatusCause, StatusDetails};

use super::element::Element;
use super::owners::Manager;
use super::set::text;

/// A field that another manager owns, with another value.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    manager: Manager,
    pub(super) path: Vec<Element>,
}

impl Conflict {
    pub(super) fn new(manager: &Manager, path: Vec<Element>) -> Self {
        Self {
            manager: manager.clone(),
            path,
        }
    }
}

/// 409, with a cause for each field.
pub(super) fn status(conflicts: &[Conflict]) -> Status {
    let causes = conflicts.iter().map(|conflict| {
        let message = format!("conflict with {}", conflict.manager);
        StatusCause::new("FieldManagerConflict", message).with_field(text(&conflict.path))
    });
    let mut details = StatusDetails::default();
    details.causes = causes.collect();
    Status::failure(409, "Conflict", message(conflicts)).with_details(details)
}

fn message(conflicts: &[Conflict]) -> String {
    if let [one] = conflicts {
        let path = text(&one.path);
        return format!(
            "Apply failed with 1 conflict: conflict with {}: {path}",
            one.manager
        );
    }
    let mut lines: BTreeMap<&Manager, Vec<String>> = BTreeMap::new();
    for conflict in conflicts {
        let of = lines.entry(&conflict.manager).or_default();
        of.push(format!("- {}", text(&conflict.path)));
    }
    let lines = lines
        .iter()
        .map(|(manager, paths)| format!("conflicts with {manager}:\n{}", paths.join("\n")));
    let lines: Vec<String> = lines.collect();
    let count = conflicts.len();
    format!("Apply failed with {count} conflicts: {}", lines.join("\n"))
}
