//! The standby of a vault that another machine serves.

use super::{Home, Opening};
use crate::vault::created_files::CreatedFiles;
use ameles_vault::{VaultHeader, raw_header_of_store};
use anyhow::Result;

impl Home<'_> {
    /// Returns the parts of a standby: the store of the vault, and a trusted disk of its own.
    ///
    /// # Errors
    /// There is no vault in the store; disk, key or store fail.
    pub async fn prepare_standby(&self) -> Result<Opening> {
        let objects = self.existing_objects().await?;
        let raw = raw_header_of_store(&objects).await?;
        let master = self.key(&raw)?;
        let header = VaultHeader::decode(&raw, &master).map_err(|error| self.name_wrong_key(error))?;
        let disk = self.new_disk(&mut CreatedFiles::new())?;
        let (store, meter, access_counts) = self.instrumented(&objects, &header.parameters).await?;
        Ok(Opening { header, setup: self.setup(disk, store, master)?, meter, access_counts, objects })
    }
}
