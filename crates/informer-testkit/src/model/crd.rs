//! Custom resource definitions: an object of that kind makes the server serve another resource.

use std::sync::Arc;

use informer_wire::{Status, StatusCause};
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::object::StoredObject;
use super::write::WriteOptions;
use crate::definition::Definition;
use crate::resource::ResourceType;
use crate::status;
use crate::time::rfc3339;

fn is_definition(resource: &ResourceType) -> bool {
    resource.group == "apiextensions.k8s.io" && resource.plural == "customresourcedefinitions"
}

impl Cluster {
    /// Refuses a definition that defines nothing, and writes its status.
    pub(super) fn check_definition(
        &self,
        resource: &ResourceType,
        object: &mut Value,
        options: &WriteOptions,
    ) -> Result<(), Status> {
        if !is_definition(resource) {
            return Ok(());
        }
        resource_types(object)?;
        let since = object["status"]["conditions"][0]["lastTransitionTime"].as_str();
        let since = since.map_or_else(|| rfc3339(options.now), str::to_owned);
        let condition = |kind: &str, reason: &str, message: &str| {
            json!({
                "type": kind,
                "status": "True",
                "reason": reason,
                "message": message,
                "lastTransitionTime": since,
            })
        };
        let stored: Vec<&Value> = versions(object)
            .filter(|version| version["storage"] == true)
            .map(|version| &version["name"])
            .collect();
        object["status"] = json!({
            "conditions": [
                condition("NamesAccepted", "NoConflicts", "no conflicts found"),
                condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
            ],
            "acceptedNames": object["spec"]["names"],
            "storedVersions": stored,
        });
        Ok(())
    }

    /// Serves the resources of a definition.
    pub(super) fn adopt_definition(&mut self, resource: &ResourceType, object: &Value) {
        if !is_definition(resource) {
            return;
        }
        let types = resource_types(object).unwrap_or_default();
        if let Some(first) = types.first() {
            let (group, plural) = (first.group.clone(), first.plural.clone());
            self.registry.unregister(&group, &plural);
        }
        for defined in types {
            self.register(defined);
        }
    }

    /// Deletes all objects of a definition that is about to be deleted; its paths respond with 404.
    pub(super) fn drop_definition(&mut self, resource: &ResourceType, old: &Arc<StoredObject>) {
        if !is_definition(resource) {
            return;
        }
        let types = resource_types(&old.value(resource)).unwrap_or_default();
        let Some(first) = types.into_iter().next().map(Arc::new) else {
            return;
        };
        let scope = super::collection::Scope::new("");
        let objects: Vec<_> = match self.collection(&first) {
            Ok(collection) => collection.live(&scope, "").cloned().collect(),
            Err(_) => Vec::new(),
        };
        for object in objects {
            self.commit(&first, object.key(), None);
        }
        self.registry.unregister(&first.group, &first.plural);
    }
}

fn versions(definition: &Value) -> impl Iterator<Item = &Value> {
    definition["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
}

/// Returns one type for each served version.
fn resource_types(definition: &Value) -> Result<Vec<ResourceType>, Status> {
    let spec = &definition["spec"];
    let names = &spec["names"];
    let mut causes = Vec::new();
    let mut required = |value: &Value, field: &str| {
        let text = value.as_str().unwrap_or_default().to_owned();
        if text.is_empty() {
            causes.push(StatusCause::new("FieldValueRequired", "Required value").with_field(field));
        }
        text
    };
    let group = required(&spec["group"], "spec.group");
    let kind = required(&names["kind"], "spec.names.kind");
    let plural = required(&names["plural"], "spec.names.plural");
    let scope = required(&spec["scope"], "spec.scope");
    let name = definition["metadata"]["name"].as_str().unwrap_or_default();
    let wanted = format!("{plural}.{group}");
    if causes.is_empty() && name != wanted {
        let message = format!(
            "Invalid value: {name:?}: must be spec.names.plural+\".\"+spec.group, here {wanted:?}"
        );
        causes.push(StatusCause::new("FieldValueInvalid", message).with_field("metadata.name"));
    }
    if versions(definition).all(|version| version["name"].as_str().is_none()) {
        let cause = StatusCause::new("FieldValueRequired", "Required value");
        causes.push(cause.with_field("spec.versions"));
    }
    if !causes.is_empty() {
        let (of_group, of_kind) = ("apiextensions.k8s.io", "CustomResourceDefinition");
        return Err(status::invalid(of_group, of_kind, name, causes));
    }
    let served = versions(definition).filter(|version| version["served"] == true);
    Ok(served
        .filter_map(|version| Some((version, version["name"].as_str()?)))
        .map(|(version, name)| {
            let mut defined = ResourceType::new(&*group, name, &*kind, &*plural)
                .short_names(texts(&names["shortNames"]))
                .selectable_fields(selectable(version));
            if let Some(singular) = names["singular"].as_str() {
                defined.singular = singular.to_owned();
            }
            if let Some(list_kind) = names["listKind"].as_str() {
                defined.list_kind = list_kind.to_owned();
            }
            defined.namespaced = scope == "Namespaced";
            defined.definition = Definition::of(definition, version);
            defined.has_status = version["subresources"]["status"].is_object();
            defined
        })
        .collect())
}

fn texts(list: &Value) -> Vec<String> {
    let entries = list.as_array().into_iter().flatten();
    entries
        .filter_map(|entry| entry.as_str().map(str::to_owned))
        .collect()
}

fn selectable(version: &Value) -> Vec<String> {
    let fields = version["selectableFields"].as_array().into_iter().flatten();
    fields
        .filter_map(|field| {
            Some(
                field["jsonPath"]
                    .as_str()?
                    .trim_start_matches('.')
                    .to_owned(),
            )
        })
        .collect()
}
