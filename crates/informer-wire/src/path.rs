//! The URL paths of resources.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::resource::{Resource, Scope};

/// Characters that are not encoded within a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':');

/// A resource that has no URL path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// A part can be no segment of a path.
    #[error(
        "{value:?} cannot be the {part}; it must not be empty, \".\" or \"..\", nor contain \"/\" or \"%\""
    )]
    Segment {
        /// The part, such as `namespace`.
        part: &'static str,
        /// Its value.
        value: String,
    },
    /// A namespace for objects that have none.
    #[error("{resource} are cluster-scoped; leave out the namespace {namespace:?}")]
    ClusterScoped {
        /// The resource.
        resource: String,
        /// The namespace.
        namespace: String,
    },
    /// No namespace for a single object that has one.
    #[error("{resource} are namespaced; set the namespace of {name:?}")]
    NamespaceMissing {
        /// The resource.
        resource: String,
        /// The object's name.
        name: String,
    },
}

impl Resource {
    /// Returns the URL path of the collection, or of the object of this name.
    ///
    /// Without a namespace it is the collection of all namespaces; an empty one counts as none.
    ///
    /// ```
    /// use informer_wire::{Resource, Scope};
    ///
    /// let pods = Resource::core("v1", "Pod", "pods", Scope::Namespaced);
    /// assert_eq!(pods.path(None, None)?, "/api/v1/pods");
    /// assert_eq!(pods.path(Some("shop"), Some("cart-1"))?, "/api/v1/namespaces/shop/pods/cart-1");
    /// assert!(pods.path(Some("../secrets"), None).is_err());
    /// # Ok::<(), informer_wire::PathError>(())
    /// ```
    ///
    /// # Errors
    /// When a part cannot stand in a path, a namespace is given for a cluster-scoped resource, or none for a single
    /// object of a namespaced one.
    pub fn path(&self, namespace: Option<&str>, name: Option<&str>) -> Result<String, PathError> {
        let mut path = String::with_capacity(96);
        if self.group.is_empty() {
            path.push_str("/api");
        } else {
            path.push_str("/apis");
            push(&mut path, "group", &self.group)?;
        }
        push(&mut path, "version", &self.version)?;
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        match (self.scope, namespace, name) {
            (Scope::Cluster, Some(namespace), _) => {
                let namespace = namespace.to_owned();
                return Err(PathError::ClusterScoped {
                    resource: self.to_string(),
                    namespace,
                });
            }
            (Scope::Namespaced, None, Some(name)) => {
                let name = name.to_owned();
                return Err(PathError::NamespaceMissing {
                    resource: self.to_string(),
                    name,
                });
            }
            (_, Some(namespace), _) => {
                path.push_str("/namespaces");
                push(&mut path, "namespace", namespace)?;
            }
            (_, None, _) => {}
        }
        push(&mut path, "plural name", &self.plural)?;
        if let Some(name) = name {
            push(&mut path, "name", name)?;
        }
        Ok(path)
    }
}

fn push(path: &mut String, part: &'static str, value: &str) -> Result<(), PathError> {
    if matches!(value, "" | "." | "..") || value.contains(['/', '%']) {
        return Err(PathError::Segment {
            part,
            value: value.to_owned(),
        });
    }
    path.push('/');
    path.extend(utf8_percent_encode(value, SEGMENT));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles() -> Resource {
        Resource::new(
            "rbac.authorization.k8s.io",
            "v1",
            "ClusterRole",
            "clusterroles",
            Scope::Cluster,
        )
    }

    #[test]
    fn paths_match_the_api_server() -> Result<(), PathError> {
        let path = roles().path(None, Some("system:node"))?;
        assert_eq!(
            path,
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node"
        );
        let widgets = Resource::new("demo.example", "v1", "Widget", "widgets", Scope::Namespaced);
        assert_eq!(
            widgets.path(Some(""), None)?,
            "/apis/demo.example/v1/widgets"
        );
        assert_eq!(
            widgets.path(Some("a b"), Some("ü?#"))?,
            "/apis/demo.example/v1/namespaces/a%20b/widgets/%C3%BC%3F%23"
        );
        Ok(())
    }

    // INV-WIRE-12
    #[test]
    fn no_part_of_a_path_leaves_its_segment() {
        for bad in ["", ".", "..", "a/b", "%2e%2e", "../x", "a%"] {
            let pods = Resource::core("v1", "Pod", "pods", Scope::Namespaced);
            assert!(pods.path(Some("n"), Some(bad)).is_err(), "{bad}");
            assert!(
                bad.is_empty() || pods.path(Some(bad), None).is_err(),
                "{bad}"
            );
            assert!(
                Resource::core("v1", "Pod", bad.to_owned(), Scope::Namespaced)
                    .path(None, None)
                    .is_err()
            );
            assert!(
                Resource::core(bad.to_owned(), "Pod", "pods", Scope::Namespaced)
                    .path(None, None)
                    .is_err()
            );
            let group = Resource::new(bad.to_owned(), "v1", "Pod", "pods", Scope::Namespaced);
            assert!(bad.is_empty() || group.path(None, None).is_err(), "{bad}");
        }
    }

    #[test]
    fn path_is_refused_when_scope_and_namespace_disagree() {
        assert!(matches!(
            roles().path(Some("n"), None),
            Err(PathError::ClusterScoped { .. })
        ));
        let pods = Resource::core("v1", "Pod", "pods", Scope::Namespaced);
        assert!(matches!(
            pods.path(None, Some("a")),
            Err(PathError::NamespaceMissing { .. })
        ));
    }
}
