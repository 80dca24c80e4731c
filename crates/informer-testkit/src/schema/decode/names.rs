//! The names of Go's structs.

use std::collections::HashMap;
use std::sync::LazyLock;

use informer_wire::schema::{Message, Scalar};

use super::visitor::field_named;

/// The names of Go's structs, as far as the kinds tell them.
static NAMES: LazyLock<HashMap<Message, String>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    let mut name = |message: Message, name: String| {
        names.entry(message).or_insert(name);
    };
    for (_, kind, message) in Message::kinds() {
        name(message, kind.to_owned());
    }
    for (_, kind, message) in Message::kinds() {
        for (_, field) in message.fields() {
            let Scalar::Message(inner) = field.scalar() else {
                continue;
            };
            match field.name() {
                "metadata" if kind.ends_with("List") => name(inner, "ListMeta".to_owned()),
                "metadata" => name(inner, "ObjectMeta".to_owned()),
                "spec" => name(inner, format!("{kind}Spec")),
                "status" => name(inner, format!("{kind}Status")),
                _ => {}
            }
        }
    }
    for (kind, path, known) in [
        ("Deployment", "spec.template", "PodTemplateSpec"),
        ("Deployment", "spec.selector", "LabelSelector"),
        ("Deployment", "spec.strategy", "DeploymentStrategy"),
        ("Pod", "spec.containers", "Container"),
        ("Pod", "spec.containers.ports", "ContainerPort"),
        ("Pod", "spec.containers.env", "EnvVar"),
        ("Pod", "spec.containers.resources", "ResourceRequirements"),
        ("Pod", "spec.tolerations", "Toleration"),
        ("Pod", "spec.volumes", "Volume"),
        ("Pod", "metadata.ownerReferences", "OwnerReference"),
        ("Service", "spec.ports", "ServicePort"),
        ("Node", "spec.taints", "Taint"),
    ] {
        let start = Message::kinds().find(|(_, of, _)| *of == kind);
        let found = path
            .split('.')
            .try_fold(
                start.map(|(_, _, message)| message),
                |at, key| match field_named(at?, key)?.scalar() {
                    Scalar::Message(inner) => Some(Some(inner)),
                    _ => None,
                },
            );
        if let Some(Some(message)) = found {
            name(message, known.to_owned());
        }
    }
    names
});

pub(super) fn go_name(message: Message) -> &'static str {
    NAMES.get(&message).map_or("", String::as_str)
}
