//! What the definition of a custom resource says beside its names.

use serde_json::Value;

/// The parts of a version of a custom resource definition that the server uses when it answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Definition {
    /// The categories it belongs to, such as `all`.
    pub(crate) categories: Vec<String>,
    /// Its `additionalPrinterColumns`.
    pub(crate) columns: Vec<Value>,
    /// Its scale subresource.
    pub(crate) scale: Option<ScalePaths>,
    /// Its schema.
    pub(crate) schema: Value,
}

/// Where a custom resource keeps what its scale subresource shows: JSON paths of plain steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) replicas: String,
    pub(crate) current: String,
    pub(crate) selector: String,
}

impl Definition {
    /// Reads the definition of one version.
    pub(crate) fn of(definition: &Value, version: &Value) -> Self {
        let scale = &version["subresources"]["scale"];
        let path = |field: &str| scale[field].as_str().unwrap_or_default().to_owned();
        let categories = definition["spec"]["names"]["categories"].as_array();
        let categories = categories.into_iter().flatten();
        Self {
            categories: categories
                .filter_map(|category| category.as_str().map(str::to_owned))
                .collect(),
            columns: version["additionalPrinterColumns"]
                .as_array()
                .cloned()
                .unwrap_or_default(),
            scale: scale.is_object().then(|| ScalePaths {
                replicas: path("specReplicasPath"),
                current: path("statusReplicasPath"),
                selector: path("labelSelectorPath"),
            }),
            schema: version["schema"]["openAPIV3Schema"].clone(),
        }
    }
}
