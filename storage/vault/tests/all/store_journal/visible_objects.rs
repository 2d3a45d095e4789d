//! The visible part of the journal in the store: an object for each batch, whose length follows from the length of the
//! batch.

use super::with_journal_in_store;
use crate::promises::fixture::{CAPACITY, VaultFixture, block, write_all};
use crate::support::recorder::TraceEvent;
use crate::support::{header, intercepted, recorder};
use ameles_core::types::BlockId;
use ameles_store::{Event, Link, LinkSpeed, Recorder, Request};
use ameles_vault::{Call, JournalPlace, Pace, RowChange, Vault, VaultParameters};
use std::collections::BTreeMap;
use std::time::Duration;

/// The blobs that a vault requested, in order, and the number of its other requests, of each kind.
type VisibleObjects = (Vec<String>, BTreeMap<&'static str, usize>);

/// Opens the vault, works with it, and closes it.
async fn shown(
    parameters: VaultParameters,
    work: impl AsyncFnOnce(&Vault),
) -> (VisibleObjects, Vec<(String, u64)>) {
    let fixture = VaultFixture::with(header(parameters, 1)).await;
    fixture.open(async |vault| write_all(vault, 1).await).await.unwrap();
    let recorder = Recorder::new(fixture.store.clone());
    let trace = recorder.trace();
    let disk = fixture.disk.mount().unwrap();
    let (vault, running) = Vault::start(fixture.setup_over(&disk, recorder)).await.unwrap();
    let working = async {
        work(&vault).await;
        vault.close().await.unwrap();
    };
    futures::join!(working, running);
    let (mut blobs, mut others, mut objects) = (Vec::new(), BTreeMap::new(), Vec::new());
    for Event { request, bytes, .. } in trace.events() {
        let kind = match &request {
            Request::Read(_) => "reads",
            Request::Write(_) => "writes",
            Request::Delete(_) => "deletions",
            Request::CreateBlob(name) if name.starts_with("log/") => {
                objects.push((name.clone(), bytes.0));
                "blobs"
            }
            _ => "blobs",
        };
        if kind == "blobs" {
            blobs.push(format!("{request:?} {}", bytes.0));
        } else {
            *others.entry(kind).or_default() += 1;
        }
    }
    ((blobs, others), objects)
}

const TIMES: u64 = 60;

async fn read_one_by_one(vault: &Vault) {
    for at in 0..TIMES {
        vault.read(BlockId(at % CAPACITY)).await.unwrap();
    }
}

async fn write_one_by_one(vault: &Vault) {
    for nth in 0..TIMES {
        vault.write(BlockId(7), block(nth as u8)).await.unwrap();
    }
}

async fn commit_one_by_one(vault: &Vault) {
    for nth in 0..TIMES {
        let change =
            if nth % 2 == 0 { RowChange::put("key", vec![1; 500]) } else { RowChange::remove("key") };
        vault.commit_rows(vec![change]).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn reads_writes_and_changes_of_rows_make_the_same_objects_at_the_same_places() {
    let (reads, objects) = shown(with_journal_in_store(), read_one_by_one).await;
    let (writes, _) = shown(with_journal_in_store(), write_one_by_one).await;
    let (rows, _) = shown(with_journal_in_store(), commit_one_by_one).await;
    assert_eq!(reads.0, writes.0);
    assert_eq!(reads.0, rows.0);
    assert_eq!((&reads.1["writes"], &reads.1["deletions"]), (&writes.1["writes"], &writes.1["deletions"]));
    assert_eq!((&reads.1["writes"], &reads.1["deletions"]), (&rows.1["writes"], &rows.1["deletions"]));
    assert!(objects.len() as u64 > TIMES, "{} objects", objects.len());
}

#[tokio::test(start_paused = true)]
async fn reads_writes_and_changes_of_rows_are_announced_by_as_many_objects() {
    let parameters = VaultParameters { journal: JournalPlace::StoreFirst, ..with_journal_in_store() };
    let (reads, objects) = shown(parameters.clone(), read_one_by_one).await;
    let (writes, _) = shown(parameters.clone(), write_one_by_one).await;
    let (rows, _) = shown(parameters, commit_one_by_one).await;
    // Paths that share a bucket with one in flight have fewer slots, which follows from leaves.
    let kinds = |(blobs, _): &VisibleObjects| -> Vec<String> {
        blobs.iter().map(|blob| blob.split(' ').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(kinds(&reads), kinds(&writes));
    assert_eq!(kinds(&reads), kinds(&rows));
    assert!(objects.len() as u64 > TIMES, "{} objects", objects.len());
}

/// The requests of a closed loop of answers that a watcher sees behind a link, each with its time. Reads of slots are left
/// out: a batch whose paths are in flight reads less, which depends on leaves. Its log object shows when it starts.
async fn seen_of_closed_loop(answer: impl AsyncFn(&Vault, u64)) -> Vec<(Duration, String)> {
    let fixture = VaultFixture::with(header(with_journal_in_store(), 1)).await;
    fixture.open(async |vault| write_all(vault, 1).await).await.unwrap();
    let recorded = recorder::Recorder::new();
    let link = Link::new(fixture.store.clone(), LinkSpeed::unlimited(Duration::from_millis(20)));
    let disk = fixture.disk.mount().unwrap();
    let opened = Vault::start(fixture.setup_over(&disk, recorded.over(link))).await;
    let (vault, running) = opened.unwrap();
    recorded.clear();
    let working = async {
        for nth in 0..TIMES {
            answer(&vault, nth).await;
        }
        vault.close().await.unwrap();
    };
    futures::join!(working, running);
    let request = |(at, event)| match event {
        TraceEvent::Asks { request: intercepted::Request::Read(_), .. } => None,
        TraceEvent::Asks { request, .. } => Some((at, format!("{request:?}"))),
        _ => None,
    };
    recorded.take_trace().into_iter().filter_map(request).collect()
}

#[tokio::test(start_paused = true)]
async fn a_closed_loop_of_gets_shows_the_requests_and_times_of_a_loop_of_puts() {
    let put = seen_of_closed_loop(async |vault, nth| {
        vault.write(BlockId(nth % CAPACITY), block(nth as u8)).await.unwrap();
        vault.commit_rows(vec![RowChange::put("name", vec![1; 500])]).await.unwrap();
    });
    let get = seen_of_closed_loop(async |vault, nth| {
        vault.read(BlockId(nth % 3)).await.unwrap();
        vault.settle_reads().await.unwrap();
    });
    let (put, get) = (put.await, get.await);
    assert!(put.len() as u64 > 4 * TIMES, "{} requests", put.len());
    for (nth, (put, get)) in put.iter().zip(&get).enumerate() {
        assert_eq!(put, get, "request {nth}");
    }
    assert_eq!(put.len(), get.len());
}

#[tokio::test(start_paused = true)]
async fn nothing_waits_after_reads_where_a_change_of_rows_makes_no_request() {
    let on_disk = VaultParameters { journal: JournalPlace::Disk, ..with_journal_in_store() };
    for (parameters, pace) in [(on_disk, None), (with_journal_in_store(), Some(Duration::from_secs(1)))] {
        let fixture = VaultFixture::with(header(parameters, 1)).await;
        let disk = fixture.disk.mount().unwrap();
        let mut setup = fixture.setup(&disk);
        setup.pace = pace.map(|turn| Pace::every(turn).unwrap());
        let (vault, running) = Vault::start(setup).await.unwrap();
        let working = async {
            vault.read(BlockId(0)).await.unwrap();
            let before = vault.status().accesses;
            vault.settle_reads().await.unwrap();
            assert_eq!(vault.status().accesses, before);
            vault.close().await.unwrap();
        };
        futures::join!(working, running);
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_is_as_long_as_the_length_of_its_batch_says() {
    let parameters = with_journal_in_store();
    let lengths = [1, 2, 3, 4, 3, 2, 1];
    let (_, objects) = shown(parameters.clone(), async |vault| {
        for (nth, length) in lengths.into_iter().enumerate() {
            let at = |of: u64| BlockId(of);
            let call =
                |of| if nth % 2 == 0 { Call::Read(at(of)) } else { Call::Write(at(of), block(9).into()) };
            vault.access((0..length).map(call).collect()).await.unwrap();
        }
    })
    .await;
    let ours: Vec<u64> = objects.iter().map(|(_, bytes)| *bytes).collect();
    let expected: Vec<u64> = lengths.iter().map(|length| parameters.journal_object_bytes(*length)).collect();
    // The end of the previous journal, and the opening's own object, come first.
    assert_eq!(ours[2..], expected);
    assert_eq!(ours[1], parameters.journal_object_bytes(0));
}

#[tokio::test(start_paused = true)]
async fn without_the_option_no_request_is_about_such_a_journal() {
    let parameters = VaultParameters { journal: JournalPlace::Disk, ..with_journal_in_store() };
    for work in [0, 1] {
        let (shown, objects) = shown(parameters.clone(), async |vault| match work {
            0 => read_one_by_one(vault).await,
            _ => commit_one_by_one(vault).await,
        })
        .await;
        assert_eq!(objects, []);
        assert!(shown.0.iter().all(|blob| !blob.contains("log/")), "{:?}", shown.0);
    }
}
