//! Making a vault, and why one is refused.

use super::key::NewKey;
use super::{Home, Opening};
use crate::config::names::{BLOCK_SIZE, CAPACITY, TREE_TOP};
use crate::config::share::Share;
use crate::config::size::Size;
use crate::config::{Scheme, SettingsError};
use crate::runtime::interrupt::{Interrupted, Interrupts};
use crate::vault::created_files::CreatedFiles;
use crate::vault::parameters::vault_parameters;
use crate::vault::trusted_memory::TrustedMemory;
use ameles_vault::{Entropy, ExistsIn, Vault, VaultError, VaultParameters, draw_header};
use anyhow::Result;

impl Home<'_> {
    /// Makes a vault.
    ///
    /// # Errors
    /// There is one already; the parameters cannot work; disk, key or store fail; Ctrl-C. Everything that was made on
    /// this machine is taken back, unless the store may have got the vault's header: opening completes such a vault.
    pub async fn make(&self) -> Result<(Opening, Interrupts)> {
        let total = memory();
        let parameters = self.planned_for(total)?;
        self.make_of(parameters).await
    }

    /// The parameters for a machine with so much memory: unless a tree top is asked for, the trusted side takes at most
    /// half of it.
    fn planned_for(&self, total: Option<u64>) -> Result<VaultParameters, SettingsError> {
        let planned = vault_parameters(self.settings)?;
        let is_free =
            self.settings.scheme.tree_top.is_none() && self.settings.scheme.scheme != Scheme::Trivial;
        let half = total.map_or(u64::MAX, |total| total / 2);
        if !is_free || TrustedMemory::of(&planned).max <= half {
            return Ok(planned);
        }
        Ok(self.largest_fitting(half).map_or(planned, |(_, parameters)| parameters))
    }

    /// The largest tree top with which the trusted side takes at most so many bytes, and the parameters with it.
    fn largest_fitting(&self, max: u64) -> Option<(Size, VaultParameters)> {
        let with = |top: Size| {
            let mut smaller = self.settings.clone();
            smaller.scheme.tree_top = Some(Share::Size(top));
            vault_parameters(&smaller).ok().map(|parameters| (top, parameters))
        };
        let tops = (20..=max.max(1).ilog2()).rev().map(|power| Size(1 << power));
        tops.filter_map(with).find(|(_, parameters)| TrustedMemory::of(parameters).max <= max)
    }

    /// Makes a vault with these parameters, whose sizes the settings say too.
    ///
    /// # Errors
    /// As [`make`](Self::make).
    pub async fn make_of(&self, parameters: VaultParameters) -> Result<(Opening, Interrupts)> {
        if self.has_vault()? {
            let folder = self.settings.data.trusted().display().to_string();
            return Err(
                anyhow::Error::new(VaultError::AlreadyExists(ExistsIn::TrustedFolder)).context(folder)
            );
        }
        self.refuse_during_restore()?;
        self.refuse_network_disk(&parameters)?;
        self.refuse_oversized(TrustedMemory::of(&parameters).max)?;
        // A passphrase is asked for before Ctrl-C is taken over: a prompt could not be left any more.
        let key = self.key_for_new()?;
        let mut interrupts = Interrupts::listen()?;
        let mut made = CreatedFiles::new();
        match interrupts.cut_off(self.lay_down(parameters, key, &mut made)).await {
            Ok(opening) => Ok((opening, interrupts)),
            Err(error) => {
                let is_open_question = matches!(error.downcast_ref(), Some(VaultError::Unavailable(_)))
                    || error.is::<Interrupted>();
                if is_open_question && self.has_vault().unwrap_or(false) {
                    return Err(
                        error.context("the vault is made on this machine: `ameles serve` finishes it")
                    );
                }
                made.take_back();
                Err(error)
            }
        }
    }

    async fn lay_down(
        &self,
        parameters: VaultParameters,
        key: Option<NewKey>,
        made: &mut CreatedFiles,
    ) -> Result<Opening> {
        self.make_trusted(made)?;
        if self.settings.store.url.is_none() {
            made.will_fill_folder(&self.settings.data.untrusted());
        }
        let objects = self.objects(true).await?;
        let disk = self.new_disk(made)?;
        let (master, derivation) = match key {
            Some(key) => key,
            None => self.make_key(made)?,
        };
        let header = draw_header(&mut Entropy::system(), parameters, derivation);
        let (store, meter, touches) = self.wrapped(&objects, header.parameters.layout());
        let mut setup = self.setup(disk, store, master)?;
        Vault::create(&mut setup, &header).await?;
        Ok(Opening { header, setup, meter, touches, objects })
    }

    /// Refuses a vault whose trusted side is larger than this machine's memory.
    fn refuse_oversized(&self, needed: u64) -> Result<(), SettingsError> {
        // Where the system does not say, the attempt has to.
        let Some(total) = memory().filter(|total| needed > *total) else { return Ok(()) };
        let origins = &self.settings.origins;
        Err(SettingsError::Memory {
            name: origins.name(CAPACITY),
            capacity: self.settings.capacity,
            needed: Size(needed),
            total: Size(total),
            advice: self.smaller_tree_top(total),
            block_name: origins.name(BLOCK_SIZE),
        })
    }

    /// Advice for a vault that does not fit into `total` bytes: the largest tree top with which it takes half of them.
    fn smaller_tree_top(&self, total: u64) -> String {
        let name = self.settings.origins.name(TREE_TOP);
        if self.settings.scheme.scheme == Scheme::Trivial {
            return String::new();
        }
        self.largest_fitting(total / 2).map_or_else(String::new, |(top, parameters)| {
            // As one word, for a shell.
            let top = top.to_string().replace(' ', "");
            let needed = Size(TrustedMemory::of(&parameters).max);
            format!("{name} of {top} brings it down to {needed}, for more bytes moved; or ")
        })
    }
}

/// The memory of this machine, where the system says it.
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"))?;
    Some(total.trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Settings};
    use std::path::Path;

    fn settings(text: &str) -> Settings {
        Settings::resolve(Config::parse(text, Path::new("ameles.toml")).unwrap()).unwrap()
    }

    #[test]
    fn a_large_vault_is_planned_for_the_memory_that_there_is_unless_a_tree_top_is_asked_for() {
        const MEMORY: u64 = 16 << 30;
        let planned = |text: &str, memory| Home::new(&settings(text)).planned_for(memory).unwrap();
        let max = |parameters: &VaultParameters| TrustedMemory::of(parameters).max;
        let large = planned("[vault]\ncapacity = \"1TiB\"", Some(MEMORY));
        assert!((MEMORY / 8..=MEMORY / 2).contains(&max(&large)), "{}", Size(max(&large)));
        let small = "[vault]\ncapacity = \"1GiB\"";
        assert_eq!(planned(small, Some(MEMORY)), planned(small, None));
        let asked = "[vault]\ncapacity = \"1TiB\"\ntree_top = \"64GiB\"";
        assert_eq!(planned(asked, Some(MEMORY)), planned(asked, None));
    }

    #[test]
    fn a_vault_too_large_for_the_machine_is_told_a_tree_top_that_fits() {
        let large = settings("[vault]\ncapacity = \"1TiB\"");
        let memory = 16 << 30;
        assert!(TrustedMemory::of(&vault_parameters(&large).unwrap()).max > memory);
        let advice = Home::new(&large).smaller_tree_top(memory);
        let top =
            advice.strip_prefix("--tree-top of ").and_then(|rest| rest.split_once(" brings")).unwrap().0;
        let mut smaller = large.clone();
        smaller.scheme.tree_top = Some(Share::Size(top.parse().unwrap()));
        assert!(TrustedMemory::of(&vault_parameters(&smaller).unwrap()).max <= memory / 2, "{advice}");
        assert_eq!(Home::new(&large).smaller_tree_top(1 << 20), "", "nothing fits into a mebibyte");
    }
}
