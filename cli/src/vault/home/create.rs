//! Creating a vault, and refusing one that cannot work.

use super::key::NewKey;
use super::serve_line::{quoted, url_of};
use super::{Home, Opening};
use crate::config::names::{BLOCK_SIZE, CAPACITY, STORE, TREE_TOP};
use crate::config::size::Size;
use crate::config::size_or_percent::SizeOrPercent;
use crate::config::{Scheme, SettingsError};
use crate::runtime::interrupt::{Interrupted, Interrupts};
use crate::vault::created_files::CreatedFiles;
use crate::vault::parameters::vault_parameters;
use crate::vault::trusted_memory::TrustedMemory;
use ameles_vault::{Entropy, ExistsIn, Vault, VaultError, VaultParameters, draw_header};
use anyhow::Result;

impl Home<'_> {
    /// Creates a vault.
    ///
    /// # Errors
    /// There is a vault already; the parameters cannot work; disk, key or store fail; Ctrl-C interrupts it. All files
    /// that were created on this machine are removed, unless the store may have the vault's header: opening completes
    /// such a vault.
    pub async fn create(&self) -> Result<(Opening, Interrupts)> {
        let total = machine_memory();
        let parameters = self.plan_for_memory(total)?;
        self.create_with(parameters).await
    }

    /// Plans the parameters for a machine with this much memory. Unless a tree top is given, the trusted side takes at
    /// most half of it.
    fn plan_for_memory(&self, total: Option<u64>) -> Result<VaultParameters, SettingsError> {
        let planned = vault_parameters(self.settings)?;
        let is_adjustable =
            self.settings.scheme.tree_top.is_none() && self.settings.scheme.scheme != Scheme::Trivial;
        let half = total.map_or(u64::MAX, |total| total / 2);
        if !is_adjustable || TrustedMemory::of(&planned).max <= half {
            return Ok(planned);
        }
        Ok(self.largest_tree_top(half).map_or(planned, |(_, parameters)| parameters))
    }

    /// Returns the largest tree top with which the trusted side takes at most `max` bytes, and the parameters with it.
    fn largest_tree_top(&self, max: u64) -> Option<(Size, VaultParameters)> {
        let with = |top: Size| {
            let mut smaller = self.settings.clone();
            smaller.scheme.tree_top = Some(SizeOrPercent::Size(top));
            vault_parameters(&smaller).ok().map(|parameters| (top, parameters))
        };
        let tops = (20..=max.max(1).ilog2()).rev().map(|power| Size(1 << power));
        tops.filter_map(with).find(|(_, parameters)| TrustedMemory::of(parameters).max <= max)
    }

    /// Creates a vault with these parameters. The settings must have the same sizes.
    ///
    /// # Errors
    /// The errors of [`create`](Self::create).
    pub async fn create_with(&self, parameters: VaultParameters) -> Result<(Opening, Interrupts)> {
        if self.has_vault()? {
            let folder = self.settings.data.trusted().display().to_string();
            return Err(
                anyhow::Error::new(VaultError::AlreadyExists(ExistsIn::TrustedFolder)).context(folder)
            );
        }
        self.refuse_during_restore()?;
        self.refuse_network_disk(&parameters)?;
        self.refuse_oversized(TrustedMemory::of(&parameters).max)?;
        // A passphrase is read before Ctrl-C is handled here: otherwise Ctrl-C could not leave the prompt.
        let key = self.key_for_new_vault()?;
        let was_served = self.settings.data.credentials().exists();
        let mut interrupts = Interrupts::listen()?;
        let mut created = CreatedFiles::new();
        match interrupts.interruptible(self.create_files(parameters, key, &mut created)).await {
            Ok(opening) => Ok((opening, interrupts)),
            Err(error) => {
                let is_outcome_unknown = matches!(error.downcast_ref(), Some(VaultError::Unavailable(_)))
                    || error.is::<Interrupted>();
                if is_outcome_unknown && self.has_vault().unwrap_or(false) {
                    return Err(
                        error.context("the vault is created on this machine: finish it with `ameles serve`")
                    );
                }
                created.remove_all();
                Err(match error.downcast_ref() {
                    Some(VaultError::AlreadyExists(ExistsIn::Store)) if was_served => {
                        error.context(self.lost_trusted_folder())
                    }
                    Some(VaultError::Refused(_)) => error.context(format!(
                        "{} is {}, where this user must be able to list, read, write and delete",
                        self.settings.origins.name(STORE),
                        self.store_name()
                    )),
                    _ => error,
                })
            }
        }
    }

    /// Returns the advice for a folder that has users but no vault.
    fn lost_trusted_folder(&self) -> String {
        let store = match &self.settings.store.url {
            Some(url) => url.clone(),
            None => url_of(&self.settings.data.untrusted()),
        };
        format!(
            "{} is missing, so the trusted state of the vault is lost; `ameles restore --takeover{} --store {}` rebuilds it \
             from the store and the key",
            self.database().display(),
            self.settings.data.flag(),
            quoted(&store)
        )
    }

    async fn create_files(
        &self,
        parameters: VaultParameters,
        key: Option<NewKey>,
        created: &mut CreatedFiles,
    ) -> Result<Opening> {
        self.create_trusted(created)?;
        if self.settings.store.url.is_none() {
            created.add_filled_folder(&self.settings.data.untrusted());
        }
        let objects = self.open_objects(true).await?;
        self.refuse_used_etcd(&parameters).await?;
        let disk = self.new_disk(created)?;
        let (master, derivation) = match key {
            Some(key) => key,
            None => self.create_key(created)?,
        };
        let header = draw_header(&mut Entropy::system(), parameters, derivation);
        let (store, meter, access_counts) = self.instrumented(&objects, &header.parameters).await?;
        let mut setup = self.setup(disk, store, master)?;
        Vault::create(&mut setup, &header).await?;
        Ok(Opening { header, setup, meter, access_counts, objects })
    }

    /// Refuses a vault whose trusted side needs more than this machine's memory.
    fn refuse_oversized(&self, needed: u64) -> Result<(), SettingsError> {
        // If the memory is unknown, the vault is tried.
        let Some(total) = machine_memory().filter(|total| needed > *total) else { return Ok(()) };
        let origins = &self.settings.origins;
        Err(SettingsError::Memory {
            name: origins.name(CAPACITY),
            capacity: self.settings.capacity,
            needed: Size(needed),
            total: Size(total),
            advice: self.tree_top_advice(total),
            block_name: origins.name(BLOCK_SIZE),
        })
    }

    /// Returns advice for a vault that does not fit into `total` bytes: the largest tree top with which it takes at
    /// most half.
    fn tree_top_advice(&self, total: u64) -> String {
        let name = self.settings.origins.name(TREE_TOP);
        if self.settings.scheme.scheme == Scheme::Trivial {
            return String::new();
        }
        self.largest_tree_top(total / 2).map_or_else(String::new, |(top, parameters)| {
            // One word, for a shell.
            let top = top.to_string().replace(' ', "");
            let needed = Size(TrustedMemory::of(&parameters).max);
            format!("{name} {top} lowers it to {needed} but moves more bytes; or ")
        })
    }
}

/// Returns the memory of this machine, if it is known.
fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"))?;
    Some(total.trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn a_large_vault_is_planned_for_the_available_memory_unless_a_tree_top_is_given() {
        const MEMORY: u64 = 16 << 30;
        let planned = |text: &str, machine_memory| {
            Home::new(&Settings::from_toml(text)).plan_for_memory(machine_memory).unwrap()
        };
        let max = |parameters: &VaultParameters| TrustedMemory::of(parameters).max;
        let large = planned("[vault]\ncapacity = \"1TiB\"", Some(MEMORY));
        assert!((MEMORY / 8..=MEMORY / 2).contains(&max(&large)), "{}", Size(max(&large)));
        let small = "[vault]\ncapacity = \"1GiB\"";
        assert_eq!(planned(small, Some(MEMORY)), planned(small, None));
        let requested = "[vault]\ncapacity = \"1TiB\"\ntree_top = \"64GiB\"";
        assert_eq!(planned(requested, Some(MEMORY)), planned(requested, None));
    }

    #[test]
    fn a_vault_too_large_for_the_machine_gets_a_tree_top_that_fits() {
        let large = Settings::from_toml("[vault]\ncapacity = \"1TiB\"");
        let machine_memory = 16 << 30;
        assert!(TrustedMemory::of(&vault_parameters(&large).unwrap()).max > machine_memory);
        let advice = Home::new(&large).tree_top_advice(machine_memory);
        let top = advice.strip_prefix("--tree-top ").and_then(|rest| rest.split_once(" lowers")).unwrap().0;
        let mut smaller = large.clone();
        smaller.scheme.tree_top = Some(SizeOrPercent::Size(top.parse().unwrap()));
        assert!(
            TrustedMemory::of(&vault_parameters(&smaller).unwrap()).max <= machine_memory / 2,
            "{advice}"
        );
        assert_eq!(Home::new(&large).tree_top_advice(1 << 20), "", "nothing fits into a mebibyte");
    }
}
