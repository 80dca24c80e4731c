//! The kinds that `--as typed` knows, and the way from a resource at run time to a type.

use informer::{FromWire, Object, Resource, StaticResource};
use k8s_openapi::api::{apps::v1 as apps, batch::v1 as batch, core::v1 as core};

/// Something to be done with the type of a resource's objects.
pub(crate) trait Visitor {
    type Output;

    fn visit<K: FromWire + Object>(self) -> Self::Output;
}

/// Calls the visitor with the type of the resource's objects, or gives it back if no type is known.
pub(crate) fn typed<V: Visitor>(resource: &Resource, visitor: V) -> Result<V::Output, V> {
    macro_rules! visit {
        ($($kind:ty),* $(,)?) => {
            $(if <$kind>::resource() == *resource {
                return Ok(visitor.visit::<$kind>());
            })*
        };
    }
    visit!(
        core::ConfigMap,
        core::Endpoints,
        core::Event,
        core::LimitRange,
        core::Namespace,
        core::Node,
        core::PersistentVolume,
        core::PersistentVolumeClaim,
        core::Pod,
        core::PodTemplate,
        core::ReplicationController,
        core::ResourceQuota,
        core::Secret,
        core::Service,
        core::ServiceAccount,
        apps::ControllerRevision,
        apps::DaemonSet,
        apps::Deployment,
        apps::ReplicaSet,
        apps::StatefulSet,
        batch::CronJob,
        batch::Job,
    );
    Err(visitor)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Name;

    impl Visitor for Name {
        type Output = &'static str;

        fn visit<K: FromWire + Object>(self) -> &'static str {
            std::any::type_name::<K>()
        }
    }

    #[test]
    fn every_builtin_kind_of_core_apps_and_batch_has_a_type() {
        let known = informer::wire::BuiltinResource::all().iter().map(|known| known.resource());
        let groups = known.filter(|known| matches!(&*known.group, "" | "apps" | "batch"));
        for resource in groups {
            let name = typed(&resource, Name).unwrap_or("none");
            assert!(name.ends_with(&*resource.kind), "{resource} gives {name}");
        }
    }

    #[test]
    fn a_custom_resource_has_no_type() {
        let scope = informer::Scope::Namespaced;
        let widgets = Resource::new("demo.example", "v1", "Widget", "widgets", scope);
        assert!(typed(&widgets, Name).is_err());
    }
}
