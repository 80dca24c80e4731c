//! Ordered values against a naive map.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use proptest::prelude::*;

use super::*;

type Bounds = (Bound<u16>, Bound<u16>);

fn bound() -> impl Strategy<Value = Bound<u16>> {
    prop_oneof![
        (0u16..600).prop_map(Bound::Included),
        (0u16..600).prop_map(Bound::Excluded),
        Just(Bound::Unbounded),
    ]
}

fn range(tree: &OrderedValues<u16>, bounds: Bounds) -> Vec<(u16, u32)> {
    tree.range(bounds).map(|(value, id)| (*value, id)).collect()
}

/// The range of the naive map; its own `range` panics if the bounds cross.
fn naive(model: &BTreeMap<u16, u32>, bounds: Bounds) -> Vec<(u16, u32)> {
    model
        .iter()
        .filter(|(value, _)| bounds.contains(*value))
        .map(|(v, i)| (*v, *i))
        .collect()
}

proptest! {
    #[test]
    fn ordered_values_match_map_and_clones_do_not_change(
        in_order in 0u16..300,
        steps in prop::collection::vec((0u8..5, 0u16..600), 0..900),
        ranges in prop::collection::vec((bound(), bound()), 1..8),
    ) {
        let mut model = BTreeMap::new();
        let mut tree = OrderedValues::default();
        for value in 0..in_order {
            tree.insert(Arc::new(value), u32::from(value));
            model.insert(value, u32::from(value));
        }
        let mut clones = Vec::new();
        for (at, (step, value)) in steps.into_iter().enumerate() {
            let inserts = if at % 500 < 250 { 4 } else { 1 };
            if step < inserts {
                if let Entry::Vacant(entry) = model.entry(value) {
                    tree.rehearse(&value);
                    let id = 1000 + at as u32;
                    tree.insert(Arc::new(value), id);
                    entry.insert(id);
                }
            } else if let Some(id) = model.remove(&value) {
                match at % 4 {
                    0 => tree.remove_id(id),
                    _ => prop_assert!(tree.remove(&value, id)),
                }
            } else {
                prop_assert!(!tree.remove(&value, 0));
            }
            if at % 200 == 0 {
                clones.push((tree.clone(), model.clone()));
            }
        }
        clones.push((tree, model));
        for (tree, model) in clones {
            for &bounds in &ranges {
                prop_assert_eq!(range(&tree, bounds), naive(&model, bounds));
            }
        }
    }
}

#[test]
fn emptied_tree_is_one_empty_leaf() {
    let mut tree = OrderedValues::default();
    for value in 0..10_000u32 {
        tree.insert(Arc::new(value), value);
    }
    assert!(matches!(&*tree.root, Node::Branch(_)));
    for value in 0..10_000u32 {
        assert!(tree.remove(&value, value));
    }
    assert!(matches!(&*tree.root, Node::Leaf(values) if values.is_empty()));
}
