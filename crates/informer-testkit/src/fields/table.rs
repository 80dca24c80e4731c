//! Reads the table of built-in kinds, which `cargo xtask field-table` makes from Kubernetes' OpenAPI.
//!
//! A line `kind VERSION KIND N` names the structure of a kind; the structures follow as `type FIELDS`, numbered from 0,
//! with `!` first if the structure has one owner. A field is `NAME:TYPE`, then `*` or `-` if an empty Go structure
//! writes an empty structure or null for it, `~KEY` or `$` for the patch strategies merge and replace, and `=VALUE`
//! for the value that counts in a list's key if there is none.
//!
//! A type is `s` text, `n` number, `b` boolean, `x` any plain value, `a` anything as one value, `d` anything, a number
//! a structure, `{TYPE}` a map, `[TYPE]` a list with one owner, `[TYPE|KEYS]` one of entries with their own. After a map
//! or structure `!` says that it has one owner, `^` that it has not.

use std::collections::{BTreeMap, HashMap};

use super::{Field, Map, Scalar, Strategy, Type, TypeRef, Zero};

const TEXT: &str = include_str!("table.txt");

/// The kinds and structures of the table.
#[derive(Debug, Default)]
pub(super) struct Table {
    kinds: HashMap<(&'static str, &'static str), usize>,
    structures: Vec<Type>,
}

impl Table {
    /// Reads it. What it does not understand it takes for anything; a test shows that it understands all.
    pub(super) fn read() -> Self {
        let mut table = Self::default();
        for line in TEXT.lines() {
            let mut words = line.split(' ');
            match (words.next(), words.next(), words.next(), words.next()) {
                (Some("kind"), Some(version), Some(kind), Some(at)) => {
                    let at = at.parse().unwrap_or(usize::MAX);
                    table.kinds.insert((version, kind), at);
                }
                (Some("type"), Some(fields), ..) => table.structures.push(structure(fields)),
                _ => {}
            }
        }
        table
    }

    pub(super) fn kind(&self, version: &str, kind: &str) -> Option<usize> {
        let at = *self.kinds.get(&(version, kind))?;
        (at < self.structures.len()).then_some(at)
    }

    pub(super) fn structure(&self, at: usize) -> &Type {
        &self.structures[at]
    }
}

/// Metadata of every object, also of custom resources.
pub(super) const METADATA: usize = 0;

fn structure(line: &'static str) -> Type {
    let fields = line.trim_start_matches(['!', '^']);
    let fields = fields.split(',').filter_map(|field| {
        let (name, rest) = field.split_once(':')?;
        Some((name.to_owned(), declared(rest)))
    });
    Type::map(Map {
        fields: fields.collect(),
        values: None,
        atomic: line.starts_with('!'),
    })
}

fn declared(text: &'static str) -> Field {
    let (text, default) = match text.split_once('=') {
        Some((text, default)) => (text, serde_json::from_str(default).ok()),
        None => (text, None),
    };
    let (text, strategy) = match (text.split_once('~'), text.strip_suffix('$')) {
        (Some((text, key)), _) => (text, Strategy::Merge(key.to_owned())),
        (None, Some(text)) => (text, Strategy::Replace),
        (None, None) => (text, Strategy::Unset),
    };
    let (text, zero) = match (text.strip_suffix('*'), text.strip_suffix('-')) {
        (Some(text), _) => (text, Zero::Structure),
        (None, Some(text)) => (text, Zero::Null),
        (None, None) => (text, Zero::Absent),
    };
    Field {
        of: expression(text).unwrap_or_else(TypeRef::deduced),
        default,
        zero,
        strategy,
    }
}

fn expression(text: &str) -> Option<TypeRef> {
    let marked = |text: &str, atomic: bool| {
        let mut of = expression(text)?;
        of.atomic = Some(atomic);
        Some(of)
    };
    if let Some(text) = text.strip_suffix('!') {
        return marked(text, true);
    }
    if let Some(text) = text.strip_suffix('^') {
        return marked(text, false);
    }
    if let Some(inner) = text.strip_prefix('{') {
        return Some(TypeRef::here(Type::map(Map {
            fields: BTreeMap::new(),
            values: Some(expression(inner.strip_suffix('}')?)?),
            atomic: false,
        })));
    }
    if let Some(inner) = text.strip_prefix('[') {
        let inner = inner.strip_suffix(']')?;
        let (items, keys) = match inner.rsplit_once('|') {
            Some((items, keys)) => (items, Some(keys)),
            None => (inner, None),
        };
        let names = keys.unwrap_or_default().split('+');
        let names = names.filter(|key| !key.is_empty()).map(str::to_owned);
        let of = Type::list(expression(items)?, names.collect(), keys.is_none());
        return Some(TypeRef::here(of));
    }
    let scalar = |scalar| Some(TypeRef::here(Type::scalar(scalar)));
    match text {
        "s" => scalar(Scalar::Text),
        "n" => scalar(Scalar::Number),
        "b" => scalar(Scalar::Bool),
        "x" => scalar(Scalar::Any),
        "a" => Some(TypeRef::untyped()),
        "d" => Some(TypeRef::deduced()),
        number => Some(TypeRef::table(number.parse().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_the_table_is_understood_and_every_structure_is_there() {
        let table = Table::read();
        assert!(table.structures.len() > 300 && table.kinds.len() > 50);
        let fields = TEXT.lines().filter_map(|line| line.strip_prefix("type "));
        for field in fields.flat_map(|line| line.split(',')) {
            let (_, rest) = field.split_once(':').unwrap();
            let ends = rest.find(['*', '-', '~', '$', '=']).unwrap_or(rest.len());
            assert!(expression(&rest[..ends]).is_some(), "{field}");
            let numbers = rest[..ends].split(|c: char| !c.is_ascii_digit());
            for number in numbers.filter_map(|number| number.parse::<usize>().ok()) {
                assert!(number < table.structures.len(), "{field}");
            }
        }
        let metadata = table.structure(METADATA).map.as_ref().unwrap();
        assert_eq!(
            metadata.fields["ownerReferences"].strategy,
            Strategy::Merge("uid".to_owned())
        );
    }
}
