//! Named objects next to the buckets: the header, claims and checkpoints.

use super::failure::write_failure;
use super::shared::take;
use super::{Objects, names};
use crate::blobs::{Blob, BlobError, Blobs, check_name};
use ameles_core::store::UntrustedError;
use ameles_core::types::Bytes;
use bytes::Bytes as Chunk;
use futures::stream::TryStreamExt;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutPayload};

impl Blobs for Objects {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        check_name(name)?;
        let bytes = Chunk::copy_from_slice(bytes);
        self.shared.put(&names::blob(name), bytes).await.map_err(write_failure)?;
        Ok(())
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        check_name(name)?;
        let name = names::blob(name);
        let path = self.shared.path(&name);
        let _permit = self.shared.permit().await;
        if let Some(folder) = &self.shared.folder {
            folder.make_durable_parent(&name).await.map_err(write_failure)?;
        }
        let payload = PutPayload::from_bytes(Chunk::copy_from_slice(bytes));
        match self.shared.once.put_opts(&path, payload, PutMode::Create.into()).await {
            Ok(_) => Ok(true),
            // S3 answers 409 also when another creation is under way that may yet fail, so look.
            Err(error @ object_store::Error::AlreadyExists { .. }) => {
                match self.shared.store.head(&path).await {
                    Ok(_) => Ok(false),
                    Err(object_store::Error::NotFound { .. }) => {
                        Err(UntrustedError::Unavailable(Box::new(error)).into())
                    }
                    Err(error) => Err(write_failure(error).into()),
                }
            }
            Err(error) => Err(write_failure(error).into()),
        }
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        check_name(name)?;
        let path = self.shared.path(&names::blob(name));
        let too_large = || BlobError::TooLarge { name: name.to_owned(), max };
        let _permit = self.shared.permit().await;
        let answer = match self.shared.store.get(&path).await {
            Ok(answer) => answer,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(write_failure(error).into()),
        };
        if answer.meta.size > max as u64 {
            return Err(too_large());
        }
        // A byte more than allowed shows that the store told a wrong size.
        let bytes = take(answer.payload, max.saturating_add(1)).await.map_err(write_failure)?;
        if bytes.len() > max {
            return Err(too_large());
        }
        Ok(Some(bytes.into()))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        // Stores list whole folders; the rest of the prefix is matched here.
        let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
        if !folder.is_empty() {
            check_name(folder)?;
        }
        let below = match folder {
            "" => self.shared.path(names::BLOBS),
            folder => self.shared.path(&names::blob(folder)),
        };
        let _permit = self.shared.permit().await;
        let mut blobs = Vec::new();
        let mut listed = self.shared.store.list(Some(&below));
        while let Some(object) = listed.try_next().await.map_err(write_failure)? {
            let name = self.shared.name(&object.location).and_then(names::parse_blob);
            if let Some(name) = name
                && name.starts_with(prefix)
                && check_name(name).is_ok()
            {
                blobs.push(Blob { name: name.to_owned(), size: Bytes(object.size) });
            }
        }
        blobs.sort();
        Ok(blobs)
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        check_name(name)?;
        let path = self.shared.path(&names::blob(name));
        Ok(self.shared.delete(vec![Ok(path)]).await?)
    }
}
