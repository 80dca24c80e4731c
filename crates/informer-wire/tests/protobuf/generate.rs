//! Random objects of every kind, made by the table: encoded as protobuf they decode to the same JSON.

use informer_wire::schema::{Field, Form, Message, Scalar};
use proptest::prelude::*;
use serde_json::Map;

use super::*;

/// Makes random objects, in the JSON that an API server would write for them.
struct Generator {
    state: u64,
}

impl Generator {
    fn next(&mut self, below: u64) -> u64 {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }

    fn object(&mut self, message: Message, depth: u32) -> Map<String, Value> {
        let mut object = Map::new();
        for (_, field) in message.fields() {
            if field.is_inline() {
                if let Scalar::Message(inner) = field.scalar() {
                    object.extend(self.object(inner, depth));
                }
                continue;
            }
            if let Some(value) = self.field(field, depth) {
                object.insert(field.name().to_owned(), value);
            }
        }
        object
    }

    /// A field's value; `None` where the server leaves it out.
    fn field(&mut self, field: Field, depth: u32) -> Option<Value> {
        let is_set = self.next(8) < u64::from(depth.min(5)) + 1;
        let many = field.is_repeated() || field.is_map();
        if many {
            let count = if is_set { self.next(3) } else { 0 };
            if count == 0 {
                // Go's nil.
                return field.is_null_when_absent().then_some(Value::Null);
            }
            if field.is_map() {
                let entry = |_| (self.text(), self.value(field.scalar(), depth));
                return Some(Value::Object((0..count).map(entry).collect()));
            }
            return Some(
                (0..count)
                    .map(|_| self.value(field.scalar(), depth))
                    .collect(),
            );
        }
        if field.is_pointer() {
            // A pointer to a zero time would be null; no server keeps one.
            return is_set
                .then(|| self.value(field.scalar(), depth))
                .filter(|value| !value.is_null());
        }
        if field.scalar() == Scalar::Bytes && !is_set {
            return field.is_null_when_absent().then_some(Value::Null);
        }
        let value = match field.scalar() {
            Scalar::Message(_) => self.value(field.scalar(), if is_set { depth } else { 0 }),
            _ if is_set => self.value(field.scalar(), depth),
            scalar => zero(scalar),
        };
        let is_zero = value == zero(field.scalar());
        let is_omitted = field.omits_zero() && is_zero;
        let is_omitted_time = field.omits_zero_time() && value.is_null();
        (!is_omitted && !is_omitted_time).then_some(value)
    }

    fn value(&mut self, scalar: Scalar, depth: u32) -> Value {
        let depth = depth.saturating_sub(1);
        match scalar {
            Scalar::String => self.text().into(),
            Scalar::Bytes => ["", "AA==", "/+7d", "aGFsbG8="][self.next(4) as usize].into(),
            Scalar::Bool => (self.next(2) == 1).into(),
            Scalar::Int32 => [0, 1, -1, i32::MAX, i32::MIN][self.next(5) as usize].into(),
            Scalar::Int64 => [0, 300, -1, i64::MAX, i64::MIN][self.next(5) as usize].into(),
            Scalar::Uint32 => self.next(1 << 32).into(),
            Scalar::Uint64 => self.next(u64::MAX).into(),
            Scalar::Float64 => (self.next(1000) as f64 / 8.0).into(),
            Scalar::Message(message) => match message.form() {
                Form::Object => Value::Object(self.object(message, depth)),
                Form::List => (0..self.next(3))
                    .map(|_| Value::from(self.text()))
                    .collect(),
                Form::Time => self.time(&[
                    "2026-11-29T15:33:37Z",
                    "0001-01-01T00:00:01Z",
                    "9999-12-30T21:59:59Z",
                ]),
                Form::MicroTime => {
                    self.time(&["2026-11-29T15:33:37.000000Z", "1969-12-31T23:59:59.999999Z"])
                }
                Form::Quantity => ["0", "100m", "1Gi", "-3"][self.next(4) as usize].into(),
                Form::IntOrString => match self.next(2) {
                    0 => self.value(Scalar::Int32, depth),
                    _ => self.text().into(),
                },
                Form::FieldsV1 | Form::RawExtension => self.any(),
            },
        }
    }

    fn time(&mut self, times: &[&str]) -> Value {
        let chosen = self.next(times.len() as u64 + 1) as usize;
        times.get(chosen).map_or(Value::Null, |&time| time.into())
    }

    fn any(&mut self) -> Value {
        match self.next(4) {
            0 => Value::Null,
            1 => json!({"f:a": {".": {}, "b": [1, -2, 0.5, null, true]}}),
            2 => json!([]),
            _ => self.text().into(),
        }
    }

    fn text(&mut self) -> String {
        [
            "",
            "a",
            "b/c",
            "ünïcode ✓",
            "k8s\u{0}",
            "x\n\"y\\",
            "0123456789abcdef0123456789abcdef",
        ][self.next(7) as usize]
            .to_owned()
    }
}

fn zero(scalar: Scalar) -> Value {
    match scalar {
        Scalar::String | Scalar::Bytes => "".into(),
        Scalar::Bool => false.into(),
        Scalar::Message(_) => Value::Null,
        Scalar::Float64 => 0.0.into(),
        _ => 0.into(),
    }
}

/// A random object of the kind at this place of the table.
pub(super) fn object(kind: usize, seed: u64) -> Value {
    let kinds: Vec<_> = Message::kinds().collect();
    let (api_version, kind, message) = kinds[kind % kinds.len()];
    let mut object = Generator { state: seed }.object(message, 6);
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    Value::Object(object)
}

impl Generator {
    /// A path into the value, with `*` for some of its keys.
    fn path(&mut self, mut value: &Value) -> String {
        let mut path = String::new();
        loop {
            let (key, inner) = match value {
                Value::Object(object) if !object.is_empty() => {
                    let chosen = self.next(object.len() as u64) as usize;
                    let (key, inner) = object.iter().nth(chosen).unwrap();
                    (key.replace('~', "~0").replace('/', "~1"), inner)
                }
                Value::Array(array) if !array.is_empty() => {
                    let chosen = self.next(array.len() as u64) as usize;
                    (chosen.to_string(), &array[chosen])
                }
                _ => return path,
            };
            let any = self.next(4) == 0;
            path = format!("{path}/{}", if any { "*" } else { &key });
            value = inner;
            if self.next(6) == 0 {
                return path;
            }
        }
    }
}

fn keep() -> DecodeOptions {
    options().keep_managed_fields(true)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 1500 } else { 20_000 }))]

    // INV-WIRE-15
    #[test]
    fn every_object_decodes_to_its_json(kind: usize, seed: u64) {
        let object = object(kind, seed);
        let bytes = protobuf::object(&object).map_err(|error| TestCaseError::fail(error.to_string()))?;
        if object["kind"] == "Status" {
            let error = decode_object::<Value>(PROTOBUF, &bytes, &keep()).expect_err("an error of the server");
            prop_assert!(error.status().is_some() || error.to_string().contains("unreadable Status"));
            return Ok(());
        }
        let decoded: Value = decode_object(PROTOBUF, &bytes, &keep())
            .map_err(|error| TestCaseError::fail(format!("{}: {error}", object["kind"])))?;
        prop_assert_eq!(decoded, object);
    }

    // INV-WIRE-18
    #[test]
    fn what_is_dropped_is_the_same_in_both_formats(kind: usize, seed: u64) {
        let object = object(kind, seed);
        prop_assume!(object["kind"] != "Status");
        let mut generator = Generator { state: seed };
        let paths: Vec<_> = (0..4).map(|_| generator.path(&object)).collect();
        let dropped = paths.iter().fold(keep(), |options, path| options.drop_path(path));
        let bytes = protobuf::object(&object).unwrap();
        let read = |format, bytes: &[u8]| decode_object::<Value>(format, bytes, &dropped)
            .map_err(|error| TestCaseError::fail(format!("{format:?}: {error} without {paths:?}")));
        let json = read(WireFormat::Json, object.to_string().as_bytes())?;
        prop_assert_eq!(read(PROTOBUF, &bytes)?, json, "without {:?}", paths);
    }

    // INV-WIRE-16
    #[test]
    fn the_order_of_fields_does_not_matter(kind: usize, seed: u64) {
        let object = object(kind, seed);
        prop_assume!(object["kind"] != "Status");
        let (api_version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let message = protobuf::message(api_version, kind, &object).unwrap();
        let mut shuffled = Vec::new();
        encodings::shuffle(Message::of_kind(api_version, kind).unwrap(), &message, seed, &mut shuffled);
        let bytes = protobuf::envelope(api_version, kind, &shuffled);
        let decoded: Value = decode_object(PROTOBUF, &bytes, &keep())
            .map_err(|error| TestCaseError::fail(format!("{kind}: {error}")))?;
        prop_assert_eq!(decoded, object);
    }
}
