//! The model: containers as maps of keys to lists of versions.

use ameles_gateway::catalogue::{Object, VersionId, Versioning};
use std::collections::BTreeMap;

/// Containers.
pub(super) type Model = BTreeMap<u8, ModelContainer>;

/// The expected state of a container.
#[derive(Debug, Default)]
pub(super) struct ModelContainer {
    pub(super) versioning: Option<Versioning>,
    /// The versions of each key, the newest first; no key without any.
    pub(super) keys: BTreeMap<String, Vec<ModelVersion>>,
    /// Every name that a version ever had.
    pub(super) names: Vec<(String, VersionId)>,
}

/// A version: its name, and its body and ETag if it is not a delete marker.
pub(super) type ModelVersion = (VersionId, Option<(Vec<u8>, String)>);

impl ModelContainer {
    pub(super) fn current(&self, key: &str) -> Option<&(Vec<u8>, String)> {
        self.keys.get(key)?.first()?.1.as_ref()
    }

    /// The current objects.
    pub(super) fn all_current(&self) -> impl Iterator<Item = (&String, &(Vec<u8>, String))> {
        self.keys.iter().filter_map(|(key, versions)| Some((key, versions.first()?.1.as_ref()?)))
    }

    /// Puts a version on top, of whose name only the kind is predicted.
    pub(super) fn put(&mut self, key: &str, id: VersionId, content: Option<(Vec<u8>, String)>) {
        let versions = self.keys.entry(key.to_owned()).or_default();
        match (self.versioning, id) {
            (Some(Versioning::Enabled), VersionId::Number(_)) => {
                let name = (key.to_owned(), id);
                assert!(!self.names.contains(&name), "a name came again");
                self.names.push(name);
            }
            (None | Some(Versioning::Suspended), VersionId::Null) => {
                versions.retain(|(id, _)| *id != VersionId::Null);
            }
            other => panic!("unforeseen: {other:?}"),
        }
        versions.insert(0, (id, content));
    }

    /// Puts an object with this body on top.
    pub(super) fn link(&mut self, key: &str, object: &Object, body: Vec<u8>) {
        self.put(key, object.version.id(), Some((body, object.etag.clone())));
    }

    /// Removes a version permanently, or the current object of a key without versions.
    pub(super) fn remove(&mut self, key: &str, id: VersionId) -> Option<ModelVersion> {
        let versions = self.keys.get_mut(key)?;
        let nth = versions.iter().position(|(known, _)| *known == id)?;
        let removed = versions.remove(nth);
        if versions.is_empty() {
            self.keys.remove(key);
        }
        Some(removed)
    }
}
