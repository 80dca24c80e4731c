//! `cargo xtask field-table`: the table of fields, list types and patch strategies of built-in kinds by which
//! `informer-testkit` applies and patches, made from Kubernetes' OpenAPI. Facts only: names, types and keys.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde_json::{Map, Value};

use crate::cmd::Cmd;
use crate::workspace;

pub(crate) const ABOUT: &str = "\
Makes the table of fields in informer-testkit anew, from the OpenAPI of Kubernetes.
  --check        say whether the table is the one that the OpenAPI gives; write nothing";

const TABLE: &str = "crates/informer-testkit/src/fields/table.txt";
/// Its `go.mod` names the version of Kubernetes.
const MODULE: &str = "e2e/apiserver";
/// The groups and versions that the test kit serves.
const SERVED: [&str; 20] = [
    "v1",
    "admissionregistration.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "apiregistration.k8s.io/v1",
    "apps/v1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "certificates.k8s.io/v1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "events.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1",
    "networking.k8s.io/v1",
    "node.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "resource.k8s.io/v1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1",
];
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const PREFIX: &str = "#/components/schemas/";

/// Makes the table, or checks it.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let check = match arguments {
        [] => false,
        [one] if one == "--check" => true,
        _ => bail!("field-table takes nothing but --check"),
    };
    let root = workspace::root();
    let found = Cmd::new("go")
        .words("list -m -f {{.Version}}={{.Dir}} k8s.io/kubernetes")
        .dir(&root.join(MODULE))
        .output()?;
    let (version, folder) = found.trim().split_once('=').context("no such module")?;
    let table = table(version, &PathBuf::from(folder).join("api/openapi-spec/v3"))?;
    if check {
        let now = std::fs::read_to_string(root.join(TABLE)).context(TABLE)?;
        ensure!(
            now == table,
            "the table is not the one of {version}; run `cargo xtask field-table`"
        );
        return Ok(());
    }
    std::fs::write(root.join(TABLE), &table).context(TABLE)?;
    println!("{version}: {} bytes", table.len());
    Ok(())
}

/// What is wrong with the table in the tree, as far as that can be told without Go.
pub(crate) fn problems(root: &Path, go_mod: &str) -> Vec<(&'static str, String)> {
    let wanted = go_mod
        .lines()
        .find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "));
    let made = std::fs::read_to_string(root.join(TABLE)).unwrap_or_default();
    let made = made.lines().next().unwrap_or_default();
    match wanted {
        Some(wanted) if made == format!("version {wanted}") => Vec::new(),
        _ => vec![(
            TABLE,
            format!("it is of another version than {MODULE}; run `cargo xtask field-table`"),
        )],
    }
}

fn table(version: &str, folder: &Path) -> anyhow::Result<String> {
    let mut schemas = Map::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let text = std::fs::read(entry?.path())?;
        let mut document: Value = serde_json::from_slice(&text)?;
        if let Value::Object(more) = document["components"]["schemas"].take() {
            schemas.extend(more);
        }
    }
    let mut kinds = BTreeMap::new();
    for (name, schema) in &schemas {
        let has_metadata = reference(&schema["properties"]["metadata"]) == Some(META);
        let ids = schema["x-kubernetes-group-version-kind"].as_array();
        for id in ids.into_iter().flatten().filter(|_| has_metadata) {
            let text = |field: &str| id[field].as_str().unwrap_or_default();
            let version = match text("group") {
                "" => text("version").to_owned(),
                group => format!("{group}/{}", text("version")),
            };
            if SERVED.contains(&version.as_str()) {
                kinds.insert((version, text("kind").to_owned()), name.as_str());
            }
        }
    }
    let mut types = Types {
        schemas: &schemas,
        keys: keys(&schemas),
        order: vec![META],
        lines: Vec::new(),
    };
    let mut text = format!("version {version}\n");
    for ((version, kind), name) in &kinds {
        let at = types.index(name);
        text.push_str(&format!("kind {version} {kind} {at}\n"));
    }
    while let Some(name) = types.order.get(types.lines.len()).copied() {
        let line = types.line(name).with_context(|| name.to_owned())?;
        types.lines.push(line);
    }
    for line in &types.lines {
        text.push_str(&format!("type {line}\n"));
    }
    Ok(text)
}

fn reference(schema: &Value) -> Option<&str> {
    let direct = schema["$ref"].as_str();
    let name = direct.or_else(|| schema["allOf"][0]["$ref"].as_str())?;
    name.strip_prefix(PREFIX)
}

/// The fields that are keys of a list, by type: an absent one counts as its default.
fn keys(schemas: &Map<String, Value>) -> BTreeSet<(&str, &str)> {
    let properties = schemas
        .values()
        .flat_map(|schema| schema["properties"].as_object());
    let mut keys = BTreeSet::new();
    for property in properties.flat_map(Map::values) {
        let names = property["x-kubernetes-list-map-keys"].as_array();
        for name in names.into_iter().flatten().filter_map(Value::as_str) {
            keys.extend(reference(&property["items"]).map(|of| (of, name)));
        }
    }
    keys
}

/// The structures that the kinds reach, in the order in which they were met.
struct Types<'s> {
    schemas: &'s Map<String, Value>,
    keys: BTreeSet<(&'s str, &'s str)>,
    order: Vec<&'s str>,
    lines: Vec<String>,
}

impl<'s> Types<'s> {
    fn index(&mut self, name: &'s str) -> usize {
        let known = self.order.iter().position(|known| *known == name);
        known.unwrap_or_else(|| {
            self.order.push(name);
            self.order.len() - 1
        })
    }

    /// The fields of a structure. The test kit's `fields/table.rs` says how they are written.
    fn line(&mut self, name: &'s str) -> anyhow::Result<String> {
        let schema = &self.schemas[name];
        let required = schema["required"].as_array();
        let required: BTreeSet<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut fields = Vec::new();
        let properties = schema["properties"].as_object();
        for (field, property) in properties.context("no properties")? {
            let mut text = format!("{field}:{}", self.expression(property)?);
            let default = &property["default"];
            if default.is_object() {
                text.push('*');
            } else if default.is_null() && required.contains(field.as_str()) && !is_scalar(property)
            {
                text.push('-');
            }
            let strategy = property["x-kubernetes-patch-strategy"].as_str();
            for strategy in strategy.unwrap_or_default().split(',') {
                match strategy {
                    "" => {}
                    "merge" => {
                        text.push('~');
                        text.push_str(
                            property["x-kubernetes-patch-merge-key"]
                                .as_str()
                                .unwrap_or_default(),
                        );
                    }
                    // Takes its part from the patch alone.
                    "retainKeys" => {}
                    "replace" => text.push('$'),
                    other => bail!("unknown patch strategy {other}"),
                }
            }
            if self.keys.contains(&(name, field.as_str())) && !default.is_null() {
                text.push_str(&format!("={default}"));
            }
            ensure!(!text.contains(','), "a comma in {text}");
            fields.push(text);
        }
        Ok(format!("{}{}", mark(schema), fields.join(",")))
    }

    fn expression(&mut self, schema: &'s Value) -> anyhow::Result<String> {
        if let Some(name) = reference(schema) {
            let target = &self.schemas[name];
            let text = match name.rsplit('.').next().unwrap_or_default() {
                "Quantity" => "x".to_owned(),
                "RawExtension" => "a".to_owned(),
                _ if target["properties"].is_object() => self.index(name).to_string(),
                _ => self.expression(target)?,
            };
            return Ok(text + mark(schema));
        }
        Ok(match schema["type"].as_str() {
            None => "d".to_owned(),
            Some("string") => match schema["format"].as_str() {
                None | Some("byte") => "s".to_owned(),
                Some(_) => "x".to_owned(),
            },
            Some("boolean") => "b".to_owned(),
            Some("integer" | "number") => "n".to_owned(),
            Some("array") => {
                let keys = schema["x-kubernetes-list-map-keys"].as_array();
                let keys: Vec<&str> = keys
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .collect();
                let items = self.expression(&schema["items"])?;
                let strategy = schema["x-kubernetes-patch-strategy"].as_str();
                let merges = strategy.is_some_and(|strategy| strategy.starts_with("merge"));
                match schema["x-kubernetes-list-type"].as_str() {
                    Some("map") => format!("[{items}|{}]", keys.join("+")),
                    Some("set") => format!("[{items}|]"),
                    None if merges => {
                        let key = schema["x-kubernetes-patch-merge-key"].as_str();
                        format!("[{items}|{}]", key.unwrap_or_default())
                    }
                    _ => format!("[{items}]"),
                }
            }
            Some("object") => {
                let inner = match &schema["additionalProperties"] {
                    Value::Object(_) => self.expression(&schema["additionalProperties"])?,
                    _ => "d".to_owned(),
                };
                format!("{{{inner}}}{}", mark(schema))
            }
            Some(other) => bail!("unknown type {other}"),
        })
    }
}

fn is_scalar(schema: &Value) -> bool {
    reference(schema).is_none() && !matches!(schema["type"].as_str(), Some("array" | "object"))
}

fn mark(schema: &Value) -> &'static str {
    match schema["x-kubernetes-map-type"].as_str() {
        Some("atomic") => "!",
        Some("granular") => "^",
        _ => "",
    }
}
