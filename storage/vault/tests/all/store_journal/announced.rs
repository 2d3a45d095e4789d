//! A vault that announces in the store. No request leaves before the store has its record, and a restore repeats what
//! the lost machine has announced.

use super::{in_successor, with_journal_in_store};
use crate::promises::fixture::{CAPACITY, VaultFixture, block, write_all};
use crate::support::intercepted::Request;
use crate::support::recorder::{Recorder, TraceEvent};
use crate::support::{header, memory_disk, restore_options, setup};
use ameles_core::store::Place;
use ameles_core::types::BlockId;
use ameles_store::{Blobs, Link, LinkSpeed, VersionedMemory};
use ameles_vault::{JournalPlace, Pace, Restore, RowChange, Vault, VaultError, VaultParameters, restore};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::{sleep, timeout};

fn announced() -> VaultParameters {
    VaultParameters { journal: JournalPlace::StoreFirst, ship_every: 1000, ..with_journal_in_store() }
}

/// Writes, reads and commits.
async fn work(vault: &Vault) {
    for nth in 0..50u8 {
        vault.write(BlockId(u64::from(nth) * 7 % CAPACITY), block(nth)).await.unwrap();
        vault.read(BlockId(u64::from(nth) % 3)).await.unwrap();
        vault.commit_rows(vec![RowChange::put(vec![nth], "a row")]).await.unwrap();
    }
}

/// Opens the vault over a recorded store, works, and kills it. Returns its requests.
async fn record_work(fixture: &VaultFixture) -> Vec<TraceEvent> {
    let recorder = Recorder::new();
    let link = Link::new(fixture.store.clone(), LinkSpeed::unlimited(Duration::from_millis(20)));
    let disk = fixture.disk.mount().unwrap();
    let opened = Vault::start(fixture.setup_over(&disk, recorder.over(link))).await;
    let (vault, running) = opened.unwrap();
    crate::support::work_and_kill(running, work(&vault)).await;
    fixture.disk.unplug();
    recorder.take_trace().into_iter().map(|(_, event)| event).collect()
}

fn reads(trace: &[TraceEvent]) -> Vec<Vec<Place>> {
    let read = |event: &TraceEvent| match event {
        TraceEvent::Asks { request: Request::Read(places), .. } => Some(places.clone()),
        _ => None,
    };
    trace.iter().filter_map(read).collect()
}

#[tokio::test(start_paused = true)]
async fn no_request_for_a_bucket_leaves_while_an_earlier_object_is_on_its_way() {
    let fixture = VaultFixture::with(header(announced(), 1)).await;
    let trace = record_work(&fixture).await;
    // The objects that were sent and not answered, by their numbers, and those that were sent.
    let (mut on_their_way, mut objects, mut requests) = (BTreeMap::new(), 0, 0);
    // The number of objects whose requests may leave, and the requests that have left for the last of them.
    let mut answered = BTreeSet::new();
    for event in &trace {
        match event {
            TraceEvent::Asks { nth, request, .. } if request.creates_log_object() => {
                on_their_way.insert(*nth, objects);
                objects += 1;
            }
            TraceEvent::Answered(nth) => {
                if let Some(object) = on_their_way.remove(nth) {
                    answered.insert(object);
                }
            }
            TraceEvent::Asks { request: Request::Read(_) | Request::Write(_), .. } => {
                requests += 1;
                // One caller: every object before this request is there, but for those of later completions.
                assert!(answered.len() + 3 >= objects, "{} of {objects} objects", answered.len());
                let is_first_there = on_their_way.values().all(|object| answered.len() <= *object);
                assert!(is_first_there, "an object before the last answered one is missing");
            }
            _ => {}
        }
    }
    assert!(requests > 100 && objects > 100, "{requests} requests, {objects} objects");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_takes_no_object_sees_no_request_for_a_bucket() {
    let fixture = VaultFixture::with(header(announced(), 1)).await;
    fixture.open(async |vault| write_all(vault, 1).await).await.unwrap();
    let recorder = Recorder::new();
    let link = Link::new(fixture.store.clone(), LinkSpeed::unlimited(Duration::from_secs(5)));
    let disk = fixture.disk.mount().unwrap();
    let (vault, running) = Vault::start(fixture.setup_over(&disk, recorder.over(link))).await.unwrap();
    let reading = async {
        // The objects of the opening's own steps must not hold up that of the read.
        sleep(Duration::from_secs(120)).await;
        recorder.clear();
        // No object has arrived within its round trip.
        timeout(Duration::from_secs(4), vault.read(BlockId(1))).await
    };
    assert!(crate::support::work_and_kill(running, reading).await.is_err());
    let trace: Vec<TraceEvent> = recorder.take_trace().into_iter().map(|(_, event)| event).collect();
    assert_eq!(reads(&trace), Vec::<Vec<Place>>::new());
    let is_object = |event: &TraceEvent| matches!(event, TraceEvent::Asks { request, .. } if request.creates_log_object());
    assert!(trace.iter().any(is_object), "{trace:?}");
}

#[tokio::test(start_paused = true)]
async fn a_restored_vault_repeats_the_reads_of_the_lost_machine_and_writes_no_bucket() {
    let fixture = VaultFixture::with(header(announced(), 1)).await;
    let lost = reads(&record_work(&fixture).await);
    assert!(lost.len() > 50, "{} reads", lost.len());
    let (disk, recorder) = (memory_disk(), Recorder::new());
    let options = restore_options(&fixture.header, None);
    restore(setup(&disk, recorder.over(fixture.store.clone()), 5), options).await.unwrap();
    let is_of_bucket = |event: &TraceEvent| {
        matches!(event, TraceEvent::Asks { request: Request::Read(_) | Request::Write(_), .. })
    };
    let restoring: Vec<TraceEvent> = recorder.take_trace().into_iter().map(|(_, event)| event).collect();
    assert!(!restoring.iter().any(is_of_bucket), "a restore moves no bucket");
    let opened = Vault::start(setup(&disk, recorder.over(fixture.store.clone()), 6)).await;
    let (vault, running) = opened.unwrap();
    let opening: Vec<TraceEvent> = recorder.take_trace().into_iter().map(|(_, event)| event).collect();
    let repeated = reads(&opening);
    // Several are in flight, so their order may differ.
    let sorted = |mut reads: Vec<Vec<Place>>| {
        reads.sort_unstable_by_key(|places| format!("{places:?}"));
        reads
    };
    assert_eq!(sorted(repeated), sorted(lost));
    let looking = async {
        assert_eq!(vault.load_rows().await.unwrap().len(), 50);
        let report = vault.check(Box::new(|_, _| {})).await.unwrap();
        assert_eq!(report.faults, [""; 0]);
        vault.close().await.unwrap();
    };
    futures::join!(looking, running);
}

/// The first requests for buckets of a vault that was restored from this store, after it was opened.
async fn first_requests(fixture: &VaultFixture, store: VersionedMemory, seed: u64) -> Vec<Vec<Place>> {
    let (disk, recorder) = (memory_disk(), Recorder::new());
    let options = restore_options(&fixture.header, None);
    restore(setup(&disk, store.clone(), seed), options).await.unwrap();
    let opened = Vault::start(setup(&disk, recorder.over(store), seed + 1)).await;
    let (vault, running) = opened.unwrap();
    recorder.clear();
    let work = async {
        for at in 0..CAPACITY {
            vault.read(BlockId(at)).await.unwrap();
        }
    };
    crate::support::work_and_kill(running, work).await;
    reads(&recorder.take_trace().into_iter().map(|(_, event)| event).collect::<Vec<_>>())
}

#[tokio::test(start_paused = true)]
async fn two_restores_of_one_journal_draw_nothing_alike() {
    let fixture = VaultFixture::with(header(announced(), 1)).await;
    record_work(&fixture).await;
    let state = fixture.store.snapshot();
    let mut all = Vec::new();
    for seed in [11, 21] {
        let copy = VersionedMemory::new(fixture.header.parameters.layout());
        copy.restore(&state);
        all.push(first_requests(&fixture, copy, seed).await);
    }
    // Later reads follow from the seed of a checkpoint.
    assert!(all[0].len() > 30 && all[0][..4] != all[1][..4], "a seed was used twice");
}

#[tokio::test(start_paused = true)]
async fn a_redraw_reads_nothing_by_a_position_of_the_lost_machine_and_loses_nothing() {
    let fixture = VaultFixture::with(header(announced(), 1)).await;
    record_work(&fixture).await;
    let disk = memory_disk();
    let options = Restore { redraw: true, ..restore_options(&fixture.header, None) };
    let recorder = Recorder::new();
    restore(setup(&disk, recorder.over(fixture.store.clone()), 5), options).await.unwrap();
    let trace: Vec<TraceEvent> = recorder.take_trace().into_iter().map(|(_, event)| event).collect();
    let writes = |event: &TraceEvent| matches!(event, TraceEvent::Asks { request: Request::Write(_), .. });
    assert!(trace.iter().any(writes), "the buckets are written again");
    let (vault, running) = Vault::start(setup(&disk, fixture.store.clone(), 6)).await.unwrap();
    let looking = async {
        for nth in 41..50u8 {
            assert_eq!(vault.read(BlockId(u64::from(nth) * 7 % CAPACITY)).await.unwrap(), block(nth));
        }
        assert_eq!(vault.load_rows().await.unwrap().len(), 50);
        vault.close().await.unwrap();
    };
    futures::join!(looking, running);
}

#[tokio::test(start_paused = true)]
async fn a_machine_lost_again_before_its_first_checkpoint_loses_nothing() {
    let fixture = VaultFixture::with(header(announced(), 1)).await;
    record_work(&fixture).await;
    for machine in 0..3u8 {
        let disk = memory_disk();
        let options = restore_options(&fixture.header, None);
        let seed = 50 + 10 * u64::from(machine);
        restore(setup(&disk, fixture.store.clone(), seed), options).await.unwrap();
        let opened = Vault::start(setup(&disk, fixture.store.clone(), seed + 1)).await;
        let (vault, running) = opened.unwrap();
        let work = async {
            vault.write(BlockId(60), block(machine)).await.unwrap();
            vault.commit_rows(vec![RowChange::put(vec![200 + machine], "later")]).await.unwrap();
        };
        crate::support::work_and_kill(running, work).await;
    }
    let looking = in_successor(&fixture.header, &fixture.store, async |vault| {
        assert_eq!(vault.read(BlockId(60)).await.unwrap(), block(2));
        assert_eq!(vault.load_rows().await.unwrap().len(), 53);
    });
    looking.await.unwrap();
}

/// A crash between a record and its object, made by hand.
#[tokio::test(start_paused = true)]
async fn an_opening_announces_in_the_store_what_it_repeats_before_it_repeats_it() {
    let fixture = VaultFixture::with(header(announced(), 1)).await;
    record_work(&fixture).await;
    let last = super::objects(&fixture.store).await.pop().expect("there is one");
    Blobs::remove(&fixture.store, &last).await.unwrap();
    let (disk, recorder) = (fixture.disk.mount().unwrap(), Recorder::new());
    let opened = Vault::start(fixture.setup_over(&disk, recorder.over(fixture.store.clone()))).await;
    drop(opened.unwrap());
    let trace: Vec<TraceEvent> = recorder.take_trace().into_iter().map(|(_, event)| event).collect();
    let first_of_opening = |event: &TraceEvent| match event {
        TraceEvent::Asks { nth, request: Request::PutIfAbsent { name, .. }, .. } => {
            name.starts_with("log/00000002-").then_some(*nth)
        }
        _ => None,
    };
    let object = trace.iter().find_map(first_of_opening).expect("the opening has an object");
    // A machine that is lost now is repeated from the first object of each opening.
    let looking = in_successor(&fixture.header, &fixture.store, async |vault| {
        assert_eq!(vault.read(BlockId(49 * 7 % CAPACITY)).await.unwrap(), block(49));
        assert_eq!(crate::support::faults_of(vault).await, [""; 0]);
    });
    looking.await.unwrap();
    let answered = trace.iter().position(|event| *event == TraceEvent::Answered(object));
    let is_read = |event: &TraceEvent| matches!(event, TraceEvent::Asks { request: Request::Read(_), .. });
    let read = trace.iter().position(is_read);
    assert!(read.is_some() && answered < read, "{answered:?}, {read:?}");
}

/// The epoch of the first restore was claimed by another machine than the second one.
#[tokio::test(start_paused = true)]
async fn a_restore_that_nobody_opened_does_not_hinder_the_next_one() {
    let fixture = VaultFixture::with(header(announced(), 1)).await;
    record_work(&fixture).await;
    let abandoned = restore_options(&fixture.header, None);
    restore(setup(&memory_disk(), fixture.store.clone(), 30), abandoned).await.unwrap();
    let rows =
        in_successor(&fixture.header, &fixture.store, async |vault| vault.load_rows().await.unwrap().len());
    assert_eq!(rows.await.unwrap(), 50);
}

#[tokio::test(start_paused = true)]
async fn at_most_four_objects_are_on_their_way_however_many_clients_there_are() {
    let fixture = VaultFixture::with(header(announced(), 1)).await;
    let recorder = Recorder::new();
    let link = Link::new(fixture.store.clone(), LinkSpeed::unlimited(Duration::from_millis(20)));
    let disk = fixture.disk.mount().unwrap();
    let opened = Vault::start(fixture.setup_over(&disk, recorder.over(link))).await;
    let (vault, running) = opened.unwrap();
    let client = async |client: u64| {
        for nth in 0..20 {
            vault.read(BlockId((client * 20 + nth) % CAPACITY)).await.unwrap();
        }
    };
    let clients = futures::future::join_all((0..12).map(client));
    crate::support::work_and_kill(running, clients).await;
    let (mut on_their_way, mut max) = (BTreeSet::new(), 0);
    for (_, event) in recorder.take_trace() {
        match event {
            TraceEvent::Asks { nth, request, .. } if request.creates_log_object() => {
                on_their_way.insert(nth);
            }
            TraceEvent::Answered(nth) => drop(on_their_way.remove(&nth)),
            _ => {}
        }
        max = max.max(on_their_way.len());
    }
    assert!((2..=4).contains(&max), "{max} objects at a time");
}

#[tokio::test(start_paused = true)]
async fn a_removed_object_that_a_checkpoint_has_followed_is_found_before_the_claim() {
    let fixture = VaultFixture::with(header(announced(), 1)).await;
    fixture.open(async |vault| vault.write(BlockId(1), block(1)).await.unwrap()).await.unwrap();
    let checkpoint_every = announced().checkpoint_every;
    let working = async |vault: &Vault| {
        for nth in 0..checkpoint_every {
            vault.write(BlockId(nth % CAPACITY), block(2)).await.unwrap();
        }
        // Time for the evictions and for the checkpoint after them.
        sleep(Duration::from_secs(5)).await;
    };
    fixture.open_and_crash(working).await.unwrap();
    let last = super::objects(&fixture.store).await.pop().expect("there is one");
    Blobs::remove(&fixture.store, &last).await.unwrap();
    let refused = fixture.open(async |_| ()).await.map(drop);
    assert!(refused.as_ref().is_err_and(VaultError::is_tampering), "{refused:?}");
    let claims = fixture.store.list("epoch/").await.unwrap();
    assert_eq!(claims.len(), 2, "the refused opening has claimed nothing");
}

#[tokio::test(start_paused = true)]
async fn a_removed_object_of_the_middle_is_found() {
    let fixture = VaultFixture::with(header(announced(), 1)).await;
    record_work(&fixture).await;
    let listed = super::objects(&fixture.store).await;
    Blobs::remove(&fixture.store, &listed[listed.len() / 2]).await.unwrap();
    let options = restore_options(&fixture.header, None);
    let refused = restore(setup(&memory_disk(), fixture.store.clone(), 5), options).await;
    assert!(refused.as_ref().is_err_and(VaultError::is_tampering), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pace_is_refused_by_name() {
    let fixture = VaultFixture::with(header(announced(), 1)).await;
    let disk = fixture.disk.mount().unwrap();
    let mut paced = fixture.setup(&disk);
    paced.pace = Pace::every(Duration::from_secs(1)).ok();
    let refused = Vault::start(paced).await.err().map(|error| error.to_string());
    assert!(refused.as_ref().is_some_and(|why| why.contains("store-first")), "{refused:?}");
}
