//! Making a vault, and why one is refused.

use super::key::NewKey;
use super::{Home, Opening};
use crate::config::names::{BLOCK_SIZE, CAPACITY, TREE_TOP};
use crate::config::size::Size;
use crate::config::{Scheme, SettingsError};
use crate::runtime::interrupt::{Interrupted, Interrupts};
use crate::vault::made::Made;
use crate::vault::parameters::vault_parameters;
use crate::vault::trusted_memory::TrustedMemory;
use anyhow::Result;
use lethe_vault::{Entropy, Vault, VaultError, VaultParameters, draw_header};

impl Home<'_> {
    /// Makes a vault.
    ///
    /// # Errors
    /// There is one already; the parameters cannot work; disk, key or store fail; Ctrl-C. Everything that was made on
    /// this machine is taken back, unless the store may have got the vault's header: opening completes such a vault.
    pub async fn make(&self) -> Result<(Opening, Interrupts)> {
        self.make_of(vault_parameters(self.settings)?).await
    }

    /// Makes a vault with these parameters, whose sizes the settings say too.
    ///
    /// # Errors
    /// As [`make`](Self::make).
    pub async fn make_of(&self, parameters: VaultParameters) -> Result<(Opening, Interrupts)> {
        if self.has_vault()? {
            let folder = self.settings.data.trusted().display().to_string();
            return Err(anyhow::Error::new(VaultError::AlreadyThere("the trusted folder")).context(folder));
        }
        self.refuse_what_memory_cannot_hold(TrustedMemory::of(&parameters).most)?;
        // A passphrase is asked for before Ctrl-C is taken over: a prompt could not be left any more.
        let key = self.key_for_new()?;
        let mut interrupts = Interrupts::listen()?;
        let mut made = Made::new();
        match interrupts.cut_off(self.lay_down(parameters, key, &mut made)).await {
            Ok(opening) => Ok((opening, interrupts)),
            Err(error) => {
                let is_open_question = matches!(error.downcast_ref(), Some(VaultError::Unavailable(_)))
                    || error.is::<Interrupted>();
                if is_open_question && self.has_vault().unwrap_or(false) {
                    return Err(error.context("the vault is made on this machine: `lethe serve` finishes it"));
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
        made: &mut Made,
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
    fn refuse_what_memory_cannot_hold(&self, needed: u64) -> Result<(), SettingsError> {
        // Where the system does not say, the attempt has to.
        let Ok(text) = std::fs::read_to_string("/proc/meminfo") else { return Ok(()) };
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
        let Some(total) = total.and_then(|kib| kib.trim().parse::<u64>().ok()) else { return Ok(()) };
        if needed <= total << 10 {
            return Ok(());
        }
        let origins = &self.settings.origins;
        Err(SettingsError::Memory {
            name: origins.name(CAPACITY),
            capacity: self.settings.capacity,
            needed: Size(needed),
            total: Size(total << 10),
            advice: self.smaller_tree_top(total << 10),
            block_name: origins.name(BLOCK_SIZE),
        })
    }

    /// Advice for a vault that does not fit into `total` bytes: the largest tree top with which it takes half of them.
    fn smaller_tree_top(&self, total: u64) -> String {
        let (name, half) = (self.settings.origins.name(TREE_TOP), total / 2);
        let needed = |top: Size| {
            let mut smaller = self.settings.clone();
            smaller.scheme.tree_top = Some(top);
            vault_parameters(&smaller).map_or(u64::MAX, |parameters| TrustedMemory::of(&parameters).most)
        };
        if self.settings.scheme.scheme == Scheme::Trivial {
            return String::new();
        }
        let tops = (20..=half.max(1).ilog2()).rev().map(|power| Size(1 << power));
        let fitting = tops.map(|top| (top, needed(top))).find(|(_, needed)| *needed <= half);
        fitting.map_or_else(String::new, |(top, needed)| {
            // As one word, for a shell.
            let top = top.to_string().replace(' ', "");
            format!("{name} of {top} brings it down to {}, for more bytes moved; or ", Size(needed))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Settings};
    use std::path::Path;

    fn settings(text: &str) -> Settings {
        Settings::resolve(Config::parse(text, Path::new("lethe.toml")).unwrap()).unwrap()
    }

    #[test]
    fn a_vault_too_large_for_the_machine_is_told_a_tree_top_that_fits() {
        let large = settings("[vault]\ncapacity = \"1TiB\"");
        let memory = 16 << 30;
        assert!(TrustedMemory::of(&vault_parameters(&large).unwrap()).most > memory);
        let advice = Home::new(&large).smaller_tree_top(memory);
        let top =
            advice.strip_prefix("--tree-top of ").and_then(|rest| rest.split_once(" brings")).unwrap().0;
        let mut smaller = large.clone();
        smaller.scheme.tree_top = Some(top.parse().unwrap());
        assert!(TrustedMemory::of(&vault_parameters(&smaller).unwrap()).most <= memory / 2, "{advice}");
        assert_eq!(Home::new(&large).smaller_tree_top(1 << 20), "", "nothing fits into a mebibyte");
    }
}
