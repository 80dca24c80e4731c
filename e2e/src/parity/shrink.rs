//! Makes a sequence smaller while it still shows its difference: first operations, then parameters and fields.

use std::collections::BTreeSet;

use serde_json::Value;

use super::judge::op::Op;

/// The sequence without one operation and those that need its answer.
pub(crate) fn without(ops: &[Op], at: usize) -> Vec<Op> {
    let mut gone = BTreeSet::from([ops[at].id]);
    let mut left = Vec::new();
    for op in ops {
        if gone.contains(&op.id) || op.needs().iter().any(|id| gone.contains(id)) {
            gone.insert(op.id);
        } else {
            left.push(op.clone());
        }
    }
    left
}

/// All sequences that are smaller by one parameter or one field of one body.
pub(crate) fn smaller(ops: &[Op]) -> Vec<Vec<Op>> {
    let mut all = Vec::new();
    let mut push = |at: usize, op: Op| {
        let mut ops = ops.to_vec();
        ops[at] = op;
        all.push(ops);
    };
    for (at, op) in ops.iter().enumerate() {
        for name in op.query.keys().filter(|name| *name != "watch") {
            let mut op = op.clone();
            op.query.remove(name);
            push(at, op);
        }
        let mut pointers = Vec::new();
        fields("", op.body.as_ref().unwrap_or(&Value::Null), &mut pointers);
        for (parent, name) in pointers {
            let mut op = op.clone();
            let body = op.body.as_mut().and_then(|body| body.pointer_mut(&parent));
            if let Some(fields) = body.and_then(Value::as_object_mut) {
                fields.remove(&name);
                push(at, op);
            }
        }
    }
    all
}

/// Every field below a value, as the pointer of its parent and its name; outer ones first.
fn fields(path: &str, value: &Value, into: &mut Vec<(String, String)>) {
    if let Value::Object(object) = value {
        // An object's content stays whole, so that no default becomes the difference.
        let whole = path.is_empty() && object.contains_key("apiVersion");
        let content = |name: &str| whole && name != "metadata";
        for name in object.keys().filter(|name| !content(name)) {
            into.push((path.to_owned(), name.clone()));
        }
        for (name, value) in object.iter().filter(|(name, _)| !content(name)) {
            let name = name.replace('~', "~0").replace('/', "~1");
            fields(&format!("{path}/{name}"), value, into);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::generate;
    use super::*;

    #[test]
    fn what_is_left_needs_nothing_that_went() {
        for seed in 0..100 {
            let ops = generate(seed);
            for at in 0..ops.len() {
                let left = without(&ops, at);
                assert!(left.len() < ops.len());
                let ids: BTreeSet<u32> = left.iter().map(|op| op.id).collect();
                assert!(left.iter().all(|op| op.needs().is_subset(&ids)));
            }
        }
    }
}
