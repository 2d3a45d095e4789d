//! Vaults with stash and tree top on the trusted disk. Local reads reveal nothing, memory stays small, and every
//! payload that the disk gives is authenticated.

mod local_reads;

use crate::promises::fixture::{CAPACITY, VaultFixture, block, check, read_all, write_all};
use crate::support::fragile_disk::Crash;
use crate::support::rng::TestRng;
use crate::support::{
    every_scheme, frequent_evictions, header, parameters, restore_options, with_top_on_disk,
};
use ameles_core::types::BlockId;
use ameles_vault::{Call, SchemeParameters, TreeTopPlace, VaultError, VaultParameters, read_header, restore};

/// Returns the vaults with a tree top on disk.
fn vaults() -> Vec<VaultParameters> {
    let schemes = every_scheme().into_iter();
    let has_top = |made: &VaultParameters| !matches!(made.scheme, SchemeParameters::Trivial(_));
    schemes.filter(has_top).chain([frequent_evictions()]).map(with_top_on_disk).collect()
}

#[tokio::test(start_paused = true)]
async fn a_vault_remembers_across_checkpoints_openings_and_crashes() {
    for parameters in vaults() {
        let fixture = VaultFixture::with(header(parameters, 1)).await;
        assert_eq!(fixture.header.parameters.tree_top, TreeTopPlace::Disk);
        for fill in 0..6 {
            fixture
                .open(async |vault| {
                    if fill > 0 {
                        read_all(vault, fill - 1).await.unwrap();
                    }
                    write_all(vault, fill).await;
                })
                .await
                .unwrap();
            let (read, failure) = fixture
                .open_and_crash(async |vault| {
                    read_all(vault, fill).await?;
                    write_all(vault, fill + 100).await;
                    write_all(vault, fill).await;
                    read_all(vault, fill).await
                })
                .await
                .unwrap();
            read.unwrap();
            assert!(failure.is_none(), "{failure:?}");
        }
        fixture
            .open(async |vault| {
                read_all(vault, 5).await.unwrap();
                assert_eq!(check(vault).await.unwrap().faults, [""; 0]);
                assert_eq!(vault.status().emergencies, 0);
            })
            .await
            .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_place_that_is_spoilt_at_any_time_is_an_error_and_never_wrong_data() {
    let mut noticed = 0;
    for spoilt_after in 0..40u64 {
        for parameters in vaults() {
            let fixture = VaultFixture::with(header(parameters, spoilt_after)).await;
            fixture.open(async |vault| write_all(vault, 3).await).await.unwrap();
            let (read, failure) = fixture
                .open_and_crash(async |vault| {
                    for at in 0..spoilt_after {
                        vault.read(BlockId(at * 7 % CAPACITY)).await?;
                    }
                    let len = block(0).len();
                    for place in 0..fixture.disk.slot_file_len() / len {
                        fixture.disk.flip_in_slot_file(place * len + spoilt_after as usize % len);
                    }
                    read_all(vault, 3).await
                })
                .await
                .unwrap();
            match read {
                Ok(()) => assert!(failure.is_none(), "{failure:?}"),
                Err(error) => {
                    assert!(matches!(failure, Some(VaultError::Damaged(_))), "{failure:?}");
                    assert!(matches!(error, VaultError::Damaged(_)), "{error}");
                    noticed += 1;
                }
            }
        }
    }
    assert!(noticed > 50, "{noticed} were noticed");
}

/// Blocks are written with the contents that they already have. So a power loss leaves the same contents; a payload in
/// another block's slot would not open.
#[tokio::test(start_paused = true)]
async fn a_place_that_a_checkpoint_names_is_not_written_before_the_next_one_is_durable() {
    let fixture = VaultFixture::with(header(with_top_on_disk(frequent_evictions()), 1)).await;
    fixture.open(async |vault| write_all(vault, 3).await).await.unwrap();
    let (state, mut failed) = (fixture.store.snapshot(), 0);
    for cut in (1..1200).step_by(3) {
        let copy = fixture.copy(&state);
        let working = copy.open_and_crash(async |vault| {
            copy.disk.fail_after(Some(cut));
            for at in (0..2 * CAPACITY).map(|at| at % CAPACITY) {
                let calls = vec![Call::Write(BlockId(at), block(3 + at as u8).into())];
                if vault.access(calls).await.is_err() {
                    break;
                }
            }
        });
        working.await.unwrap();
        failed += u64::from(copy.disk.has_failed());
        copy.disk.crash(Crash::PowerLoss, &mut TestRng::of(cut));
        copy.open(async |vault| read_all(vault, 3).await.unwrap()).await.unwrap();
    }
    assert!(failed > 100, "the power failed {failed} times");
}

#[tokio::test(start_paused = true)]
async fn memory_holds_what_came_since_the_last_checkpoint_and_no_more() {
    const BLOCKS: u64 = 1024;
    const BLOCK_BYTES: u64 = 4096;
    let planned = |on_disk: bool| {
        let usual = parameters(BLOCKS, BLOCK_BYTES as u32, 4, 16);
        let ring = ameles_core::schemes::ring::RingParameters::for_capacity(
            BLOCKS,
            BLOCK_BYTES as u32,
            BLOCKS / 4,
            4,
        );
        let usual = VaultParameters { scheme: SchemeParameters::Ring(ring), rows_bytes: 4096, ..usual };
        if on_disk { with_top_on_disk(usual) } else { usual }
    };
    let mut max = Vec::new();
    for on_disk in [false, true] {
        let parameters = planned(on_disk);
        let bound = parameters.trusted_bytes();
        let fixture = VaultFixture::with(header(parameters, 1)).await;
        let peak = fixture
            .open(async |vault| {
                let mut peak = 0;
                for round in 0..3 {
                    for at in 0..BLOCKS / 4 {
                        let write = |nth| {
                            Call::Write(BlockId(4 * at + nth), vec![round; BLOCK_BYTES as usize].into())
                        };
                        vault.access((0..4).map(write).collect()).await.unwrap();
                        peak = peak.max(vault.status().trusted_bytes);
                    }
                }
                assert!(vault.status().stash.peak > BLOCKS / 8);
                peak
            })
            .await
            .unwrap()
            .0;
        // A stash grows by an eighth, or some blocks, at a time; the directory of slots is counted with its capacity.
        assert!(peak < bound + bound / 8 + 40 * BLOCK_BYTES, "{peak} bytes, and {bound} at most");
        // The payloads that are there at an opening are not read into memory.
        let opened = fixture.open(async |vault| vault.status().trusted_bytes).await.unwrap().0;
        assert!(!on_disk || opened < BLOCKS * 200, "{opened} bytes at an opening");
        max.push(peak);
    }
    assert!(2 * max[1] < max[0], "{} bytes on the disk, and {} in memory", max[1], max[0]);
}

#[tokio::test(start_paused = true)]
async fn a_restored_vault_has_its_top_on_the_disk_again() {
    for parameters in vaults() {
        let fixture = VaultFixture::with(header(parameters, 1)).await;
        let receipt = fixture.open(async |vault| write_all(vault, 9).await).await.unwrap().1;
        let found = fixture.with_empty_disk();
        let disk = found.disk.mount().unwrap();
        let options = restore_options(&found.header, Some(receipt));
        restore(found.setup(&disk), options).await.unwrap();
        assert_eq!(
            read_header(&disk, &crate::support::master()).unwrap().parameters.tree_top,
            TreeTopPlace::Disk
        );
        drop(disk);
        found.disk.unplug();
        found.open(async |vault| read_all(vault, 9).await.unwrap()).await.unwrap();
    }
}

#[test]
fn trivial_oram_has_no_top_to_stand_there() {
    let trivial = every_scheme().into_iter().find(|made| matches!(made.scheme, SchemeParameters::Trivial(_)));
    let header = header(with_top_on_disk(trivial.unwrap()), 1);
    let disk = crate::support::fragile_disk::FragileDisk::default().mount().unwrap();
    let store = ameles_store::VersionedMemory::new(header.parameters.layout());
    let mut parts = crate::support::setup(&disk, store, 1);
    let error = futures::executor::block_on(ameles_vault::Vault::create(&mut parts, &header)).unwrap_err();
    assert!(error.to_string().contains("Trivial ORAM has no tree top"), "{error}");
}
