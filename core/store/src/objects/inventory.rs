//! The list of all bucket versions.
//!
//! A store lists 1000 names in an answer, and each answer says where the next one begins. So one list of a large store
//! takes as many round trips as there are thousands of objects. Each folder of 4096 buckets is listed by itself here, and
//! the folders in parallel.

use super::failure::write_failure;
use super::{Objects, names};
use crate::blobs::Inventory;
use ameles_core::store::{BucketVersion, UntrustedError};
use ameles_core::types::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};

/// Lists that are under way at once.
const LISTS: usize = 16;

/// An object's bucket version and size. `None` if the name is of no bucket version.
type Listed = (Option<BucketVersion>, Bytes);

/// The objects of some folders, and the folders below them.
#[derive(Default)]
struct Level {
    objects: Vec<Listed>,
    folders: Vec<Path>,
}

impl Inventory for Objects {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        let mut folders = vec![self.shared.path(names::BUCKETS)];
        let mut listed = Vec::new();
        if self.layout.buckets() > names::BUCKETS_A_FOLDER && self.shared.folder.is_none() {
            for _ in 0..names::FOLDER_LEVELS {
                let Level { objects, folders: below } = self.list_level(&folders).await?;
                listed.push(objects);
                folders = below;
            }
        }
        let whole = folders.iter().map(|folder| self.list_below(folder));
        listed.extend(stream::iter(whole).buffered(LISTS).try_collect::<Vec<_>>().await?);
        let mut unknown = 0;
        for (version, bytes) in listed.into_iter().flatten() {
            match version {
                Some(version) => found(version, bytes),
                None => unknown += 1,
            }
        }
        Ok(unknown)
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        match &self.shared.folder {
            Some(folder) => folder.sweep_unfinished().await.map_err(write_failure),
            None => Ok(0),
        }
    }
}

impl Objects {
    fn parse(&self, object: &ObjectMeta) -> Listed {
        let version = self.shared.name(&object.location).and_then(names::parse_bucket_version);
        (version, Bytes(object.size))
    }

    /// Lists everything below a folder.
    async fn list_below(&self, folder: &Path) -> Result<Vec<Listed>, UntrustedError> {
        let _permit = self.shared.permit().await;
        let listed = self.shared.store.list(Some(folder)).map_ok(|object| self.parse(&object));
        listed.try_collect().await.map_err(write_failure)
    }

    /// Lists what is in these folders themselves.
    async fn list_level(&self, folders: &[Path]) -> Result<Level, UntrustedError> {
        let lists = folders.iter().map(|folder| async move {
            let _permit = self.shared.permit().await;
            self.shared.store.list_with_delimiter(Some(folder)).await.map_err(write_failure)
        });
        let mut lists = stream::iter(lists).buffered(LISTS);
        let mut level = Level::default();
        while let Some(listed) = lists.try_next().await? {
            level.objects.extend(listed.objects.iter().map(|object| self.parse(object)));
            level.folders.extend(listed.common_prefixes);
        }
        Ok(level)
    }
}
