//! Metadata in protobuf: read without serde, so that nothing is built but what is kept, and written again.

use std::sync::Arc;

use informer_store::{ResourceVersion, Uid};
use jiff::Timestamp;

use super::object_meta::{ObjectMeta, Pair, Rare};
use super::owner::Owner;
use super::time::Seconds;
use crate::intern::Texts;
use crate::protobuf::{
    Fault, Payload, Reader, Wire, text, time_parts, write_bytes, write_tag, write_varint,
};

impl ObjectMeta {
    /// Reads the fields of a metadata message.
    pub(crate) fn from_protobuf(bytes: &[u8], texts: &mut Texts<'_>) -> Result<Self, Fault> {
        let mut meta = Self::default();
        let mut rare = Rare::default();
        let mut many = Many::count(bytes)?;
        let mut reader = Reader(bytes);
        while let Some((no, payload)) = reader.field()? {
            match (no, payload) {
                (1, Payload::Bytes(name)) => meta.name = text(name).into(),
                (2, Payload::Bytes(name)) => rare.generate_name = shared(name, texts),
                (3, Payload::Bytes(namespace)) => meta.namespace = shared(namespace, texts),
                (5, Payload::Bytes(uid)) => {
                    meta.uid = (!uid.is_empty()).then(|| Uid::new(&text(uid)));
                }
                (6, Payload::Bytes(version)) => {
                    meta.resource_version =
                        (!version.is_empty()).then(|| ResourceVersion::new(&text(version)));
                }
                (7, Payload::Varint(number)) => {
                    meta.generation = Some(number as i64).filter(|number| *number != 0);
                }
                (8, Payload::Bytes(time)) => meta.creation = seconds(time)?,
                (9, Payload::Bytes(time)) => rare.deletion = seconds(time)?,
                (10, Payload::Varint(number)) => {
                    rare.deletion_grace_period_seconds = Some(number as i64);
                }
                (11, Payload::Bytes(entry)) => many.labels.push(pair(entry, texts)?),
                (12, Payload::Bytes(entry)) => many.annotations.push(pair(entry, texts)?),
                (13, Payload::Bytes(reference)) => many.owners.push(owner(reference, texts)?),
                (14, Payload::Bytes(finalizer)) => {
                    many.finalizers.push(texts.get(&text(finalizer)));
                }
                (1..=3 | 5..=14, _) => return Err(Fault::Encoding),
                // Among them managed fields: they are not even looked at.
                _ => {}
            }
        }
        meta.labels = texts.labels(sorted(many.labels));
        meta.annotations = sorted(many.annotations).into_boxed_slice();
        rare.owners = texts.owners(many.owners);
        rare.finalizers = many.finalizers.into_boxed_slice();
        if rare != Rare::default() {
            meta.rare = Some(Box::new(rare));
        }
        Ok(meta)
    }

    /// Writes the metadata as a message.
    pub(crate) fn write_protobuf(&self, out: &mut Vec<u8>) {
        let some = |no, value: Option<&str>, out: &mut Vec<u8>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                write_bytes(no, value.as_bytes(), out);
            }
        };
        let shown = |value: &dyn std::fmt::Display| value.to_string();
        let none = Rare::default();
        let rare = self.rare.as_deref().unwrap_or(&none);
        some(1, Some(&self.name), out);
        some(2, rare.generate_name.as_deref(), out);
        some(3, self.namespace.as_deref(), out);
        some(5, self.uid.as_ref().map(|uid| shown(uid)).as_deref(), out);
        let version = self.resource_version.as_ref();
        some(6, version.map(|version| shown(version)).as_deref(), out);
        write_number(7, self.generation, out);
        write_time(8, self.creation, out);
        write_time(9, rare.deletion, out);
        write_number(10, rare.deletion_grace_period_seconds, out);
        for (no, pairs) in [(11, &*self.labels), (12, &*self.annotations)] {
            for (key, value) in pairs {
                let mut entry = Vec::with_capacity(key.len() + value.len() + 8);
                write_bytes(1, key.as_bytes(), &mut entry);
                write_bytes(2, value.as_bytes(), &mut entry);
                write_bytes(no, &entry, out);
            }
        }
        for owner in &*rare.owners {
            write_bytes(13, &owner_bytes(owner), out);
        }
        for finalizer in &rare.finalizers {
            write_bytes(14, finalizer.as_bytes(), out);
        }
    }
}

/// Fields that may be repeated.
struct Many {
    labels: Vec<Pair>,
    annotations: Vec<Pair>,
    owners: Vec<Owner>,
    finalizers: Vec<Arc<str>>,
}

impl Many {
    /// With room for exactly as many as there are, so that nothing is moved when they are all read.
    fn count(bytes: &[u8]) -> Result<Self, Fault> {
        let mut counts = [0; 4];
        let mut reader = Reader(bytes);
        while let Some((no, _)) = reader.field()? {
            if let 11..=14 = no {
                counts[no as usize - 11] += 1;
            }
        }
        Ok(Self {
            labels: Vec::with_capacity(counts[0]),
            annotations: Vec::with_capacity(counts[1]),
            owners: Vec::with_capacity(counts[2]),
            finalizers: Vec::with_capacity(counts[3]),
        })
    }
}

fn shared(bytes: &[u8], texts: &mut Texts<'_>) -> Option<Arc<str>> {
    (!bytes.is_empty()).then(|| texts.get(&text(bytes)))
}

fn seconds(bytes: &[u8]) -> Result<Seconds, Fault> {
    /// Go's zero time.
    const ZERO: (i64, i32) = (-62_135_596_800, 0);
    match time_parts(bytes)? {
        None | Some(ZERO) => Ok(Seconds::NONE),
        Some((seconds, _)) => Timestamp::from_second(seconds)
            .map(Seconds::of)
            .map_err(|_| Fault::Value),
    }
}

fn pair(bytes: &[u8], texts: &mut Texts<'_>) -> Result<Pair, Fault> {
    let (mut key, mut value) = (&b""[..], &b""[..]);
    let mut reader = Reader(bytes);
    while let Some((no, payload)) = reader.field()? {
        match (no, payload) {
            (1, Payload::Bytes(bytes)) => key = bytes,
            (2, Payload::Bytes(bytes)) => value = bytes,
            (1 | 2, _) => return Err(Fault::Encoding),
            _ => {}
        }
    }
    Ok((texts.get(&text(key)), texts.get(&text(value))))
}

/// Sorts the pairs by key; of equal keys the last one counts.
pub(super) fn sorted(mut pairs: Vec<Pair>) -> Vec<Pair> {
    // Servers write them sorted.
    if !pairs.is_sorted_by(|(a, _), (b, _)| a < b) {
        pairs.reverse();
        pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
        pairs.dedup_by(|(a, _), (b, _)| a == b);
    }
    pairs
}

fn owner(bytes: &[u8], texts: &mut Texts<'_>) -> Result<Owner, Fault> {
    let mut parts = [&b""[..]; 4];
    let (mut controller, mut block_owner_deletion) = (None, None);
    let mut reader = Reader(bytes);
    while let Some((no, payload)) = reader.field()? {
        match (no, payload) {
            (5, Payload::Bytes(api_version)) => parts[0] = api_version,
            (1, Payload::Bytes(kind)) => parts[1] = kind,
            (3, Payload::Bytes(name)) => parts[2] = name,
            (4, Payload::Bytes(uid)) => parts[3] = uid,
            (6, Payload::Varint(value)) => controller = Some(value != 0),
            (7, Payload::Varint(value)) => block_owner_deletion = Some(value != 0),
            (1 | 3..=7, _) => return Err(Fault::Encoding),
            _ => {}
        }
    }
    let [api_version, kind, name, uid] = parts;
    // As metadata from JSON has it.
    let mut get = |bytes: &[u8]| shared(bytes, texts).unwrap_or_default();
    Ok(Owner {
        api_version: get(api_version),
        kind: get(kind),
        name: get(name),
        uid: Uid::new(&text(uid)),
        controller,
        block_owner_deletion,
    })
}

fn owner_bytes(owner: &Owner) -> Vec<u8> {
    let mut out = Vec::new();
    write_bytes(1, owner.kind.as_bytes(), &mut out);
    write_bytes(3, owner.name.as_bytes(), &mut out);
    write_bytes(4, owner.uid.to_string().as_bytes(), &mut out);
    write_bytes(5, owner.api_version.as_bytes(), &mut out);
    write_number(6, owner.controller.map(i64::from), &mut out);
    write_number(7, owner.block_owner_deletion.map(i64::from), &mut out);
    out
}

fn write_number(no: u32, number: Option<i64>, out: &mut Vec<u8>) {
    if let Some(number) = number {
        write_tag(no, Wire::Varint, out);
        write_varint(number as u64, out);
    }
}

fn write_time(no: u32, time: Seconds, out: &mut Vec<u8>) {
    if let Some(time) = time.get() {
        let mut message = Vec::new();
        write_number(1, Some(time.as_second()), &mut message);
        write_bytes(no, &message, out);
    }
}
