//! Sets of fields: what a manager owns, and what a write changed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Map, Value, json};

use super::element::Element;
use crate::fields::{TypeRef, View};

/// A set of paths. A path may be in it without the longer paths that begin with it, and the other way round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    nodes: BTreeMap<Element, Node>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    /// Whether the path to here is in the set.
    member: bool,
    below: FieldSet,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn insert(&mut self, path: &[Element]) {
        let Some((last, parents)) = path.split_last() else {
            return;
        };
        let mut set = self;
        for step in parents {
            set = &mut set.nodes.entry(step.clone()).or_default().below;
        }
        set.nodes.entry(last.clone()).or_default().member = true;
    }

    /// A set of paths of field names.
    pub(super) fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<Element> = path.iter().map(|name| Element::field(name)).collect();
            set.insert(&path);
        }
        set
    }

    pub(super) fn has(&self, step: &Element) -> bool {
        self.nodes.get(step).is_some_and(|node| node.member)
    }

    /// What is in it below a step, unless that is nothing.
    pub(super) fn below(&self, step: &Element) -> Option<&Self> {
        let below = &self.nodes.get(step)?.below;
        (!below.is_empty()).then_some(below)
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        union.extend(other);
        union
    }

    pub(super) fn extend(&mut self, other: &Self) {
        for (step, node) in &other.nodes {
            match self.nodes.entry(step.clone()) {
                Entry::Vacant(vacant) => {
                    vacant.insert(node.clone());
                }
                Entry::Occupied(mut known) => {
                    let known = known.get_mut();
                    known.member |= node.member;
                    known.below.extend(&node.below);
                }
            }
        }
    }

    fn combine(&self, other: &Self, with: impl Fn(&Node, &Node) -> Node + Copy) -> Self {
        let nothing = Node::default();
        let nodes = self.nodes.iter().filter_map(|(step, node)| {
            let node = with(node, other.nodes.get(step).unwrap_or(&nothing));
            (!node.is_empty()).then(|| (step.clone(), node))
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// The paths that are not in the other.
    pub(super) fn difference(&self, other: &Self) -> Self {
        self.combine(other, |node, other| Node {
            member: node.member && !other.member,
            below: node.below.difference(&other.below),
        })
    }

    /// The paths of which no beginning is in the other.
    pub(super) fn without(&self, other: &Self) -> Self {
        self.combine(other, |node, other| match other.member {
            true => Node::default(),
            false => Node {
                member: node.member,
                below: node.below.without(&other.below),
            },
        })
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |node, other| Node {
            member: node.member && other.member,
            below: node.below.intersection(&other.below),
        })
    }

    /// With the structures' declared fields that have something below them.
    pub(super) fn with_declared(&self, of: &TypeRef) -> Self {
        let view = of.view();
        let nodes = self.nodes.iter().map(|(step, node)| {
            let declared = match (step, view.as_map()) {
                (Element::Field(name), Some(map)) => map.fields.contains_key(name),
                _ => false,
            };
            let node = Node {
                member: node.member || declared,
                below: node.below.with_declared(&inner(view, step)),
            };
            (step.clone(), node)
        });
        Self {
            nodes: nodes.collect(),
        }
    }

    /// Every path, those that are in it at a level before those below.
    pub(super) fn paths(&self) -> Vec<Vec<Element>> {
        let mut paths = Vec::new();
        self.walk(&mut Vec::new(), &mut paths);
        paths
    }

    fn walk(&self, at: &mut Vec<Element>, paths: &mut Vec<Vec<Element>>) {
        for (step, _) in self.nodes.iter().filter(|(_, node)| node.member) {
            let mut path = at.clone();
            path.push(step.clone());
            paths.push(path);
        }
        for (step, node) in &self.nodes {
            at.push(step.clone());
            node.below.walk(at, paths);
            at.pop();
        }
    }

    /// Reads a `fieldsV1`; `None` if it is none.
    pub(super) fn parse(fields: &Value) -> Option<Self> {
        let mut nodes = BTreeMap::new();
        for (name, value) in fields.as_object()? {
            if name == "." {
                continue;
            }
            let below = Self::parse(value)?;
            let node = Node {
                member: below.is_empty() || value.get(".").is_some(),
                below,
            };
            nodes.insert(Element::parse(name)?, node);
        }
        Some(Self { nodes })
    }

    /// Writes a `fieldsV1`.
    pub(super) fn write(&self) -> Value {
        let nodes = self.nodes.iter().map(|(step, node)| {
            let mut below = node.below.write();
            if node.member && !node.below.is_empty() {
                below["."] = json!({});
            }
            (step.write(), below)
        });
        Value::Object(nodes.collect::<Map<String, Value>>())
    }
}

fn inner(view: View<'_>, step: &Element) -> TypeRef {
    let inner = match step {
        Element::Field(name) => view.as_map().map(|map| map.field(name)),
        Element::Key(_) => view.as_list().map(|list| list.items.clone()),
        _ => None,
    };
    inner.unwrap_or_else(TypeRef::deduced)
}

/// A path as messages have it.
pub(super) fn text(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(fields: Value) -> FieldSet {
        FieldSet::parse(&fields).unwrap()
    }

    #[test]
    fn field_set_is_read_and_written_alike() {
        let fields = json!({"f:spec": {
            "f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}, "f:ports": {
                "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {}}}},
            "f:tags": {"v:\"x\"": {}, "v:2": {}, "i:3": {}},
        }});
        assert_eq!(set(fields.clone()).write(), fields);
        assert_eq!(FieldSet::parse(&json!({"x:y": {}})), None);
        assert_eq!(FieldSet::parse(&json!({"f:y": 1})), None);
    }

    #[test]
    fn paths_of_a_level_are_before_those_below() {
        let set = set(
            json!({"f:a": {"f:b": {}}, "f:c": {}, "f:d": {".": {}, "k:{\"name\":\"n\"}": {"f:e": {}}}}),
        );
        let texts: Vec<String> = set.paths().iter().map(|path| text(path)).collect();
        assert_eq!(texts, [".c", ".d", ".a.b", ".d[name=\"n\"].e"]);
    }

    #[test]
    fn difference_takes_paths_and_without_takes_all_below() {
        let all = set(json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}}));
        let some = set(json!({"f:a": {}}));
        assert_eq!(
            all.difference(&some).write(),
            json!({"f:a": {"f:b": {}}, "f:c": {}})
        );
        assert_eq!(all.without(&some).write(), json!({"f:c": {}}));
        assert_eq!(all.intersection(&some), some);
        assert_eq!(all.difference(&some).union(&some), all);
    }
}
