//! Storage that is a directory of this host.

use std::io;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{
    HostPathVolumeSource, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
    PersistentVolume, PersistentVolumeSpec, VolumeNodeAffinity,
};

use crate::provisioner::{ProvisionError, ProvisionRequest, Provisioner};

/// Makes volumes as directories below one directory.
#[derive(Debug, Clone)]
pub struct HostPath {
    root: PathBuf,
}

impl HostPath {
    /// Volumes below this directory.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory of a volume. A name that leads elsewhere is refused.
    fn directory(&self, name: &str) -> Result<PathBuf, ProvisionError> {
        let is_plain = !name.is_empty()
            && !name.starts_with('.')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
        if !is_plain {
            return Err(ProvisionError::never(format!(
                "{name:?} is no name of a volume"
            )));
        }
        Ok(self.root.join(name))
    }
}

impl Provisioner for HostPath {
    async fn provision(
        &self,
        request: &ProvisionRequest,
    ) -> Result<PersistentVolumeSpec, ProvisionError> {
        let directory = self.directory(&request.volume_name)?;
        tokio::fs::create_dir_all(&directory)
            .await
            .map_err(ProvisionError::failed)?;
        let path = directory.to_str().ok_or_else(|| {
            ProvisionError::never("the directory's name is not UTF-8; choose another with --dir")
        })?;
        Ok(PersistentVolumeSpec {
            host_path: Some(HostPathVolumeSource {
                path: path.to_owned(),
                type_: Some("DirectoryOrCreate".to_owned()),
            }),
            node_affinity: request.selected_node.as_deref().map(only_on),
            ..PersistentVolumeSpec::default()
        })
    }

    async fn delete(&self, volume: &PersistentVolume) -> Result<(), ProvisionError> {
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        let directory = self.directory(name)?;
        // Anyone who may write volumes could name another directory in one.
        let spec = volume.spec.as_ref();
        let path = spec.and_then(|spec| Some(Path::new(&spec.host_path.as_ref()?.path)));
        if path.is_some_and(|path| path != directory) {
            let text = format!(
                "the volume is not at {}; delete it by hand",
                directory.display()
            );
            return Err(ProvisionError::never(text));
        }
        self.discard(name).await
    }

    async fn list(&self) -> Result<Vec<String>, ProvisionError> {
        let mut entries = match tokio::fs::read_dir(&self.root).await {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(ProvisionError::failed(error)),
        };
        let mut names = Vec::new();
        while let Some(entry) = entries.next_entry().await.map_err(ProvisionError::failed)? {
            names.extend(entry.file_name().into_string());
        }
        Ok(names)
    }

    async fn discard(&self, name: &str) -> Result<(), ProvisionError> {
        match tokio::fs::remove_dir_all(self.directory(name)?).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(ProvisionError::failed(error))
            }
            _ => Ok(()),
        }
    }
}

fn only_on(node: &str) -> VolumeNodeAffinity {
    let on_node = NodeSelectorRequirement {
        key: "kubernetes.io/hostname".to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![node.to_owned()]),
    };
    VolumeNodeAffinity {
        required: Some(NodeSelector {
            node_selector_terms: vec![NodeSelectorTerm {
                match_expressions: Some(vec![on_node]),
                ..NodeSelectorTerm::default()
            }],
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_directory() {
        let storage = HostPath::new("/volumes");
        for name in [
            "", ".", "..", "../x", "a/b", "/etc", ".hidden", "a\\b", "a\0",
        ] {
            assert!(storage.directory(name).is_err(), "{name:?}");
        }
        let directory = storage.directory("pvc-1f0e.x").expect("plain");
        assert_eq!(directory, Path::new("/volumes/pvc-1f0e.x"));
    }

    #[tokio::test]
    async fn a_volume_elsewhere_is_not_deleted() {
        let root = tempfile::tempdir().expect("a directory");
        let storage = HostPath::new(root.path());
        let elsewhere = root.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).expect("new");
        let mut volume = PersistentVolume::default();
        volume.metadata.name = Some("pvc-1".to_owned());
        volume.spec = Some(PersistentVolumeSpec {
            host_path: Some(HostPathVolumeSource {
                path: elsewhere.to_string_lossy().into_owned(),
                type_: None,
            }),
            ..PersistentVolumeSpec::default()
        });
        assert!(matches!(
            storage.delete(&volume).await,
            Err(ProvisionError::Never(_))
        ));
        assert!(elsewhere.is_dir());
        assert_eq!(storage.list().await.expect("readable"), ["elsewhere"]);
        // What is gone already is fine.
        storage.discard("pvc-2").await.expect("not there");
    }
}
