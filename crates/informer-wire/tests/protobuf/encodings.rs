//! Ways of writing the same message that no Kubernetes server uses and that protobuf allows.

use informer_wire::schema::{Form, Message, Scalar};

use super::*;

/// The fields of a message: their numbers, and their bytes with and without the tag.
pub(super) fn fields(mut bytes: &[u8]) -> Vec<(u32, &[u8], &[u8])> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let whole = bytes;
        let tag = varint(&mut bytes);
        let length = match tag & 7 {
            0 => {
                let before = bytes.len();
                let mut rest = bytes;
                varint(&mut rest);
                before - rest.len()
            }
            1 => 8,
            2 => varint(&mut bytes) as usize,
            5 => 4,
            other => panic!("wire type {other}"),
        };
        let (value, rest) = bytes.split_at(length);
        bytes = rest;
        let whole = &whole[..whole.len() - rest.len()];
        fields.push(((tag >> 3) as u32, whole, value));
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("the number is whole");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            break;
        }
    }
    value
}

/// Writes the message with its fields in another order, elements of a list staying in theirs; messages in two parts;
/// scalars twice, the right value last; and an unknown field among them.
pub(super) fn shuffle(message: Message, bytes: &[u8], seed: u64, out: &mut Vec<u8>) {
    let mut groups: Vec<Vec<u8>> = Vec::new();
    let mut last = 0;
    for (no, whole, value) in fields(bytes) {
        let field = message.field(no);
        let mut record = Vec::new();
        match field.map(|field| (field, field.scalar())) {
            Some((field, Scalar::Message(inner)))
                if inner.form() == Form::Object && !field.is_map() =>
            {
                let mut shuffled = Vec::new();
                shuffle(inner, value, seed, &mut shuffled);
                if field.is_repeated() {
                    protobuf::write_bytes(no, &shuffled, &mut record);
                } else {
                    for part in fields(&shuffled) {
                        protobuf::write_bytes(no, part.1, &mut record);
                    }
                    protobuf::write_bytes(no, b"", &mut record);
                }
            }
            Some((field, Scalar::String)) if !field.is_repeated() && !field.is_map() => {
                protobuf::write_bytes(no, b"an earlier value", &mut record);
                record.extend_from_slice(whole);
            }
            _ => record.extend_from_slice(whole),
        }
        // What repeats stays together in its order.
        if no == last {
            groups.last_mut().unwrap().extend(record);
        } else {
            groups.push(record);
        }
        last = no;
    }
    groups.push(vec![0xf8, 0x3f, 1]);
    let turn = seed as usize % groups.len();
    groups.rotate_left(turn);
    if seed & 1 == 1 {
        groups.reverse();
    }
    out.extend(groups.concat());
}

fn config_map(message: &[u8]) -> Result<Value, DecodeError> {
    decode(&protobuf::envelope("v1", "ConfigMap", message))
}

// INV-WIRE-16
#[test]
fn scattered_elements_are_one_list() {
    let spec = |container: &str| json!({"spec": {"containers": [{"name": container}]}, "metadata": {"name": "a"}});
    let message = |pod: &Value| protobuf::message("v1", "Pod", pod).unwrap();
    let both = [message(&spec("a")), message(&spec("b"))].concat();
    let pod: Value = decode(&protobuf::envelope("v1", "Pod", &both)).unwrap();
    assert_eq!(pod["spec"]["containers"][0]["name"], "a");
    assert_eq!(pod["spec"]["containers"][1]["name"], "b");
    let pod: Dynamic = decode(&protobuf::envelope("v1", "Pod", &both)).unwrap();
    assert_eq!(
        pod.field("/spec/containers/1/name").unwrap(),
        Some("b".to_owned())
    );
    assert_eq!(pod.decode().unwrap()["spec"]["containers"][1]["name"], "b");
}

// INV-WIRE-16
#[test]
fn last_of_repeated_keys_counts_and_missing_values_are_empty() {
    let mut message = Vec::new();
    let entry = |parts: &[(u32, &str)]| {
        let mut entry = Vec::new();
        for (no, text) in parts {
            protobuf::write_bytes(*no, text.as_bytes(), &mut entry);
        }
        entry
    };
    protobuf::write_bytes(2, &entry(&[(1, "a"), (2, "old")]), &mut message);
    protobuf::write_bytes(2, &entry(&[(2, "new"), (1, "a"), (9, "?")]), &mut message);
    protobuf::write_bytes(2, &entry(&[(1, "b")]), &mut message);
    protobuf::write_bytes(2, &entry(&[(2, "c")]), &mut message);
    let data = config_map(&message).unwrap()["data"].clone();
    assert_eq!(data, json!({"a": "new", "b": "", "": "c"}));
}

#[test]
fn what_is_no_utf8_is_shown_as_json_would_show_it() {
    let mut metadata = Vec::new();
    protobuf::write_bytes(1, b"a\xffb", &mut metadata);
    let mut message = Vec::new();
    protobuf::write_bytes(1, &metadata, &mut message);
    assert_eq!(
        config_map(&message).unwrap()["metadata"]["name"],
        "a\u{fffd}b"
    );
    let object: PartialObjectMetadata =
        decode(&protobuf::envelope("v1", "ConfigMap", &message)).unwrap();
    assert_eq!(object.metadata().name(), "a\u{fffd}b");
}

/// The bytes of a field that lies within others, with those around it.
pub(super) fn nest(api_version: &str, kind: &str, path: &[&str], inner: &[u8]) -> Vec<u8> {
    fn wrap(message: Message, path: &[&str], inner: &[u8]) -> Vec<u8> {
        let Some((name, path)) = path.split_first() else {
            return inner.to_vec();
        };
        let (no, field) = message
            .fields()
            .find(|(_, field)| field.name() == *name)
            .expect("the field exists");
        let Scalar::Message(message) = field.scalar() else {
            panic!("{name} is no message")
        };
        let mut out = Vec::new();
        protobuf::write_bytes(no, &wrap(message, path, inner), &mut out);
        out
    }
    let message = Message::of_kind(api_version, kind).expect("the kind exists");
    protobuf::envelope(api_version, kind, &wrap(message, path, inner))
}

#[test]
fn numbers_may_be_packed() {
    let path = ["spec", "podFailurePolicy", "rules", "onExitCodes"];
    let packed = [0x1a, 4, 1, 2, 0xac, 2, 0x18, 9];
    let job: Value = decode(&nest("batch/v1", "Job", &path, &packed)).unwrap();
    let values = &job["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"];
    assert_eq!(values, &json!([1, 2, 300, 9]));
}

// INV-WIRE-13
#[test]
fn ordering_fields_takes_no_more_memory_than_the_fields() {
    // A name, then hundreds of thousands of unknown fields of two bytes, then what comes out of order.
    let mut message = Vec::new();
    protobuf::write_bytes(2, &[], &mut message);
    message.extend([0x78, 1].repeat(500_000));
    protobuf::write_bytes(1, &[0x0a, 1, b'a'], &mut message);
    let bytes = protobuf::envelope("v1", "ConfigMap", &message);
    let cost = allocation_counter::measure(|| {
        let object: Value = decode(&bytes).unwrap();
        assert_eq!(object["metadata"]["name"], "a");
    });
    assert!(
        cost.bytes_max < 2 * bytes.len() as u64,
        "{}",
        cost.bytes_max
    );
}
