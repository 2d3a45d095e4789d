//! A restore moves only the buckets that exist. It continues where an interrupted one has ended, and the restored vault
//! continues with the next eviction.

use crate::every_step::is_thorough;
use crate::restore::{block, in_service, requests_of_restore};
use crate::simulation::killable::KillableFuture;
use crate::support::fragile_disk::{Crash, FragileDisk};
use crate::support::rng::TestRng;
use crate::support::stepped::stepped;
use crate::support::{
    every_scheme, faults_of, frequent_evictions, memory_disk, new_vault, restore_options, setup,
};
use ameles_core::schemes::ring::{RingBucket, RingParameters};
use ameles_core::tree::eviction_schedule::reverse_lexicographic;
use ameles_core::types::{BlockId, Bucket, Level};
use ameles_store::{Recorder, Request, Trace, VersionedMemory};
use ameles_vault::{
    JournalPlace, Restore, RestorePlan, SchemeParameters, TrustedDisk, Vault, VaultHeader, VaultParameters,
    restore,
};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A vault of 1024 blocks, with an eviction every fourth access and 64 leaves, of which a few accesses write few.
fn large() -> VaultParameters {
    let small = frequent_evictions();
    let SchemeParameters::Ring(ring) = small.scheme else { unreachable!("it is planned for Ring ORAM") };
    let planned = RingParameters {
        capacity: 1024,
        leaf_level: Level(6),
        top: Level(3),
        leaf: RingBucket { blocks: 30, slots: 30 },
        stash_bound: 200,
        ..ring
    };
    assert_eq!(planned.validate(), Ok(()));
    VaultParameters { scheme: SchemeParameters::Ring(planned), ..small }
}

fn ring(header: &VaultHeader) -> &RingParameters {
    match &header.parameters.scheme {
        SchemeParameters::Ring(ring) => ring,
        _ => panic!("it is a vault with Ring ORAM"),
    }
}

/// A vault whose machine is lost after this many writes, to `used` blocks in turn.
async fn lost_vault(parameters: VaultParameters, accesses: u64, used: u64) -> (VaultHeader, VersionedMemory) {
    let (header, store, disk) = new_vault(parameters).await;
    let working = in_service(&disk, &store, 3, async |vault| {
        for at in 0..accesses {
            vault.write(BlockId(at % used), block(at as u8)).await.unwrap();
        }
    });
    working.await.unwrap();
    (header, store)
}

/// Checks what [`lost_vault`] wrote.
async fn check_contents(disk: &TrustedDisk, store: &VersionedMemory, accesses: u64, used: u64) {
    let reading = in_service(disk, store, 6, async |vault| {
        for at in 0..vault.capacity() {
            let last = (0..accesses).rev().find(|access| access % used == at);
            assert_eq!(vault.read(BlockId(at)).await.unwrap(), block(last.unwrap_or(0) as u8), "block {at}");
        }
        assert!(faults_of(vault).await.is_empty());
    });
    reading.await.unwrap();
}

/// The buckets that are read and that are written in a trace, in the order of the requests.
fn moved(trace: &Trace) -> (Vec<Bucket>, Vec<Bucket>) {
    let (mut read, mut written) = (Vec::new(), Vec::new());
    for event in trace.events() {
        match event.request {
            Request::Read(range) => read.push(range.of.bucket),
            Request::Write(of) => written.push(of.bucket),
            _ => {}
        }
    }
    (read, written)
}

#[tokio::test(start_paused = true)]
async fn a_restore_moves_the_buckets_that_the_evictions_so_far_have_written_and_says_so_before() {
    for accesses in [0, 3, 4, 100] {
        let (header, store) = lost_vault(large(), accesses, 1024).await;
        let ring = ring(&header);
        let evictions = accesses / u64::from(ring.eviction_rate);
        let tree = ring.geometry();
        let leaves = (0..evictions).map(|turn| reverse_lexicographic(turn, tree.leaf_level()));
        let exists: BTreeSet<Bucket> =
            leaves.flat_map(|leaf| tree.path(leaf).map(|(_, bucket)| bucket).collect::<Vec<_>>()).collect();
        let recorder = Recorder::new(store.clone());
        let (disk, trace) = (memory_disk(), recorder.trace());
        let planned: Rc<Cell<RestorePlan>> = Rc::default();
        let announced = planned.clone();
        let announce = Box::new(move |plan: &RestorePlan| announced.set(*plan));
        let options = Restore { announce, ..restore_options(&header, None) };
        restore(setup(&disk, recorder, 5), options).await.unwrap();
        let (read, written) = moved(&trace);
        let in_order: Vec<Bucket> = exists.into_iter().collect();
        assert_eq!(read, in_order, "{accesses} accesses");
        assert_eq!(written, in_order, "{accesses} accesses");
        let bytes: u64 =
            in_order.iter().map(|bucket| header.parameters.layout().bucket_bytes(*bucket) as u64).sum();
        let plan = planned.get();
        assert_eq!((plan.buckets_read, plan.bytes_read), (in_order.len() as u64, bytes));
        assert_eq!((plan.buckets_written, plan.bytes_written), (in_order.len() as u64, bytes));
        // A path for each eviction, of a vault forty times as large.
        assert!(in_order.len() as u64 <= evictions * tree.levels().count() as u64);
        assert!(accesses > 10 || 2 * in_order.len() as u64 <= tree.buckets(), "{} buckets", in_order.len());
        check_contents(&disk, &store, accesses, 1024).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_restored_vault_continues_with_the_next_eviction() {
    let (header, store) = lost_vault(large(), 40, 1024).await;
    let (tree, rate) = (ring(&header).geometry(), u64::from(ring(&header).eviction_rate));
    for (nth, begin) in (0..3).zip((40..).step_by(8)) {
        let disk = memory_disk();
        restore(setup(&disk, store.clone(), 10 + nth), restore_options(&header, None)).await.unwrap();
        let recorder = Recorder::new(store.clone());
        let trace = recorder.trace();
        let (vault, running) = Vault::start(setup(&disk, recorder, 20 + nth)).await.unwrap();
        let working = async {
            assert_eq!(vault.status().accesses, begin);
            for at in 0..8 {
                vault.write(BlockId(900 + at), block(1)).await.unwrap();
            }
            vault.close().await.unwrap();
        };
        futures::join!(working, running);
        let next = (begin / rate..(begin + 8) / rate)
            .flat_map(|turn| {
                let leaf = reverse_lexicographic(turn, tree.leaf_level());
                tree.path(leaf).map(|(_, bucket)| bucket).collect::<Vec<_>>()
            })
            .collect::<Vec<_>>();
        let (_, written) = moved(&trace);
        assert_eq!(written, next, "after {begin} accesses");
    }
}

/// The requests of a restore of a vault after this many accesses to `used` blocks, without epochs and counters.
async fn shown(parameters: VaultParameters, accesses: u64, used: u64) -> Vec<String> {
    let (header, store) = lost_vault(parameters, accesses, used).await;
    requests_of_restore(&header, &store).await
}

#[tokio::test(start_paused = true)]
async fn a_restore_shows_the_same_for_any_contents_at_any_time() {
    for journal in [JournalPlace::Disk, JournalPlace::Store] {
        for accesses in [1, 5, 30, 90] {
            let parameters = || VaultParameters { journal, ..large() };
            let (few, many) =
                (shown(parameters(), accesses, 1).await, shown(parameters(), accesses, 1024).await);
            assert_eq!(few, many, "{journal:?}, {accesses} accesses");
        }
    }
}

/// The numbers of reads and writes of buckets by a restore, under Path ORAM.
async fn requests_of_path_oram(accesses: u64, used: u64) -> (usize, usize) {
    let is_path = |parameters: &VaultParameters| matches!(parameters.scheme, SchemeParameters::Path(_));
    let parameters = every_scheme().into_iter().find(is_path).expect("Path ORAM");
    let (header, store) = lost_vault(parameters, accesses, used).await;
    let recorder = Recorder::new(store.clone());
    let (disk, trace) = (memory_disk(), recorder.trace());
    let planned: Rc<Cell<RestorePlan>> = Rc::default();
    let announced = planned.clone();
    let announce = Box::new(move |plan: &RestorePlan| announced.set(*plan));
    restore(setup(&disk, recorder, 5), Restore { announce, ..restore_options(&header, None) }).await.unwrap();
    assert_eq!(planned.get().accesses, accesses.min(64));
    let batches = trace.events().iter().filter(|event| matches!(event.request, Request::Write(_))).count();
    check_contents(&disk, &store, accesses, used).await;
    (moved(&trace).0.len(), batches)
}

#[tokio::test(start_paused = true)]
async fn a_restore_of_path_oram_makes_as_many_accesses_as_there_were_and_no_more_than_blocks() {
    let (few, many) = (requests_of_path_oram(8, 1).await, requests_of_path_oram(300, 64).await);
    assert!(4 * few.1 < many.1, "{few:?} and {many:?}");
    requests_of_path_oram(300, 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_restore_that_is_run_again_fetches_what_is_missing_or_damaged() {
    let (header, store) = lost_vault(large(), 100, 1024).await;
    let options = || restore_options(&header, None);
    let (copy, disk) = (options().copy, FragileDisk::default());
    // Killed in the middle of the fetch.
    let is_half = Rc::new(Cell::new(false));
    let half = is_half.clone();
    let progress = Box::new(move |stage: &'static str, done, all| {
        half.set(half.get() || (stage == "fetching" && 2 * done >= all));
    });
    let first = restore(
        setup(&disk.mount().unwrap(), stepped(store.clone()), 5),
        Restore { copy: copy.clone(), progress, ..options() },
    );
    let mut first = Box::pin(first);
    while !is_half.get() {
        assert!(crate::support::stepped::step(&mut first).is_none(), "it is not at its end");
    }
    disk.unplug();
    drop(first);
    let mut held = Vec::new();
    ameles_store::Inventory::list_bucket_versions(&copy, &mut |at, _| held.push(at)).await.unwrap();
    assert!(held.len() > 4, "{held:?}");
    // One is damaged, one is cut, and one does not belong there.
    copy.flip(held[0], 7, 1);
    copy.truncate(held[1], 5);
    let recorder = Recorder::new(store.clone());
    let trace = recorder.trace();
    let disk = disk.mount().unwrap();
    restore(setup(&disk, recorder, 7), Restore { copy, ..options() }).await.unwrap();
    let (read, written) = moved(&trace);
    let kept: BTreeSet<Bucket> = held[2..].iter().map(|at| at.bucket).collect();
    let fetched: Vec<Bucket> = written.into_iter().filter(|bucket| !kept.contains(bucket)).collect();
    assert_eq!(read, fetched);
    check_contents(&disk, &store, 100, 1024).await;
}

/// Runs a restore that is killed after some waits, or loses power after some changes of its disk. Then runs another one
/// with what is left on the machine. Returns whether the first one came to its end.
async fn restore_twice(
    lost: (&VaultHeader, &VersionedMemory),
    waits: Option<u64>,
    changes: Option<u64>,
) -> bool {
    let (header, original) = lost;
    let store = VersionedMemory::new(header.parameters.layout());
    store.restore(&original.snapshot());
    let (disk, copy) = (FragileDisk::default(), restore_options(header, None).copy);
    let options = || Restore { copy: copy.clone(), ..restore_options(header, None) };
    disk.fail_after(changes);
    let restoring = async {
        let mounted = disk.mount()?;
        restore(setup(&mounted, stepped(store.clone()), 5), options()).await
    };
    let first = KillableFuture::new(restoring, disk.clone(), waits).await;
    let is_over = first.is_some_and(|first| first.is_ok());
    if is_over {
        disk.unplug();
    }
    let how = if changes.is_some() { Crash::PowerLoss } else { Crash::Kill };
    disk.crash(how, &mut TestRng::of(waits.or(changes).unwrap_or(0)));
    // A database that was half made is made again.
    let disk = if disk.mount().is_ok() { disk } else { FragileDisk::default() };
    let mounted = disk.mount().expect("a new disk can be used");
    if ameles_vault::restored(&mounted, &crate::support::master()).ok().flatten().is_none() {
        restore(setup(&mounted, store.clone(), 9), options()).await.unwrap();
    }
    check_contents(&mounted, &store, 40, 1024).await;
    is_over
}

#[tokio::test(start_paused = true)]
async fn a_restore_that_dies_at_any_step_can_be_run_again_and_nothing_is_missing() {
    let (header, store) = lost_vault(large(), 40, 1024).await;
    let stride = if is_thorough() { 1 } else { 13 };
    for is_power_loss in [false, true] {
        let mut deaths = 0;
        for nth in (0..).step_by(stride) {
            let (waits, changes) = if is_power_loss { (None, Some(nth)) } else { (Some(nth), None) };
            if restore_twice((&header, &store), waits, changes).await {
                break;
            }
            deaths += 1;
        }
        assert!(deaths > 8, "{deaths} deaths");
    }
}
