//! The table as bytes. `informer-wire`'s `protobuf/table.rs` says what they mean and reads them.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, bail, ensure};

use super::schema::{Field, Schema};

const MAGIC: &[u8; 4] = b"KWT1";
const HEADER: usize = 16;
const RECORD: usize = 8;

/// The scalar types, in the order of their codes; 0 is "no field".
const SCALARS: [&str; 10] = [
    "", "string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "float64", "message",
];
const MESSAGE: u8 = 9;
/// The forms of messages, in the order of their codes: plain ones, lists with a name, and what writes JSON by itself.
const FORMS: [&str; 8] = [
    "",
    "list",
    "Time",
    "MicroTime",
    "Quantity",
    "IntOrString",
    "FieldsV1",
    "RawExtension",
];

const REPEATED: u8 = 1;
const MAP: u8 = 2;
const OMIT_EMPTY: u8 = 4;
const POINTER: u8 = 8;
const INLINE: u8 = 16;
const OMIT_ZERO: u8 = 32;

/// The two files of the table.
#[derive(Debug)]
pub(super) struct Blob {
    pub(super) bytes: Vec<u8>,
    pub(super) names: String,
    /// The names of the messages by their numbers, one a line.
    pub(super) messages: String,
}

impl Blob {
    pub(super) fn of(schema: &Schema) -> anyhow::Result<Self> {
        let mut names = Names::default();
        let mut ids = BTreeMap::new();
        for name in schema.messages.keys().chain(&schema.special) {
            ids.insert(name.as_str(), u16::try_from(ids.len())?);
        }
        let (mut messages, mut slots) = (Vec::new(), Vec::new());
        for name in schema.messages.keys().chain(&schema.special) {
            let fields = schema.messages.get(name).map_or(&[][..], Vec::as_slice);
            let first = u16::try_from(slots.len() / RECORD)?;
            let count = fields.iter().map(|field| field.no).max().unwrap_or(0);
            let mut dense = vec![[0; RECORD]; count.into()];
            for field in fields {
                let at = field.no.checked_sub(1).context("a field has number 0")?;
                dense[usize::from(at)] = slot(field, &ids, &mut names)
                    .with_context(|| format!("field {} of {name}", field.no))?;
            }
            slots.extend(dense.concat());
            let [low, high] = first.to_le_bytes();
            let form = form(name, fields)?;
            let required = u8::from(fields.iter().any(is_null_when_absent));
            messages.extend([low, high, count, form, required, 0, 0, 0]);
        }
        let mut kinds = Vec::new();
        for (kind, message) in sorted(&schema.kinds)? {
            let (version_at, version_len) = names.add(kind.0)?;
            let (kind_at, kind_len) = names.add(kind.1)?;
            kinds.extend(version_at.to_le_bytes());
            kinds.extend(kind_at.to_le_bytes());
            kinds.extend([version_len, kind_len]);
            let id = ids
                .get(message)
                .with_context(|| format!("no message {message}"))?;
            kinds.extend(id.to_le_bytes());
        }
        let (version_at, version_len) = names.add(&schema.version)?;
        let mut bytes = MAGIC.to_vec();
        for count in [messages.len(), slots.len(), kinds.len()] {
            bytes.extend(u16::try_from(count / RECORD)?.to_le_bytes());
        }
        bytes.extend(version_at.to_le_bytes());
        bytes.extend([version_len, 0, 0, 0]);
        bytes.extend([messages, slots, kinds].concat());
        let names = names.text;
        let messages = schema.messages.keys().chain(&schema.special);
        let messages = messages
            .map(|name| format!("{}\n", name.strip_prefix("k8s.io/").unwrap_or(name)))
            .collect();
        check(&bytes, &names)?;
        Ok(Self {
            bytes,
            names,
            messages,
        })
    }
}

/// The kinds by version and name, as they are searched for.
fn sorted(kinds: &BTreeMap<String, String>) -> anyhow::Result<BTreeMap<(&str, &str), &str>> {
    let mut sorted = BTreeMap::new();
    for (kind, message) in kinds {
        let kind = kind.rsplit_once('/').context("a kind without a version")?;
        sorted.insert(kind, message.as_str());
    }
    Ok(sorted)
}

fn slot(
    field: &Field,
    ids: &BTreeMap<&str, u16>,
    names: &mut Names,
) -> anyhow::Result<[u8; RECORD]> {
    let scalar = SCALARS.iter().position(|scalar| *scalar == field.scalar);
    let scalar = scalar.with_context(|| format!("unknown type {}", field.scalar))?;
    let flags = [
        (field.repeated, REPEATED),
        (field.map, MAP),
        (field.omit_empty, OMIT_EMPTY),
        (field.pointer, POINTER),
        (field.inline, INLINE),
        (field.omit_zero, OMIT_ZERO),
    ];
    let flags = flags
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, flag)| flag)
        .sum();
    let (at, len) = names.add(&field.json)?;
    let message = match field.message.as_str() {
        "" => 0,
        name => *ids
            .get(name)
            .with_context(|| format!("no message {name}"))?,
    };
    let ([at0, at1], [id0, id1]) = (at.to_le_bytes(), message.to_le_bytes());
    Ok([at0, at1, len, u8::try_from(scalar)?, flags, 0, id0, id1])
}

/// Whether JSON shows null where protobuf has nothing: of lists, maps and bytes it cannot tell empty from none.
fn is_null_when_absent(field: &Field) -> bool {
    let many = field.repeated || field.map || field.scalar == "bytes";
    many && !field.omit_empty && !field.pointer && !field.inline
}

fn form(name: &str, fields: &[Field]) -> anyhow::Result<u8> {
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_list = matches!(fields, [field] if field.inline && field.repeated);
    let form = FORMS
        .iter()
        .position(|form| *form == last)
        .unwrap_or_else(|| usize::from(is_list));
    Ok(u8::try_from(form)?)
}

/// A text of all names, each of them once.
#[derive(Debug, Default)]
struct Names {
    text: String,
    known: HashMap<String, (u16, u8)>,
}

impl Names {
    fn add(&mut self, name: &str) -> anyhow::Result<(u16, u8)> {
        if let Some(&place) = self.known.get(name) {
            return Ok(place);
        }
        let place = (u16::try_from(self.text.len())?, u8::try_from(name.len())?);
        self.text.push_str(name);
        self.known.insert(name.to_owned(), place);
        Ok(place)
    }
}

/// Checks that all that the table refers to is there; the version that it was made from.
pub(super) fn check(bytes: &[u8], names: &str) -> anyhow::Result<String> {
    ensure!(
        bytes.len() >= HEADER && bytes.starts_with(MAGIC),
        "no such table"
    );
    let word = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let (messages, slots, kinds) = (word(4), word(6), word(8));
    ensure!(
        bytes.len() == HEADER + RECORD * (messages + slots + kinds),
        "its length is wrong"
    );
    let name = |at: usize, len: u8| {
        names
            .get(at..at + usize::from(len))
            .context("a name is missing")
    };
    let records = |from: usize, count: usize| {
        bytes[HEADER + from * RECORD..][..count * RECORD].chunks_exact(RECORD)
    };
    for message in records(0, messages) {
        let first = usize::from(u16::from_le_bytes([message[0], message[1]]));
        ensure!(
            first + usize::from(message[2]) <= slots,
            "a message lies outside"
        );
        ensure!(
            usize::from(message[3]) < FORMS.len(),
            "a message has an unknown form"
        );
    }
    for slot in records(messages, slots) {
        name(usize::from(u16::from_le_bytes([slot[0], slot[1]])), slot[2])?;
        let id = usize::from(u16::from_le_bytes([slot[6], slot[7]]));
        ensure!(slot[3] <= MESSAGE, "a field has an unknown type");
        ensure!(
            slot[3] != MESSAGE || id < messages,
            "a field's message is missing"
        );
    }
    let mut last = ("", "");
    for kind in records(messages + slots, kinds) {
        let version = name(usize::from(u16::from_le_bytes([kind[0], kind[1]])), kind[4])?;
        let kind_name = name(usize::from(u16::from_le_bytes([kind[2], kind[3]])), kind[5])?;
        let id = usize::from(u16::from_le_bytes([kind[6], kind[7]]));
        ensure!(id < messages, "a kind's message is missing");
        if last >= (version, kind_name) {
            bail!("its kinds are not in order");
        }
        last = (version, kind_name);
    }
    name(word(10), bytes[12]).map(str::to_owned)
}
