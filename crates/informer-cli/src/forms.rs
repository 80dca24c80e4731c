//! The forms in which objects are held, and work that is generic over them.

use informer::wire::ObjectForm;
use informer::{Dynamic, FromWire, Object, PartialObjectMetadata, Resource, StaticResource, View};
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;

use crate::args::{Form, Wire};
use crate::failure::Usage;
use crate::kinds::{self, Typed};

/// Work on objects of any form.
pub(crate) trait Job {
    /// Its result.
    type Output;

    /// Runs it on objects of this form.
    ///
    /// # Errors
    /// If the work fails.
    async fn run<K: FromWire + Object>(self) -> anyhow::Result<Self::Output>;
}

/// Runs the work on objects of the requested form.
///
/// # Errors
/// If the resource has no such form, or not in that wire format, or the work fails.
pub(crate) async fn run<J: Job>(
    form: Form,
    wire: Wire,
    resource: &Resource,
    job: J,
) -> anyhow::Result<J::Output> {
    let asked = match form {
        Form::Metadata => PartialObjectMetadata::form(),
        Form::Compact | Form::Typed | Form::View => ObjectForm::Whole,
    };
    if wire == Wire::Protobuf && !asked.has_protobuf(resource) {
        return Err(Usage::error(format!(
            "--wire protobuf supports the kinds of Kubernetes itself, not {resource}; use --wire auto"
        )));
    }
    match form {
        Form::Compact => job.run::<Dynamic>().await,
        Form::Metadata => job.run::<PartialObjectMetadata>().await,
        Form::Typed if kinds::has_type(resource) => job.run::<Typed>().await,
        Form::Typed => Err(Usage::error(format!(
            "--as typed supports the kinds of core, apps and batch, not {resource}; use --as compact"
        ))),
        Form::View if is_pods(resource) => job.run::<View<PodFields>>().await,
        Form::View => Err(Usage::error(format!(
            "--as view supports pods, not {resource}; use --as compact"
        ))),
    }
}

fn is_pods(resource: &Resource) -> bool {
    let pods = Pod::resource();
    (&pods.group, &pods.version, &pods.plural)
        == (&resource.group, &resource.version, &resource.plural)
}

/// The fields of a pod that `--as view` holds beside its metadata.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PodFields {
    spec: PodSpec,
    status: PodStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodSpec {
    node_name: Option<Box<str>>,
    service_account_name: Option<Box<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodStatus {
    phase: Option<Box<str>>,
    #[serde(rename = "podIP")]
    pod_ip: Option<Box<str>>,
    qos_class: Option<Box<str>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use informer::wire::{DecodeOptions, WireFormat, decode_object};

    #[test]
    fn view_holds_five_fields_of_a_pod() {
        let json = br#"{"metadata":{"name":"a"},
            "spec":{"nodeName":"n","serviceAccountName":"default","containers":[]},
            "status":{"phase":"Running","podIP":"10.0.0.1","qosClass":"Burstable","hostIP":"h"}}"#;
        let options = DecodeOptions::default();
        let pod: View<PodFields> = decode_object(WireFormat::Json, json, &options).unwrap();
        assert_eq!(pod.spec.node_name.as_deref(), Some("n"));
        assert_eq!(pod.spec.service_account_name.as_deref(), Some("default"));
        assert_eq!(pod.status.phase.as_deref(), Some("Running"));
        assert_eq!(pod.status.pod_ip.as_deref(), Some("10.0.0.1"));
        assert_eq!(pod.status.qos_class.as_deref(), Some("Burstable"));
        // A pod that no node has yet.
        let json = br#"{"metadata":{"name":"a"},"spec":{}}"#;
        let pod: View<PodFields> = decode_object(WireFormat::Json, json, &options).unwrap();
        assert!(pod.spec.node_name.is_none());
    }
}
