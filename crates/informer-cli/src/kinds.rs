//! The kinds that `--as typed` knows, in one type, so that the program holds one informer and not one for each kind.

use informer::wire::{DecodeError, WireObject};
use informer::{FromWire, Object, Resource, StaticResource};
use k8s_openapi::api::{apps::v1 as apps, batch::v1 as batch, core::v1 as core};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

macro_rules! typed {
    ($($kind:ident in $group:ident),* $(,)?) => {
        /// An object of one of the kinds of core, apps and batch, decoded as a whole.
        #[derive(Debug)]
        pub(crate) enum Typed {
            $($kind(Box<$group::$kind>)),*
        }

        /// Whether there is a type for the objects of this resource.
        pub(crate) fn has_type(resource: &Resource) -> bool {
            let known = [$(<$group::$kind>::resource()),*];
            known.iter().any(|known| {
                (&known.group, &known.version, &known.plural)
                    == (&resource.group, &resource.version, &resource.plural)
            })
        }

        impl Object for Typed {
            type Metadata = ObjectMeta;

            fn metadata(&self) -> &ObjectMeta {
                match self {
                    $(Self::$kind(object) => &object.metadata),*
                }
            }
        }

        impl FromWire for Typed {
            fn from_wire(object: WireObject<'_>) -> Result<Self, DecodeError> {
                let version = object.api_version().unwrap_or_default();
                let kind = object.kind().unwrap_or_default();
                $(if is::<$group::$kind>(&version, &kind) {
                    return object.deserialize().map(|object| Self::$kind(Box::new(object)));
                })*
                Err(DecodeError::Malformed {
                    what: "object of a known kind",
                    reason: "its kind is none of core, apps and batch".to_owned(),
                })
            }
        }
    };
}

fn is<K: k8s_openapi::Resource>(api_version: &str, kind: &str) -> bool {
    K::API_VERSION == api_version && K::KIND == kind
}

typed!(
    ConfigMap in core,
    Endpoints in core,
    Event in core,
    LimitRange in core,
    Namespace in core,
    Node in core,
    PersistentVolume in core,
    PersistentVolumeClaim in core,
    Pod in core,
    PodTemplate in core,
    ReplicationController in core,
    ResourceQuota in core,
    Secret in core,
    Service in core,
    ServiceAccount in core,
    ControllerRevision in apps,
    DaemonSet in apps,
    Deployment in apps,
    ReplicaSet in apps,
    StatefulSet in apps,
    CronJob in batch,
    Job in batch,
);

#[cfg(test)]
mod tests {
    use super::*;
    use informer::wire::{DecodeOptions, WireFormat, decode_object};

    #[test]
    fn builtin_kinds_of_core_apps_and_batch_have_types() {
        let known = informer::wire::BuiltinResource::all()
            .iter()
            .map(|known| known.resource());
        for resource in known.filter(|known| matches!(&*known.group, "" | "apps" | "batch")) {
            assert!(has_type(&resource), "{resource} has no type");
            let (version, kind) = (resource.api_version(), &resource.kind);
            let json = format!(
                r#"{{"apiVersion":"{version}","kind":"{kind}","metadata":{{"name":"a"}},
                   "involvedObject":{{}},"revision":1,"template":{{}}}}"#
            );
            let read: Result<Typed, _> =
                decode_object(WireFormat::Json, json.as_bytes(), &DecodeOptions::default());
            let object = read.unwrap_or_else(|error| panic!("{resource}: {error}"));
            assert_eq!(object.name(), "a");
            assert!(format!("{object:?}").starts_with(&**kind), "{resource}");
        }
    }

    #[test]
    fn custom_resource_has_no_type() {
        let scope = informer::Scope::Namespaced;
        let widgets = Resource::new("demo.example", "v1", "Widget", "widgets", scope);
        assert!(!has_type(&widgets));
        let json = br#"{"apiVersion":"demo.example/v1","kind":"Widget","metadata":{"name":"a"}}"#;
        let read: Result<Typed, _> =
            decode_object(WireFormat::Json, json, &DecodeOptions::default());
        assert!(read.is_err());
    }
}
