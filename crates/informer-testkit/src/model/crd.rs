//! Custom resource definitions: an object of that kind makes the server serve another resource.

use std::sync::Arc;

use informer_wire::Status;
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::object::StoredObject;
use super::write::{Part, WriteOptions};
use crate::definition::Definition;
use crate::fields;
use crate::resource::ResourceType;
use crate::schema::{self, Family};
use crate::time::rfc3339;

pub(super) fn is_definition(resource: &ResourceType) -> bool {
    resource.group == "apiextensions.k8s.io" && resource.plural == "customresourcedefinitions"
}

impl Cluster {
    /// Refuses a definition that makes no sense, and writes its status.
    pub(super) fn check_definition(
        &self,
        resource: &ResourceType,
        object: &mut Value,
        old: Option<&Value>,
        options: &WriteOptions,
    ) -> Result<(), Status> {
        if !is_definition(resource) || options.part == Part::Status {
            return Ok(());
        }
        schema::check_definition(object, old, options.part != Part::Whole)?;
        let before = old.map_or(&Value::Null, |old| &old["status"]);
        let mut stored = texts(&before["storedVersions"]);
        for version in versions(object).filter(|version| version["storage"] == true) {
            let name = version["name"].as_str().unwrap_or_default();
            if !stored.iter().any(|known| known == name) {
                stored.push(name.to_owned());
            }
        }
        schema::check_stored_versions(&stored, &object["spec"])?;
        let conflict = self.conflicting_name(object);
        let condition = |kind: &str, fulfilled: bool, reason: &str, message: &str| {
            let status = if fulfilled { "True" } else { "False" };
            let same = before["conditions"].as_array().into_iter().flatten();
            let mut same = same.filter(|known| known["type"] == kind && known["status"] == status);
            let since = same.next().map(|known| known["lastTransitionTime"].clone());
            json!({
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastTransitionTime": since.unwrap_or_else(|| rfc3339(options.now).into()),
            })
        };
        object["status"] = match conflict {
            None => json!({
                "conditions": [
                    condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
                    condition("Established", true, "InitialNamesAccepted", "the initial names have been accepted"),
                ],
                "acceptedNames": object["spec"]["names"],
                "storedVersions": stored,
            }),
            Some((reason, name)) => json!({
                "conditions": [
                    condition("NamesAccepted", false, reason, &format!("{name:?} is already in use")),
                    condition("Established", false, "NotAccepted", "not all names are accepted"),
                ],
                "acceptedNames": { "plural": "", "kind": "" },
                "storedVersions": stored,
            }),
        };
        Ok(())
    }

    /// Returns the name that another resource of the group has, and the reason of the condition.
    fn conflicting_name(&self, definition: &Value) -> Option<(&'static str, String)> {
        let spec = &definition["spec"];
        let names = &spec["names"];
        let others: Vec<_> = self
            .registry
            .iter()
            .filter(|known| {
                spec["group"] == known.group.as_str() && names["plural"] != known.plural.as_str()
            })
            .collect();
        let resources = |name: &str| {
            others.iter().any(|known| {
                let short = known.short_names.iter().any(|short| short == name);
                short || known.plural == name || known.singular == name
            })
        };
        let kinds = |name: &str| {
            let mut known = others.iter();
            known.any(|known| known.kind == name || known.list_kind == name)
        };
        let short_names = texts(&names["shortNames"]);
        let text = |field: &str| names[field].as_str().unwrap_or_default().to_owned();
        let taken = |name: &String, taken: &dyn Fn(&str) -> bool| !name.is_empty() && taken(name);
        let short = short_names.into_iter().find(|name| taken(name, &resources));
        // The last conflict is the one that is reported.
        let checks = [
            (
                "ListKindConflict",
                text("listKind"),
                &kinds as &dyn Fn(&str) -> bool,
            ),
            ("KindConflict", text("kind"), &kinds),
            ("ShortNamesConflict", short.unwrap_or_default(), &resources),
            ("SingularConflict", text("singular"), &resources),
            ("PluralConflict", text("plural"), &resources),
        ];
        let mut checks = checks.into_iter();
        let conflict = checks.find(|(_, name, in_use)| taken(name, *in_use));
        conflict.map(|(reason, name, _)| (reason, name))
    }

    /// Serves the resources of a definition.
    pub(super) fn adopt_definition(&mut self, resource: &ResourceType, object: &Value) {
        if !is_definition(resource) {
            return;
        }
        let spec = &object["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
        let mut family = Family::read(&spec["versions"]);
        let known = self.known_family(&group, &plural);
        if known.is_some() && known == family {
            // Objects have the shape of these schemas already.
            family = known;
        }
        let accepted = object["status"]["conditions"]
            .as_array()
            .is_some_and(|conditions| {
                let mut conditions = conditions.iter();
                conditions.any(|one| one["type"] == "Established" && one["status"] == "True")
            });
        self.registry.unregister(&group, &plural);
        for mut defined in resource_types(object).into_iter().filter(|_| accepted) {
            defined.family.clone_from(&family);
            self.register(defined);
        }
    }

    fn known_family(&self, group: &str, plural: &str) -> Option<Arc<Family>> {
        let mut known = self.registry.iter();
        let known = known.find(|known| known.group == group && known.plural == plural);
        known.and_then(|known| known.family.clone())
    }

    /// Deletes all objects of a definition that is about to be deleted; its paths respond with 404.
    pub(super) fn drop_definition(&mut self, resource: &ResourceType, old: &Arc<StoredObject>) {
        if !is_definition(resource) {
            return;
        }
        let types = resource_types(&old.value(resource));
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
fn resource_types(definition: &Value) -> Vec<ResourceType> {
    let spec = &definition["spec"];
    let names = &spec["names"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, kind, plural) = (
        text(&spec["group"]),
        text(&names["kind"]),
        text(&names["plural"]),
    );
    let served = versions(definition).filter(|version| version["served"] == true);
    served
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
            defined.namespaced = spec["scope"] == "Namespaced";
            defined.definition = Definition::of(definition, version);
            defined.has_status = version["subresources"]["status"].is_object();
            let schema = &version["schema"]["openAPIV3Schema"];
            defined.fields = schema.is_object().then(|| fields::custom(schema));
            defined
        })
        .collect()
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
