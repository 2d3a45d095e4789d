//! Copies of the trusted disk, made after an opening that failed. One of the two continues, and the other is displaced.

use super::run::{Environment, Run};
use super::run_log;
use crate::support::setup;
use ameles_vault::{Vault, VaultError};

impl Run {
    /// Sometimes copies the disk. Either copy may continue with the vault.
    pub fn may_copy_disk(&mut self) {
        if matches!(self.kind, Environment::Sound | Environment::Provider) && self.rng.percent(30) {
            let mut disk_copy = self.disk.image();
            if self.rng.percent(50) {
                std::mem::swap(&mut self.disk, &mut disk_copy);
            }
            run_log::note(|| "the disk was copied".to_owned());
            self.disk_copies.push(disk_copy);
        }
    }

    /// Tries every copy, if another has opened the vault since it was made.
    pub async fn check_copies_are_displaced(&mut self) {
        for disk_copy in std::mem::take(&mut self.disk_copies) {
            let disk = disk_copy.mount().expect("it was left as a crash leaves it");
            let opened = Vault::start(setup(&disk, self.checked_store.clone(), self.rng.seed())).await;
            disk_copy.unplug();
            match opened {
                Err(VaultError::Displaced { .. }) => self.summary.displaced += 1,
                // A journal in the store detects it before the claim.
                Err(VaultError::StaleTrustedState(_)) if self.has_journal_in_store() => {
                    self.summary.displaced += 1;
                }
                Err(error) => panic!("a copy of the trusted disk was told: {error}"),
                Ok(_) => panic!("two copies of the trusted disk have the vault"),
            }
        }
    }
}
