//! The `apiVersion` and `kind` that objects of one list share.

use std::sync::Arc;

/// What an object says of its type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct TypeMeta {
    pub(crate) api_version: Box<str>,
    pub(crate) kind: Box<str>,
}

/// Gives equal types the same allocation, as long as they come in a row.
#[derive(Debug, Default)]
pub(crate) struct TypeCache(Option<Arc<TypeMeta>>);

impl TypeCache {
    pub(crate) fn get(&mut self, api_version: &str, kind: &str) -> Arc<TypeMeta> {
        match &self.0 {
            Some(last) if &*last.api_version == api_version && &*last.kind == kind => last.clone(),
            _ => {
                let types = TypeMeta {
                    api_version: api_version.into(),
                    kind: kind.into(),
                };
                self.0.insert(Arc::new(types)).clone()
            }
        }
    }
}
