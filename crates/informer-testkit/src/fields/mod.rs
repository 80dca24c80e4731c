//! The types of an object's fields, as far as owners and patches depend on them: which maps and lists are one value,
//! and by which keys the others are merged. Built-in kinds have them from a table, custom resources from their schema.

mod custom;
mod nulls;
mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

pub(crate) use self::custom::custom;
pub(crate) use self::nulls::drop_nulls;
use self::table::Table;
use crate::resource::ResourceType;

/// What a value may be: one of these, or for untyped values any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) scalar: Option<Scalar>,
    pub(crate) list: Option<List>,
    pub(crate) map: Option<Map>,
}

/// What a plain value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Text,
    Number,
    Bool,
    Any,
}

/// A list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) items: TypeRef,
    /// The fields that identify an entry. None at all: the entries are plain values and identify themselves.
    pub(crate) keys: Vec<String>,
    /// Whether it has one owner as a whole.
    pub(crate) atomic: bool,
}

/// A structure or a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Map {
    pub(crate) fields: BTreeMap<String, Field>,
    /// The type of every other field; `None` if there are no others.
    pub(crate) values: Option<TypeRef>,
    /// Whether it has one owner as a whole.
    pub(crate) atomic: bool,
}

/// A declared field of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) of: TypeRef,
    /// The value that counts in a key if there is none.
    pub(crate) default: Option<Value>,
    pub(crate) zero: Zero,
    pub(crate) strategy: Strategy,
}

/// What an empty Go structure writes for a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Zero {
    #[default]
    Absent,
    Null,
    Structure,
}

/// How a strategic merge patch changes a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// Maps are merged, lists replaced.
    #[default]
    Unset,
    /// Replaced, even a map.
    Replace,
    /// A list is merged by the key; without a key its entries are plain values.
    Merge(String),
}

/// The type of a field, which may stand elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypeRef {
    target: Target,
    /// Whether the map has one owner here, whatever its type says.
    atomic: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// A structure of the table.
    Table(usize),
    Here(Arc<Type>),
    /// Whatever the value is; maps are merged, lists are not.
    Deduced,
    /// Whatever the value is, as one.
    Untyped,
}

/// A type with what its place says about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'t> {
    of: &'t Type,
    atomic: Option<bool>,
}

/// The part of a type that a value has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'t> {
    Scalar(Scalar),
    List(&'t List),
    /// With whether it has one owner.
    Map(&'t Map, bool),
    Unknown,
}

/// Which part of a type a value decides for; null decides for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    All,
    Scalar,
    List,
    Map,
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::read);

static DEDUCED: LazyLock<Type> = LazyLock::new(|| any(TypeRef::deduced(), false));
static UNTYPED: LazyLock<Type> = LazyLock::new(|| any(TypeRef::untyped(), true));

fn any(values: TypeRef, atomic: bool) -> Type {
    Type {
        scalar: Some(Scalar::Any),
        list: Some(List {
            items: TypeRef::untyped(),
            keys: Vec::new(),
            atomic: true,
        }),
        map: Some(Map {
            fields: BTreeMap::new(),
            values: Some(values),
            atomic,
        }),
    }
}

/// Returns the type of a kind's objects.
pub(crate) fn type_of(resource: &ResourceType) -> TypeRef {
    if resource.custom {
        return resource.fields.clone().unwrap_or_else(TypeRef::deduced);
    }
    let known = TABLE.kind(&resource.api_version(), &resource.kind);
    known.map_or_else(TypeRef::deduced, TypeRef::table)
}

impl TypeRef {
    pub(crate) fn deduced() -> Self {
        Self::to(Target::Deduced)
    }

    fn untyped() -> Self {
        Self::to(Target::Untyped)
    }

    fn table(at: usize) -> Self {
        Self::to(Target::Table(at))
    }

    fn here(of: Type) -> Self {
        Self::to(Target::Here(Arc::new(of)))
    }

    fn to(target: Target) -> Self {
        Self {
            target,
            atomic: None,
        }
    }

    pub(crate) fn view(&self) -> View<'_> {
        let of = match &self.target {
            Target::Table(at) => TABLE.structure(*at),
            Target::Here(of) => of,
            Target::Deduced => &DEDUCED,
            Target::Untyped => &UNTYPED,
        };
        View {
            of,
            atomic: self.atomic,
        }
    }

    /// Whether it says what the value is.
    fn is_declared(&self) -> bool {
        !matches!(self.target, Target::Deduced | Target::Untyped)
    }

    /// What an empty Go structure of this type writes.
    pub(crate) fn zero(&self) -> Value {
        let mut zero = json!({});
        let fields = self.view().of.map.iter().flat_map(|map| &map.fields);
        for (name, field) in fields {
            match field.zero {
                Zero::Absent => {}
                Zero::Null => zero[name] = Value::Null,
                Zero::Structure => zero[name] = field.of.zero(),
            }
        }
        zero
    }
}

impl Type {
    fn scalar(scalar: Scalar) -> Self {
        Self {
            scalar: Some(scalar),
            ..Self::default()
        }
    }

    fn list(items: TypeRef, keys: Vec<String>, atomic: bool) -> Self {
        Self {
            list: Some(List {
                items,
                keys,
                atomic,
            }),
            ..Self::default()
        }
    }

    fn map(map: Map) -> Self {
        Self {
            map: Some(map),
            ..Self::default()
        }
    }
}

impl<'t> View<'t> {
    /// The part that a value decides for.
    pub(crate) fn choice(self, value: &Value) -> Choice {
        let (scalar, list, map) = (
            self.of.scalar.is_some(),
            self.of.list.is_some(),
            self.of.map.is_some(),
        );
        match value {
            Value::Array(_) if list => Choice::List,
            Value::Object(_) if map => Choice::Map,
            Value::Null | Value::Array(_) | Value::Object(_) => self.only(),
            _ if scalar => Choice::Scalar,
            _ => self.only(),
        }
    }

    /// All of it, but by its own name if it is one part.
    fn only(self) -> Choice {
        match (&self.of.scalar, &self.of.list, &self.of.map) {
            (Some(_), None, None) => Choice::Scalar,
            (None, Some(_), None) => Choice::List,
            (None, None, Some(_)) => Choice::Map,
            _ => Choice::All,
        }
    }

    /// The chosen part; of all of them the map, then the plain value, then the list.
    pub(crate) fn shape(self, choice: Choice) -> Shape<'t> {
        let wants = |part: Choice| choice == Choice::All || choice == part;
        if let Some(map) = self.of.map.as_ref().filter(|_| wants(Choice::Map)) {
            return Shape::Map(map, self.atomic.unwrap_or(map.atomic));
        }
        if let Some(scalar) = self.of.scalar.filter(|_| wants(Choice::Scalar)) {
            return Shape::Scalar(scalar);
        }
        let list = self.of.list.as_ref().filter(|_| wants(Choice::List));
        list.map_or(Shape::Unknown, Shape::List)
    }

    /// The part that a value has.
    pub(crate) fn shape_of(self, value: &Value) -> Shape<'t> {
        self.shape(self.choice(value))
    }

    pub(crate) fn as_map(self) -> Option<&'t Map> {
        self.of.map.as_ref()
    }

    pub(crate) fn as_list(self) -> Option<&'t List> {
        self.of.list.as_ref()
    }
}

impl Map {
    /// The type of a field. One that is not declared is whatever it is.
    pub(crate) fn field(&self, name: &str) -> TypeRef {
        let declared = self.fields.get(name).map(|field| &field.of);
        let of = declared.or(self.values.as_ref()).cloned();
        of.unwrap_or_else(TypeRef::deduced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    #[test]
    fn every_built_in_kind_is_in_the_table() {
        for resource in builtin::resource_types() {
            let of = type_of(&resource);
            assert!(matches!(of.target, Target::Table(_)), "{}", resource.kind);
            assert!(
                of.view().as_map().unwrap().fields.contains_key("metadata"),
                "{}",
                resource.kind
            );
        }
    }

    #[test]
    fn zero_has_what_go_writes_of_an_empty_structure() {
        let resources = builtin::resource_types();
        let deployment = resources.iter().find(|one| one.kind == "Deployment");
        let zero = type_of(deployment.unwrap()).zero();
        assert_eq!(zero["spec"]["selector"], Value::Null);
        assert_eq!(
            zero["spec"]["template"],
            json!({"metadata": {}, "spec": {"containers": null}})
        );
        assert_eq!(zero["spec"].get("replicas"), None);
    }
}
