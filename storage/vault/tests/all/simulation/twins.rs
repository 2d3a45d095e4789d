//! Twins: copies of the trusted disk from after an opening that failed. One of the two goes on, and the other is told so.

use super::diary;
use super::world::{Run, World};
use crate::support::setup;
use ameles_vault::{Vault, VaultError};

impl Run {
    /// Has the disk copied, now and then. Either of the two may go on with the vault.
    pub fn may_copy_disk(&mut self) {
        if matches!(self.kind, World::Sound | World::Provider) && self.chance.percent(30) {
            let mut twin = self.disk.image();
            if self.chance.percent(50) {
                std::mem::swap(&mut self.disk, &mut twin);
            }
            diary::note(|| "the disk was copied".to_owned());
            self.twins.push(twin);
        }
    }

    /// Tries every copy, when another has opened the vault since it was made.
    pub async fn twins_are_displaced(&mut self) {
        for twin in std::mem::take(&mut self.twins) {
            let disk = twin.mount().expect("it was left as a crash leaves it");
            let opened = Vault::start(setup(&disk, self.landing.clone(), self.chance.seed())).await;
            twin.unplug();
            match opened {
                Err(VaultError::Displaced { .. }) => self.summary.displaced += 1,
                // A journal in the store tells it before the claim.
                Err(VaultError::StaleTrustedState(_)) if self.has_journal_in_store() => {
                    self.summary.displaced += 1;
                }
                Err(error) => panic!("a copy of the trusted disk was told: {error}"),
                Ok(_) => panic!("two copies of the trusted disk have the vault"),
            }
        }
    }
}
