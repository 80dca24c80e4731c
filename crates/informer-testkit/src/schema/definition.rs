//! Definitions of custom resources: what a real server refuses of them.

use informer_wire::Status;
use serde_json::{Value, json};

use super::error::{FieldError, Path};
use super::structural::check_schema;
use crate::status;

/// Fills in what a definition may leave out.
pub(crate) fn fill_definition(object: &mut Value) {
    if !object["spec"].is_object() {
        return;
    }
    let spec = &mut object["spec"];
    if spec["names"].is_object() {
        let names = &mut spec["names"];
        if let Some(kind) = names["kind"].as_str().map(str::to_owned) {
            for (field, text) in [
                ("singular", kind.to_lowercase()),
                ("listKind", format!("{kind}List")),
            ] {
                if names[field].as_str().unwrap_or_default().is_empty() {
                    names[field] = text.into();
                }
            }
        }
    }
    if spec["conversion"].is_null() {
        spec["conversion"] = json!({"strategy": "None"});
    }
}

/// Returns what is wrong with a definition. Without `strict`, versions need no schema.
pub(crate) fn check_definition(
    object: &Value,
    old: Option<&Value>,
    strict: bool,
) -> Result<(), Status> {
    let mut errors = Vec::new();
    let spec = &object["spec"];
    let path = Path::new("spec");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&object["metadata"]["name"]);
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    if name != format!("{plural}.{group}") {
        let why = "must be spec.names.plural+\".\"+spec.group";
        let path = Path::new("metadata.name");
        errors.push(FieldError::invalid(&path, &name.as_str().into(), why));
    }
    if group.is_empty() {
        errors.push(FieldError::required(&path.child("group"), ""));
    } else if !group.contains('.') {
        let why = "should be a domain with at least one dot";
        errors.push(FieldError::invalid(
            &path.child("group"),
            &spec["group"],
            why,
        ));
    }
    let scopes = ["Cluster", "Namespaced"];
    match text(&spec["scope"]).as_str() {
        "" => errors.push(FieldError::required(&path.child("scope"), "")),
        scope if !scopes.contains(&scope) => {
            let scope = &spec["scope"];
            errors.push(FieldError::not_supported(
                &path.child("scope"),
                scope,
                &scopes,
            ));
        }
        _ => {}
    }
    let versions = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
    check_versions(versions, &path, strict, &mut errors);
    let mut names: Vec<&Value> = versions.iter().map(|version| &version["name"]).collect();
    names.sort_by_key(|name| name.as_str());
    names.dedup();
    let all = Value::from(versions);
    let versions_path = path.child("versions");
    if names.len() < versions.len() {
        let why = "must contain unique version names";
        errors.push(FieldError::invalid(&versions_path, &all, why));
    }
    if versions
        .iter()
        .filter(|version| version["storage"] == true)
        .count()
        != 1
    {
        let why = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid(&versions_path, &all, why));
    }
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(&spec["names"][field]).is_empty() {
            errors.push(FieldError::required(&path.child("names").child(field), ""));
        }
    }
    if !text(&spec["names"]["kind"]).is_empty()
        && spec["names"]["kind"] == spec["names"]["listKind"]
    {
        let why = "kind and listKind may not be the same";
        let list_kind = &spec["names"]["listKind"];
        errors.push(FieldError::invalid(
            &path.child("names.listKind"),
            list_kind,
            why,
        ));
    }
    check_conversion(&spec["conversion"], &path.child("conversion"), &mut errors);
    if let Some(old) = old {
        check_unchanged(spec, &old["spec"], &path, &mut errors);
    }
    if errors.is_empty() {
        return Ok(());
    }
    let causes = errors.into_iter().map(FieldError::into_cause).collect();
    let (group, kind) = ("apiextensions.k8s.io", "CustomResourceDefinition");
    Err(status::invalid(group, kind, &name, causes))
}

/// Checks the versions. What is the same in all of them, a real server keeps and reports above them.
fn check_versions(versions: &[Value], path: &Path, strict: bool, errors: &mut Vec<FieldError>) {
    let same = |field: &str| {
        let first = &versions[0][field];
        !first.is_null() && versions.iter().all(|version| version[field] == *first)
    };
    let one_schema = !versions.is_empty() && same("schema");
    let one_scale = !versions.is_empty() && same("subresources");
    for (at, version) in versions.iter().enumerate() {
        let below = path.child("versions").index(at);
        if version["name"].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::invalid(
                &below.child("name"),
                &"".into(),
                NO_LABEL,
            ));
        }
        let schema = &version["schema"]["openAPIV3Schema"];
        if strict && !schema.is_object() {
            let path = below.child("schema").child("openAPIV3Schema");
            errors.push(FieldError::required(&path, ""));
        }
        if !one_schema {
            errors.extend(check_schema(
                schema,
                &below.child("schema").child("openAPIV3Schema"),
            ));
        }
        if !one_scale {
            check_scale(
                &version["subresources"]["scale"],
                &below.child("subresources"),
                errors,
            );
        }
    }
    if one_schema {
        let schema = &versions[0]["schema"]["openAPIV3Schema"];
        let path = path.child("validation").child("openAPIV3Schema");
        errors.extend(check_schema(schema, &path));
    }
    if one_scale {
        let scale = &versions[0]["subresources"]["scale"];
        check_scale(scale, &path.child("subresources"), errors);
    }
}

const NO_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
    alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

fn check_scale(scale: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    if !scale.is_object() {
        return;
    }
    for (field, below) in [
        ("specReplicasPath", ".spec."),
        ("statusReplicasPath", ".status."),
    ] {
        let value = scale[field].as_str().unwrap_or_default();
        let path = path.child("scale").child(field);
        if value.is_empty() {
            errors.push(FieldError::required(&path, ""));
        } else if !value.starts_with(below) {
            let why = format!(
                "should be a json path under {}",
                below.trim_end_matches('.')
            );
            errors.push(FieldError::invalid(&path, &value.into(), &why));
        }
    }
}

fn check_conversion(conversion: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let path = path.child("strategy");
    match conversion["strategy"].as_str() {
        None | Some("None") => {}
        Some("Webhook") => {
            let why = "this server calls no webhooks: use None, which changes the apiVersion alone";
            errors.push(FieldError::forbidden(&path, why));
        }
        Some(_) => {
            let known = ["None", "Webhook"];
            errors.push(FieldError::not_supported(
                &path,
                &conversion["strategy"],
                &known,
            ));
        }
    }
}

/// Names and scope stay as they are once they were accepted, and what objects were stored in stays known.
fn check_unchanged(spec: &Value, old: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    for (field, value, before) in [
        ("scope", &spec["scope"], &old["scope"]),
        ("names.kind", &spec["names"]["kind"], &old["names"]["kind"]),
        ("group", &spec["group"], &old["group"]),
        (
            "names.plural",
            &spec["names"]["plural"],
            &old["names"]["plural"],
        ),
    ] {
        if value != before {
            let why = "field is immutable";
            errors.push(FieldError::invalid(&path.child(field), value, why));
        }
    }
}

/// Returns what is wrong with the versions in which objects were stored.
pub(crate) fn check_stored_versions(stored: &[String], spec: &Value) -> Result<(), Status> {
    let versions = spec["versions"].as_array().into_iter().flatten();
    let names: Vec<&str> = versions
        .filter_map(|version| version["name"].as_str())
        .collect();
    let path = Path::new("status.storedVersions");
    let lost = stored
        .iter()
        .enumerate()
        .filter(|(_, name)| !names.contains(&name.as_str()));
    let errors = lost.map(|(at, name)| {
        let why = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until \
             a storage migration ensures no data remains persisted in {name} and removes {name} from \
             status.storedVersions"
        );
        FieldError::invalid(&path.index(at), &name.as_str().into(), &why)
    });
    let causes: Vec<_> = errors.map(FieldError::into_cause).collect();
    if causes.is_empty() {
        return Ok(());
    }
    let plural = spec["names"]["plural"].as_str().unwrap_or_default();
    let group = spec["group"].as_str().unwrap_or_default();
    let name = format!("{plural}.{group}");
    let (group, kind) = ("apiextensions.k8s.io", "CustomResourceDefinition");
    Err(status::invalid(group, kind, &name, causes))
}
