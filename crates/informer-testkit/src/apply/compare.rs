//! Which fields differ between two versions of an object.

use serde_json::{Map, Value};

use super::element::Element;
use super::set::FieldSet;
use super::value::identified;
use crate::fields::{Choice, List, Map as MapType, Shape, TypeRef};

/// The fields that differ; each is in one of the sets.
#[derive(Clone, Debug, Default)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

impl Comparison {
    pub(super) fn of(old: &Value, new: &Value, of: &TypeRef) -> Self {
        let mut comparison = Self::default();
        comparison.walk(Some(old), Some(new), of, &mut Vec::new());
        comparison
    }

    /// What was set: changed or added.
    pub(super) fn set(&self) -> FieldSet {
        self.modified.union(&self.added)
    }

    /// Without the fields that a write cannot change.
    pub(super) fn without(&self, fields: &FieldSet) -> Self {
        Self {
            removed: self.removed.without(fields),
            modified: self.modified.without(fields),
            added: self.added.without(fields),
        }
    }

    fn walk(
        &mut self,
        old: Option<&Value>,
        new: Option<&Value>,
        of: &TypeRef,
        path: &mut Vec<Element>,
    ) {
        let view = of.view();
        let choice = |value: Option<&Value>| value.map(|value| view.choice(value));
        let leaf = match (choice(old), choice(new)) {
            (None, None) => return,
            (Some(old_part), Some(new_part)) if old_part != new_part => {
                self.part(view.shape(old_part), old, new, path);
                self.part(view.shape(new_part), old, new, path)
            }
            (old_part, new_part) => {
                let part = new_part.or(old_part).unwrap_or(Choice::All);
                self.part(view.shape(part), old, new, path)
            }
        };
        if leaf {
            return;
        }
        match (old, new) {
            (None, _) => self.added.insert(path),
            (_, None) => self.removed.insert(path),
            _ => {}
        }
    }

    /// Compares as one part of the type; whether that has one owner.
    fn part(
        &mut self,
        shape: Shape<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        path: &mut Vec<Element>,
    ) -> bool {
        match shape {
            Shape::Map(map, false) => {
                let nothing = Map::new();
                let old_fields = old.and_then(Value::as_object).unwrap_or(&nothing);
                let new_fields = new.and_then(Value::as_object).unwrap_or(&nothing);
                if old_fields.is_empty() && new_fields.is_empty() {
                    return self.leaf(old, new, path);
                }
                self.fields(map, old_fields, new_fields, path);
                false
            }
            Shape::List(list) if !list.atomic => {
                let empty = |value: Option<&Value>| {
                    value.and_then(Value::as_array).is_none_or(Vec::is_empty)
                };
                if empty(old) && empty(new) {
                    return self.leaf(old, new, path);
                }
                self.entries(list, old, new, path);
                false
            }
            _ => self.leaf(old, new, path),
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>, path: &[Element]) -> bool {
        match (old, new) {
            (None, _) => self.added.insert(path),
            (_, None) => self.removed.insert(path),
            (Some(old), Some(new)) if old != new => self.modified.insert(path),
            _ => {}
        }
        true
    }

    fn fields(
        &mut self,
        map: &MapType,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
        path: &mut Vec<Element>,
    ) {
        let added = new.keys().filter(|name| !old.contains_key(*name));
        for name in old.keys().chain(added) {
            path.push(Element::field(name));
            self.walk(old.get(name), new.get(name), &map.field(name), path);
            path.pop();
        }
    }

    fn entries(
        &mut self,
        list: &List,
        old: Option<&Value>,
        new: Option<&Value>,
        path: &mut Vec<Element>,
    ) {
        let nothing = Value::Null;
        let old = identified(list, old.unwrap_or(&nothing));
        let new = identified(list, new.unwrap_or(&nothing));
        let of = |entries: &[(Element, &Value)], step: &Element| -> Vec<Value> {
            let same = entries.iter().filter(|(known, _)| known == step);
            same.map(|(_, entry)| (*entry).clone()).collect()
        };
        let mut seen: Vec<&Element> = Vec::new();
        for (step, _) in old.iter().chain(&new) {
            if seen.contains(&step) {
                continue;
            }
            seen.push(step);
            path.push(step.clone());
            // Entries that are there twice count as one value.
            match (of(&old, step).as_slice(), of(&new, step).as_slice()) {
                (before, after) if before.len() < 2 && after.len() < 2 => {
                    self.walk(before.first(), after.first(), &list.items, path);
                }
                (before, after) if before.len() > 1 && after.len() > 1 => {
                    if before != after {
                        self.modified.insert(path);
                    }
                }
                (before, after) if before.len() > 1 => {
                    self.walk(None, after.first(), &list.items, path);
                    self.removed.insert(path);
                }
                (before, _) => {
                    self.walk(before.first(), None, &list.items, path);
                    self.added.insert(path);
                }
            }
            path.pop();
        }
    }
}
