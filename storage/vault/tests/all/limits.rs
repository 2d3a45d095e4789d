//! A provider that accepts no object as large as the vault's: the vault reports that, and has lost nothing once the
//! limit is raised.

use crate::promises::fixture::{CAPACITY, VaultFixture, block, write_all};
use ameles_core::types::{BlockId, Bytes};
use ameles_store::{Provider, ProviderControl, ProviderLimits};
use ameles_vault::{Vault, VaultError};

const FILL: u8 = 1;
const NEW: u8 = 101;

/// Fills the vault, lowers the limits, and writes until a block or a checkpoint is refused; returns how many writes
/// were acknowledged after that.
async fn write_until_refused(vault: &Vault, limits: &ProviderControl, max_put: Bytes) -> (u64, VaultError) {
    write_all(vault, FILL).await;
    vault.checkpoint().await.unwrap();
    limits.set_limits(ProviderLimits { max_put, ..ProviderLimits::S3 });
    for at in 0..CAPACITY {
        if let Err(error) = vault.write(BlockId(at), block(NEW + at as u8)).await {
            return (at, error);
        }
    }
    (CAPACITY, vault.checkpoint().await.expect_err("it is larger than the provider takes"))
}

#[tokio::test(start_paused = true)]
async fn a_vault_whose_objects_the_provider_does_not_take_says_so_and_loses_nothing() {
    // No bucket fits the first limit, and no checkpoint the second.
    for max_put in [Bytes(256), Bytes(16 << 10)] {
        let fixture = VaultFixture::new().await;
        let provider = Provider::new(fixture.store.clone(), ProviderLimits::S3, 1);
        let limits = provider.control();
        let disk = fixture.disk.mount().unwrap();
        let (vault, running) = Vault::start(fixture.setup_over(&disk, provider)).await.unwrap();
        drop(disk);
        let writing = write_until_refused(&vault, &limits, max_put);
        let ((acknowledged, error), ()) = futures::join!(writing, running);
        drop(vault);
        fixture.disk.unplug();
        assert!(matches!(error, VaultError::Refused(_)), "{error}");
        assert!(error.to_string().contains("EntityTooLarge"), "{error}");
        assert!(acknowledged > 0 && limits.counts().too_large > 0, "{acknowledged}, {:?}", limits.counts());
        let reading = async |vault: &Vault| {
            for at in 0..CAPACITY {
                let read = vault.read(BlockId(at)).await.unwrap();
                let (new, before) = (block(NEW + at as u8), block(FILL + at as u8));
                // The refused write may have happened or not.
                assert!(
                    read == new || (at >= acknowledged && read == before),
                    "block {at} of {acknowledged}"
                );
            }
        };
        fixture.open(reading).await.unwrap();
    }
}
