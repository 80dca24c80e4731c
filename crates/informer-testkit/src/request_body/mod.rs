//! Bodies of requests as JSON: objects and the options of a delete, in JSON, YAML or protobuf. What a real server
//! refuses because it cannot read it is refused here, in its words.

mod delete_options;
mod json;
mod protobuf;
mod summary;

use informer_wire::schema::Message;
use informer_wire::{Status, StatusCause};
use serde_json::Value;

pub(crate) use self::delete_options::{DeleteWish, delete_options, dry_run_refusal};
use self::protobuf::Envelope;
use self::summary::summary;
use crate::resource::ResourceType;
use crate::status;

/// The media types in which a real server takes objects.
const MEDIA_TYPES: [&str; 3] = [
    "application/json",
    "application/yaml",
    crate::protobuf::MEDIA_TYPE,
];

/// Where a real server keeps the list of its kinds, as its messages say.
const SCHEME: &str = "pkg/runtime/scheme.go:111";

/// The format of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Yaml,
    Protobuf,
}

impl Format {
    /// Reads a `Content-Type`; without one a body is JSON.
    fn of(media_type: &str, protobuf_spoken: bool) -> Result<Self, Status> {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        let is = |known: &str| essence.eq_ignore_ascii_case(known);
        let [json, yaml, protobuf] = MEDIA_TYPES;
        match essence {
            "" => Ok(Self::Json),
            _ if is(json) => Ok(Self::Json),
            _ if is(yaml) => Ok(Self::Yaml),
            _ if !protobuf_spoken => Err(status::unsupported_media_type(&MEDIA_TYPES[..2])),
            _ if is(protobuf) => Ok(Self::Protobuf),
            _ => Err(status::unsupported_media_type(&MEDIA_TYPES)),
        }
    }
}

/// Whether a body of this media type is JSON text.
pub(crate) fn is_json(media_type: &str) -> bool {
    Format::of(media_type, true) == Ok(Format::Json)
}

/// Reads an object that is to be created or to replace another. Afterwards it has its type.
pub(crate) fn object(
    media_type: &str,
    body: &[u8],
    resource: &ResourceType,
    protobuf_spoken: bool,
) -> Result<Value, Status> {
    let format = Format::of(media_type, protobuf_spoken)?;
    if resource.custom {
        return custom(format, body, resource);
    }
    let unrecognized = |why: String| unrecognized(resource, body, &why);
    let (default_version, default_kind) = (resource.api_version(), &resource.kind);
    let or = |text: &str, default: &str| match text {
        "" => default.to_owned(),
        text => text.to_owned(),
    };
    if format == Format::Protobuf {
        let envelope = Envelope::read(body).map_err(unrecognized)?;
        let version = or(&envelope.api_version, &default_version);
        let kind = or(&envelope.kind, default_kind);
        let unhandled = |why: String| unhandled(resource, &version, &kind, &why);
        let Some(message) = Message::of_kind(&version, &kind) else {
            convertible(resource, &version, &kind)?;
            // Definitions of custom resources and API services, which the table does not have.
            return Err(status::unsupported_media_type(&MEDIA_TYPES[..2]));
        };
        let mut object = protobuf::object(message, &kind, envelope.raw).map_err(unhandled)?;
        convertible(resource, &version, &kind)?;
        name(&mut object, &version, &kind);
        return Ok(object);
    }
    let mut object = text(format, body).map_err(unrecognized)?;
    let types = types(&object).map_err(unrecognized)?;
    let (version, kind) = (or(&types.0, &default_version), or(&types.1, default_kind));
    convertible(resource, &version, &kind)?;
    if object.is_null() {
        object = Value::Object(serde_json::Map::new());
    }
    check_metadata(resource, &object)?;
    name(&mut object, &version, &kind);
    Ok(object)
}

/// Reads a custom resource, which must have its type. A real server has no protobuf of it: it drops the connection.
fn custom(format: Format, body: &[u8], resource: &ResourceType) -> Result<Value, Status> {
    if format == Format::Protobuf {
        return Err(status::unsupported_media_type(&MEDIA_TYPES[..2]));
    }
    let unrecognized = |why: String| unrecognized(resource, body, &why);
    let object = text(format, body).map_err(unrecognized)?;
    let (version, kind) = types(&object).map_err(unrecognized)?;
    if kind.is_empty() {
        let text = match format {
            Format::Json => String::from_utf8_lossy(body).into_owned(),
            _ => object.to_string(),
        };
        return Err(unrecognized(format!(
            "Object 'Kind' is missing in '{text}'"
        )));
    }
    let expected = resource.api_version();
    if version != expected {
        return Err(other_version(&version, &expected));
    }
    check_metadata(resource, &object)?;
    if kind != resource.kind {
        let message = format!("Invalid value: {kind:?}: must be {}", resource.kind);
        let cause = StatusCause::new("FieldValueInvalid", message).with_field("kind");
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        return Err(status::invalid(&resource.group, &kind, name, vec![cause]));
    }
    Ok(object)
}

/// Reads JSON or YAML.
fn text(format: Format, body: &[u8]) -> Result<Value, String> {
    if format == Format::Yaml {
        return yaml(body);
    }
    serde_json::from_slice(body).map_err(|error| {
        let why = json::syntax_error(body).unwrap_or_else(|| error.to_string());
        format!("couldn't get version/kind; json parse error: {why}")
    })
}

/// Reads YAML. An empty text is null, as where JSON is made of it first.
fn yaml(body: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(body).map_err(|_| "yaml: invalid leading UTF-8 octet")?;
    let read = serde_saphyr::from_str::<Option<Value>>(text);
    let read = read.map_err(|error| {
        let error = error.to_string();
        // Without the excerpt that follows.
        format!("yaml: {}", error.lines().next().unwrap_or_default())
    })?;
    Ok(read.unwrap_or_default())
}

/// Returns `apiVersion` and `kind` as a body has them.
fn types(object: &Value) -> Result<(String, String), String> {
    let wrong = |what: &str| {
        format!("couldn't get version/kind; json parse error: json: cannot unmarshal {what}")
    };
    if !object.is_object() && !object.is_null() {
        let kind = json_type(object);
        let fields = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
        return Err(wrong(&format!("{kind} into Go value of type {fields}")));
    }
    let text = |field: &str| match &object[field] {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        other => {
            let kind = json_type(other);
            Err(wrong(&format!(
                "{kind} into Go struct field .{field} of type string"
            )))
        }
    };
    let (version, kind) = (text("apiVersion")?, text("kind")?);
    if version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {version}"));
    }
    Ok((version, kind))
}

/// The type of a value in the words of Go's JSON.
fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Refuses metadata that no real server's type holds.
fn check_metadata(resource: &ResourceType, object: &Value) -> Result<(), Status> {
    let metadata = &object["metadata"];
    let refuse = |value: &Value, place: String| {
        let why = format!(
            "json: cannot unmarshal {} into Go {place}",
            json_type(value)
        );
        Err(unhandled(
            resource,
            &resource.api_version(),
            &resource.kind,
            &why,
        ))
    };
    if !metadata.is_object() && !metadata.is_null() {
        let place = match resource.custom {
            true => "value of type v1.ObjectMeta".to_owned(),
            false => format!(
                "struct field {}.metadata of type v1.ObjectMeta",
                resource.kind
            ),
        };
        return refuse(metadata, place);
    }
    let within = if resource.custom { "" } else { "metadata." };
    for field in [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
    ] {
        let value = &metadata[field];
        if !value.is_string() && !value.is_null() {
            let of = if field == "uid" {
                "types.UID"
            } else {
                "string"
            };
            return refuse(
                value,
                format!("struct field ObjectMeta.{within}{field} of type {of}"),
            );
        }
    }
    for field in ["labels", "annotations"] {
        let values = &metadata[field];
        let place = |of| format!("struct field ObjectMeta.{within}{field} of type {of}");
        if !values.is_object() && !values.is_null() {
            return refuse(values, place("map[string]string"));
        }
        let mut all = values.as_object().into_iter().flatten();
        if let Some((_, wrong)) = all.find(|(_, value)| !value.is_string() && !value.is_null()) {
            return refuse(wrong, place("string"));
        }
    }
    Ok(())
}

/// Gives an object its type.
fn name(object: &mut Value, version: &str, kind: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), version.into());
        fields.insert("kind".to_owned(), kind.into());
    }
}

/// The kinds that each group of a real server has.
const META_KINDS: [&str; 8] = [
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "ListOptions",
    "PatchOptions",
    "Status",
    "UpdateOptions",
    "WatchEvent",
];

/// Refuses an object of another kind or version than the resource's.
fn convertible(resource: &ResourceType, version: &str, kind: &str) -> Result<(), Status> {
    let expected = resource.api_version();
    let is_meta = META_KINDS.contains(&kind);
    let is_known = (version, kind) == (&expected, resource.kind.as_str())
        || Message::of_kind(version, kind).is_some()
        || is_meta && Message::kinds().any(|(known, ..)| known == version);
    // The kinds of definitions stand in a list of their own.
    let of_extensions = |group: &str| group.starts_with("apiextensions.k8s.io");
    if !is_known || !is_meta && of_extensions(version) != of_extensions(&expected) {
        let why = unregistered(version, kind);
        return Err(unhandled(resource, version, kind, &why));
    }
    if kind != resource.kind {
        let go_version = version.rsplit('/').next().unwrap_or_default();
        let package = match resource.group.split('.').next() {
            None | Some("" | "events") => "core",
            Some(first) => first,
        };
        let why = format!(
            "converting ({go_version}.{kind}) to ({package}.{}): unknown conversion",
            resource.kind
        );
        return Err(unhandled(resource, version, kind, &why));
    }
    // Evictions are taken in every version there was.
    if version != expected && kind != "Eviction" {
        return Err(other_version(version, &expected));
    }
    Ok(())
}

fn unregistered(version: &str, kind: &str) -> String {
    format!("no kind {kind:?} is registered for version {version:?} in scheme {SCHEME:?}")
}

fn other_version(version: &str, expected: &str) -> Status {
    status::bad_request(format!(
        "the API version in the data ({version}) does not match the expected API version ({expected})"
    ))
}

/// 400: what kind of object it is cannot be found out.
fn unrecognized(resource: &ResourceType, body: &[u8], why: &str) -> Status {
    status::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): {why} ({})",
        resource.kind,
        summary(body)
    ))
}

/// 400: an object of this kind cannot be read.
fn unhandled(resource: &ResourceType, version: &str, kind: &str, why: &str) -> Status {
    let version = version.rsplit('/').next().unwrap_or_default();
    status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {}: {why}",
        resource.kind
    ))
}

#[cfg(test)]
mod tests;
