//! Writes `ObjectMeta` through serde, as Kubernetes does.

use jiff::Timestamp;
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use super::object_meta::{ObjectMeta, Pair, Rare};
use super::owner::Owner;

impl Serialize for ObjectMeta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let none = Rare::default();
        let rare = self.rare.as_deref().unwrap_or(&none);
        let mut out = serializer.serialize_struct("ObjectMeta", 13)?;
        some(
            &mut out,
            "name",
            Some(&*self.name).filter(|name| !name.is_empty()),
        )?;
        some(&mut out, "generateName", rare.generate_name.as_deref())?;
        some(&mut out, "namespace", self.namespace())?;
        some(&mut out, "uid", self.uid.as_ref().map(Shown))?;
        some(
            &mut out,
            "resourceVersion",
            self.resource_version.as_ref().map(Shown),
        )?;
        some(&mut out, "generation", self.generation)?;
        some(&mut out, "creationTimestamp", self.creation.get().map(Time))?;
        some(&mut out, "deletionTimestamp", rare.deletion.get().map(Time))?;
        some(
            &mut out,
            "deletionGracePeriodSeconds",
            rare.deletion_grace_period_seconds,
        )?;
        some(
            &mut out,
            "labels",
            Some(Map(&self.labels)).filter(|map| !map.0.is_empty()),
        )?;
        some(
            &mut out,
            "annotations",
            Some(Map(&self.annotations)).filter(|map| !map.0.is_empty()),
        )?;
        some(
            &mut out,
            "ownerReferences",
            Some(&*rare.owners).filter(|owners| !owners.is_empty()),
        )?;
        let finalizers: Vec<&str> = rare
            .finalizers
            .iter()
            .map(|finalizer| &**finalizer)
            .collect();
        some(
            &mut out,
            "finalizers",
            Some(finalizers).filter(|all| !all.is_empty()),
        )?;
        out.end()
    }
}

/// Writes a field that has a value.
fn some<S: SerializeStruct, T: Serialize>(
    out: &mut S,
    name: &'static str,
    value: Option<T>,
) -> Result<(), S::Error> {
    match value {
        Some(value) => out.serialize_field(name, &value),
        None => out.skip_field(name),
    }
}

/// A value that is written as it is shown.
struct Shown<'a, T>(&'a T);

impl<T: std::fmt::Display> Serialize for Shown<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

/// A time as Kubernetes writes it: `2026-11-29T15:33:37Z`.
struct Time(Timestamp);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

struct Map<'a>(&'a [Pair]);

impl Serialize for Map<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.0 {
            out.serialize_entry(&**key, &**value)?;
        }
        out.end()
    }
}

impl Serialize for Owner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("OwnerReference", 6)?;
        out.serialize_field("apiVersion", &*self.api_version)?;
        out.serialize_field("kind", &*self.kind)?;
        out.serialize_field("name", &*self.name)?;
        out.serialize_field("uid", &Shown(&self.uid))?;
        some(&mut out, "controller", self.controller)?;
        some(&mut out, "blockOwnerDeletion", self.block_owner_deletion)?;
        out.end()
    }
}
