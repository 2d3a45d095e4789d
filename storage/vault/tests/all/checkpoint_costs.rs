//! The trusted state on the trusted disk: a checkpoint costs in proportion to what has changed, and every byte read is
//! authenticated.

use crate::promises::fixture::{CAPACITY, VaultFixture, block, read_all, write_all};
use crate::support::rng::TestRng;
use crate::support::{header, parameters};
use ameles_core::types::BlockId;
use ameles_vault::{Call, VaultError};
use redb::{ReadableDatabase, ReadableTable, TableDefinition};

/// Returns the number of bytes of checkpoints on the trusted disk for each access, after every block was written.
async fn checkpoint_bytes_per_access(capacity: u64) -> f64 {
    const BLOCK: u32 = 256;
    const ACCESSES: u64 = 4096;
    let fixture = VaultFixture::with(header(parameters(capacity, BLOCK, 16, 64), 1)).await;
    let figures = fixture.open(async |vault| {
        let write = |at| Call::Write(BlockId(at), vec![1; BLOCK as usize].into());
        vault.access((0..capacity).map(write).collect()).await.unwrap();
        let before = vault.status();
        let mut rng = TestRng::of(7);
        for _ in 0..ACCESSES / 16 {
            let calls = (0..16).map(|nth| match nth % 2 {
                0 => write(rng.below(capacity)),
                _ => Call::Read(BlockId(rng.below(capacity))),
            });
            vault.access(calls.collect()).await.unwrap();
        }
        let after = vault.status();
        let bytes = after.checkpoints.bytes - before.checkpoints.bytes;
        bytes as f64 / (after.accesses - before.accesses) as f64
    });
    figures.await.unwrap().0
}

/// The check is deterministic: the seed fixes the figures. It would detect a cost that grows by a byte an access for
/// each 500 blocks. A smaller vault costs less, because most blocks are evicted before a checkpoint finds them in the
/// stash.
#[tokio::test(start_paused = true)]
async fn a_checkpoint_costs_what_was_changed_and_not_what_the_vault_holds() {
    let (small, large) = (checkpoint_bytes_per_access(8192).await, checkpoint_bytes_per_access(65536).await);
    assert!(large < 1.2 * small, "{small} bytes an access at 8192 blocks, {large} at 65536");
    assert!(large < 256.0 + 512.0, "{large} bytes an access for blocks of 256");
}

/// A vault that was used through many checkpoints, and closed.
async fn used() -> VaultFixture {
    let fixture = VaultFixture::with(header(parameters(2048, 32, 4, 40), 1)).await;
    let many = fixture.open(async |vault| {
        for fill in 0..16 {
            write_all(vault, fill * 2).await;
        }
    });
    many.await.unwrap();
    fixture.open(async |vault| write_all(vault, 30).await).await.unwrap();
    fixture.open(async |vault| vault.write(BlockId(3), block(33)).await.unwrap()).await.unwrap();
    fixture.open(async |vault| read_all(vault, 30).await.unwrap()).await.unwrap();
    fixture
}

/// Opens a copy of the vault whose disk was corrupted. Returns whether that was detected.
///
/// # Panics
/// If a block has other contents than before, or the error is not the one for a damaged folder.
async fn is_noticed(copy: &VaultFixture) -> bool {
    match copy.open_and_crash(async |vault| read_all(vault, 30).await).await {
        Ok((read, _)) => {
            read.expect("what opens is whole");
            false
        }
        Err(VaultError::Damaged(_)) => true,
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_byte_that_was_changed_in_a_place_of_the_stash_is_noticed_or_of_no_account() {
    let fixture = used().await;
    let places = fixture.disk.slot_file_len() / block(0).len();
    let (mut noticed, mut vacant) = (0, 0);
    for place in 0..places {
        let copy = fixture.copy(&fixture.store.snapshot());
        copy.disk.flip_in_slot_file(place * block(0).len() + place % block(0).len());
        if is_noticed(&copy).await { noticed += 1 } else { vacant += 1 }
    }
    assert!(noticed > 0 && vacant > 0, "{noticed} of {places} places were noticed");
    assert!(noticed <= CAPACITY, "no more than there are blocks");
}

#[tokio::test(start_paused = true)]
async fn a_part_of_the_state_that_was_changed_or_removed_is_noticed() {
    type Part = TableDefinition<'static, (u64, u32), &'static [u8]>;
    let fixture = used().await;
    for name in ["words", "deltas", "garbage", "summary"] {
        let part: Part = TableDefinition::new(name);
        let database = fixture.disk.image().database().unwrap();
        let entries: Vec<((u64, u32), Vec<u8>)> = {
            let table = database.begin_read().unwrap().open_table(part).unwrap();
            let entry = |entry: Result<_, redb::StorageError>| {
                let (key, value): (redb::AccessGuard<'_, (u64, u32)>, redb::AccessGuard<'_, &[u8]>) =
                    entry.unwrap();
                (key.value(), value.value().to_vec())
            };
            table.iter().unwrap().map(entry).collect()
        };
        drop(database);
        assert!(name == "garbage" || !entries.is_empty(), "{name}");
        for (key, value) in entries {
            let copy = fixture.copy(&fixture.store.snapshot());
            change(&copy, |transaction| {
                let mut spoilt = value.clone();
                let at = spoilt.len() / 2;
                spoilt[at] ^= 4;
                transaction.open_table(part).unwrap().insert(key, &spoilt[..]).unwrap();
            });
            assert!(is_noticed(&copy).await, "{name} {key:?} was changed");
        }
    }
    // The newest delta, if there is one: without it the state would be an older one.
    let copy = fixture.copy(&fixture.store.snapshot());
    let deltas: Part = TableDefinition::new("deltas");
    change(&copy, |transaction| {
        let mut table = transaction.open_table(deltas).unwrap();
        table.pop_last().unwrap().expect("there is a delta");
    });
    assert!(is_noticed(&copy).await);
}

/// Changes the database of a vault's trusted disk.
fn change(fixture: &VaultFixture, work: impl FnOnce(&redb::WriteTransaction)) {
    let database = fixture.disk.database().unwrap();
    let transaction = database.begin_write().unwrap();
    work(&transaction);
    transaction.commit().unwrap();
    drop(database);
    fixture.disk.unplug();
}
