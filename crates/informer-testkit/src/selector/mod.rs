//! Label and field selectors as a server reads them from a query, with its error messages.

mod field;
mod label;

pub(crate) use self::field::FieldSelector;
pub(crate) use self::label::LabelSelector;

use informer_wire::Status;

use crate::model::StoredObject;
use crate::resource::ResourceType;
use crate::status;

/// What a server says of a field that it cannot select by: kinds with fields of their own have their own words.
fn unknown_field(resource: &ResourceType, name: &str) -> String {
    if resource.custom || !resource.selectable.is_empty() || !resource.is_selected_by_namespace() {
        return format!("field label not supported: {name}");
    }
    format!(
        "\"{name}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
    )
}

/// The objects of a collection that a request selects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Selection {
    /// Reads both selectors; an unknown field is refused as a real server refuses it.
    pub(crate) fn parse(
        resource: &ResourceType,
        labels: &str,
        fields: &str,
    ) -> Result<Self, Status> {
        let labels = LabelSelector::parse(labels).map_err(status::bad_request)?;
        let fields = FieldSelector::parse(fields).map_err(status::bad_request)?;
        for name in fields.names() {
            let known = name == "metadata.name"
                || (name == "metadata.namespace" && resource.is_selected_by_namespace())
                || resource.selectable.iter().any(|(path, _)| path == name);
            if !known {
                return Err(status::bad_request(unknown_field(resource, name)));
            }
        }
        Ok(Self { labels, fields })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &StoredObject) -> bool {
        self.labels.matches(object.labels()) && self.fields.matches(|name| object.field(name))
    }
}
