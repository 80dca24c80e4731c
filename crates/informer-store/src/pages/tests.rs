//! The paged vector against a vector.

use proptest::prelude::*;

use super::*;

type Small = PagedVec<u32, 2>;

#[derive(Debug, Clone)]
enum Step {
    Push(u32),
    Pop,
    Set(usize, u32),
    SwapRemove(usize),
    Snapshot,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any::<u32>().prop_map(Step::Push),
        2 => Just(Step::Pop),
        2 => (any::<usize>(), any::<u32>()).prop_map(|(at, v)| Step::Set(at, v)),
        2 => any::<usize>().prop_map(Step::SwapRemove),
        1 => Just(Step::Snapshot),
    ]
}

fn contents(vector: &Small) -> Vec<u32> {
    vector.iter().copied().collect()
}

proptest! {
    #[test]
    fn paged_vector_matches_vector_and_clones_do_not_change(
        start in 0u32..1200,
        steps in prop::collection::vec(step(), 0..200),
    ) {
        let mut model: Vec<u32> = (0..start).collect();
        let mut paged = Small::default();
        for &element in &model {
            paged.push(element);
        }
        let mut clones = Vec::new();
        for step in steps {
            let len = model.len();
            match step {
                Step::Push(v) => {
                    prop_assert_eq!(paged.push(v) as usize, len);
                    model.push(v);
                }
                Step::Pop => prop_assert_eq!(paged.pop(), model.pop()),
                Step::Set(at, v) if len > 0 => {
                    *paged.get_mut((at % len) as u32).expect("within") = v;
                    model[at % len] = v;
                }
                Step::SwapRemove(at) if len > 0 => {
                    let removed = paged.swap_remove((at % len) as u32);
                    prop_assert_eq!(removed, Some(model.swap_remove(at % len)));
                }
                Step::Snapshot => clones.push((paged.clone(), model.clone())),
                Step::Set(..) | Step::SwapRemove(_) => {}
            }
            prop_assert_eq!(paged.len() as usize, model.len());
        }
        clones.push((paged, model));
        for (paged, model) in clones {
            prop_assert_eq!(&contents(&paged), &model);
            for (at, value) in model.iter().enumerate() {
                prop_assert_eq!(paged.get(at as u32), Some(value));
            }
            prop_assert_eq!(paged.get(model.len() as u32), None);
            let beyond = paged.peek(model.len() as u32);
            prop_assert!(beyond.is_none_or(|element| *element == 0));
            prop_assert_eq!(paged.get(u32::MAX), None);
        }
    }
}

#[test]
fn emptied_vector_has_no_page() {
    let mut paged = Small::default();
    for element in 0..1000 {
        paged.push(element);
    }
    while paged.pop().is_some() {}
    assert!(paged.groups.is_none());
}
