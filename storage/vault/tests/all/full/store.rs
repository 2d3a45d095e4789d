//! The store is full. Writes are refused, and reads continue until an eviction must come first. Superseded versions are
//! removed, and everything continues when there is room again.
#![allow(clippy::print_stdout, reason = "figures are shown with --nocapture")]

use super::fixture::{BLOCKS, FullVault, LATER, OpenVault, block, vault_header};
use super::limited_store::{LimitedStore, StoreEvent};
use crate::support::fragile_disk::FragileDisk;
use crate::support::{frequent_evictions, header, restore_options, setup};
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::trivial::TrivialParameters;
use ameles_core::types::BlockId;
use ameles_vault::{SchemeParameters, Vault, VaultError, VaultHeader, VaultParameters, restore};

async fn write_all(known: &mut OpenVault<'_>) {
    for at in 0..BLOCKS {
        known.write(at, at as u8).await.unwrap();
    }
}

/// Reads until a read is refused; returns how many were answered.
async fn read_until_refused(known: &OpenVault<'_>) -> u64 {
    let mut reads = 0;
    loop {
        match known.read(reads * 5 % BLOCKS).await {
            Ok(()) => reads += 1,
            Err(VaultError::StoreFull) => return reads,
            Err(error) => panic!("after {reads} reads: {error}"),
        }
        assert!(reads < 1000, "no eviction came");
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_store_refuses_writes_and_then_reads_and_takes_all_when_there_is_room() {
    let mut fixture = FullVault::new(vault_header(), LimitedStore::new).await;
    let room = fixture.store.room.clone();
    fixture
        .open(3, async |known| {
            write_all(known).await;
            known.put_row("early", 100).await.unwrap();
            room.left.set(Some(0));
            let reads = read_until_refused(known).await;
            let store = known.vault.status().store;
            assert!(reads >= 1 && store.is_full && store.refuses_reads, "after {reads} reads: {store:?}");
            assert!(matches!(known.write(1, 77).await, Err(VaultError::NoRoom)));
            known.remove_row("early").await.unwrap();
            assert!(known.vault.failure().is_none());
            room.left.set(None);
            tokio::time::sleep(LATER).await;
            for at in 0..BLOCKS {
                known.read(at).await.unwrap();
            }
            known.write(3, 33).await.unwrap();
            assert!(!known.vault.status().store.is_full);
        })
        .await;
    // A stop does not wait for room.
    fixture
        .open(4, async |known| {
            known.read(3).await.unwrap();
            room.left.set(Some(0));
            read_until_refused(known).await;
            let closing = tokio::time::timeout(LATER, known.vault.close()).await;
            assert!(matches!(closing, Ok(Err(VaultError::StoreFull))), "{closing:?}");
            room.left.set(None);
        })
        .await;
    fixture.open(5, async |known| known.read(3).await.unwrap()).await;
}

/// A small vault of each scheme.
fn vaults() -> Vec<VaultHeader> {
    let path = PathParameters::for_buckets_of(4, BLOCKS, 32, 8, 4).unwrap();
    let trivial = TrivialParameters { capacity: BLOCKS, block_bytes: 32, chunk_blocks: 4, max_batch: 4 };
    let around = |scheme| VaultParameters {
        checkpoint_every: 40,
        rows_bytes: 4096,
        ..VaultParameters::with_defaults(scheme)
    };
    let others = [SchemeParameters::Path(path), SchemeParameters::Trivial(trivial)].map(around);
    let [path, trivial] = others;
    [vault_header().parameters, frequent_evictions(), path, trivial]
        .map(|parameters| header(parameters, 1))
        .into()
}

#[tokio::test(start_paused = true)]
async fn a_full_store_takes_as_many_reads_as_are_stated() {
    for vault in vaults() {
        let stated = vault.parameters.scheme.reads_on_a_full_store();
        let mut counted = Vec::new();
        let is_ring = matches!(vault.parameters.scheme, SchemeParameters::Ring(_));
        for early in 0..if is_ring { 8 } else { 2 } {
            let mut fixture = FullVault::new(vault.clone(), LimitedStore::new).await;
            let room = fixture.store.room.clone();
            let reads = fixture.open(early, async |known| {
                write_all(known).await;
                for at in 0..early {
                    known.read(at).await.unwrap();
                }
                // The postponed work is done.
                tokio::time::sleep(LATER).await;
                room.stays_full.set(true);
                room.left.set(Some(0));
                read_until_refused(known).await
            });
            counted.push(reads.await);
        }
        counted.sort_unstable();
        let (name, max) = (vault.parameters.scheme.name(), counted[counted.len() - 1]);
        println!("{name}, stated {stated:?}: {counted:?}");
        assert!(max <= *stated.end(), "{name}: {counted:?} beyond {stated:?}");
        let median = counted[counted.len() / 2];
        assert!(median >= *stated.start(), "{name}: {counted:?} below {stated:?}");
    }
}

/// Runs a vault that finds the store full in the middle of an eviction, and kills it there. Returns the buckets that
/// were stored.
async fn be_cut_off_in_an_eviction(fixture: &mut FullVault<LimitedStore>) -> usize {
    let room = fixture.store.room.clone();
    let before = fixture.open(3, async |known| {
        write_all(known).await;
        tokio::time::sleep(LATER).await;
        room.left.set(Some(1));
        read_until_refused(known).await;
    });
    before.await;
    assert_eq!(fixture.store.room.left.get(), Some(0));
    1
}

#[tokio::test(start_paused = true)]
async fn what_a_cut_off_eviction_has_left_goes_before_the_next_one_is_tried_again() {
    let mut fixture = FullVault::new(header(frequent_evictions(), 1), LimitedStore::new).await;
    let arrived = be_cut_off_in_an_eviction(&mut fixture).await;
    let room = fixture.store.room.clone();
    // The next opening's claim finds room.
    room.left.set(Some(1));
    room.take_events();
    room.deletion_takes.set(LATER);
    fixture
        .open(4, async |known| {
            read_until_refused(known).await;
            tokio::time::sleep(2 * LATER).await;
            let events = room.take_events();
            let freed = events.iter().position(|event| *event == StoreEvent::Deleted(arrived));
            let tried = &events[..freed.expect("it has gone")];
            let twice = (1..tried.len()).find(|at| tried[..*at].contains(&tried[*at]));
            assert_eq!(twice, None, "something was tried again before: {events:?}");
        })
        .await;
}

/// A check of a vault completes even if an eviction must be finished first and has no room.
#[tokio::test(start_paused = true)]
async fn a_check_of_a_vault_whose_store_is_full_says_so_and_waits_for_nothing() {
    let mut fixture = FullVault::new(header(frequent_evictions(), 1), LimitedStore::new).await;
    be_cut_off_in_an_eviction(&mut fixture).await;
    // Room for the claim only.
    fixture.store.room.left.set(Some(1));
    fixture
        .open(4, async |known| {
            known.vault.fail_if_store_is_full();
            let checking = known.vault.check(Box::new(|_, _| {}));
            let checked = tokio::time::timeout(10 * LATER, checking).await.expect("it does not wait");
            assert!(matches!(checked, Err(VaultError::StoreFull)), "{checked:?}");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_that_finds_the_store_full_gets_the_room_of_what_was_superseded() {
    let parameters = VaultParameters { ship_every: 1, ..frequent_evictions() };
    let mut fixture = FullVault::new(header(parameters, 1), LimitedStore::new).await;
    let room = fixture.store.room.clone();
    fixture
        .open(3, async |known| {
            write_all(known).await;
            tokio::time::sleep(LATER).await;
            room.take_events();
            *room.ends_at.borrow_mut() = Some("piece/");
            for nth in 0..80 {
                let _ = known.read(nth % BLOCKS).await;
            }
            let events = room.take_events();
            let piece =
                |event: &StoreEvent| matches!(event, StoreEvent::Refused(of) if of.starts_with("piece/"));
            let mut since = events.iter().skip_while(|event| !piece(event)).skip(1);
            let freed = since.find(|event| piece(event) || matches!(event, StoreEvent::Deleted(1..)));
            assert!(matches!(freed, Some(StoreEvent::Deleted(_))), "{events:?}");
            room.left.set(None);
            tokio::time::sleep(LATER).await;
            assert!(!known.vault.status().store.is_full);
            known.write(1, 99).await.unwrap();
        })
        .await;
    fixture.open(4, async |known| known.read(1).await.unwrap()).await;
}

/// Restores the vault from its store alone, and compares its blocks.
async fn restore_from(fixture: &FullVault<LimitedStore>) {
    let disk = FragileDisk::default().mount().unwrap();
    let (store, options) = (fixture.store.copy(), restore_options(&fixture.header, None));
    restore(setup(&disk, store.clone(), 8), options).await.expect("it can be restored");
    let (vault, running) = Vault::start(setup(&disk, store, 9)).await.unwrap();
    let reading = async {
        for at in 0..BLOCKS {
            assert_eq!(vault.read(BlockId(at)).await.unwrap(), block(fixture.known[&at]), "block {at}");
        }
        vault.close().await.unwrap();
    };
    futures::join!(reading, running);
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_that_may_be_in_the_full_store_keeps_what_it_needs() {
    for opens_again in [false, true] {
        let parameters = VaultParameters { ship_every: 1, ..frequent_evictions() };
        let mut fixture = FullVault::new(header(parameters, 1), LimitedStore::new).await;
        let room = fixture.store.room.clone();
        fixture.open(3, async |known| write_all(known).await).await;
        room.stays_full.set(true);
        fixture
            .open(4, async |known| {
                room.answers_nothing_to.set(Some("checkpoint/"));
                // Checkpoints on the disk follow the one whose manifest is in the store.
                for nth in 0..160 {
                    known.read(nth % BLOCKS).await.unwrap();
                }
                if !opens_again {
                    room.left.set(Some(0));
                    read_until_refused(known).await;
                }
            })
            .await;
        if opens_again {
            room.left.set(Some(1));
            fixture.open(5, async |known| read_until_refused(known).await).await;
        }
        restore_from(&fixture).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_opening_makes_room_for_its_claim_of_what_was_superseded_or_says_what_to_do() {
    let mut fixture = FullVault::new(header(frequent_evictions(), 1), LimitedStore::new).await;
    let room = fixture.store.room.clone();
    room.loses_deletions.set(true);
    fixture.open(3, async |known| write_all(known).await).await;
    room.loses_deletions.set(false);
    room.left.set(Some(0));
    fixture
        .open(4, async |known| {
            let events = room.take_events();
            assert!(
                matches!(events[..], [StoreEvent::Refused(_), StoreEvent::Deleted(1..), ..]),
                "{events:?}"
            );
            known.read(7).await.unwrap();
        })
        .await;
    // Nothing removable is left.
    fixture.open(5, async |known| known.vault.close().await).await.unwrap();
    room.left.set(Some(0));
    let mounted = fixture.disk.mount_with_reserve().unwrap();
    let refused = Vault::start(setup(&mounted, fixture.store.clone(), 6)).await.map(|_| ()).unwrap_err();
    assert!(matches!(refused, VaultError::StoreFull), "{refused}");
    assert!(
        refused.to_string().contains("free some space in it, and run the same command again"),
        "{refused}"
    );
}
