//! Blobs in a sorted map.

use crate::blobs::{Blob, BlobError, check_name};
use ameles_core::types::Bytes;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(crate) struct BlobMap {
    blobs: BTreeMap<String, Vec<u8>>,
}

impl BlobMap {
    pub(crate) fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        check_name(name)?;
        self.blobs.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    pub(crate) fn put_if_absent(&mut self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        check_name(name)?;
        if self.blobs.contains_key(name) {
            return Ok(false);
        }
        self.blobs.insert(name.to_owned(), bytes.to_vec());
        Ok(true)
    }

    pub(crate) fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        check_name(name)?;
        match self.blobs.get(name) {
            Some(bytes) if bytes.len() > max => Err(BlobError::TooLarge { name: name.to_owned(), max }),
            found => Ok(found.cloned()),
        }
    }

    pub(crate) fn list(&self, prefix: &str) -> Vec<Blob> {
        self.blobs
            .range(prefix.to_owned()..)
            .take_while(|(name, _)| name.starts_with(prefix))
            .map(|(name, bytes)| Blob { name: name.clone(), size: Bytes(bytes.len() as u64) })
            .collect()
    }

    pub(crate) fn remove(&mut self, name: &str) -> Result<(), BlobError> {
        check_name(name)?;
        self.blobs.remove(name);
        Ok(())
    }

    /// The bytes of a blob, to tamper with.
    pub(crate) fn bytes_mut(&mut self, name: &str) -> Option<&mut Vec<u8>> {
        self.blobs.get_mut(name)
    }
}
