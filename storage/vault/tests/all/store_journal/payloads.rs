//! Payloads in objects of their own, in a vault whose journal is in etcd. Here both are in one store in memory.

use super::{in_successor, objects, restore_from, with_journal_in_store};
use crate::promises::fixture::{VaultFixture, block, write_all};
use crate::support::intercepted::{Intercepted, Interceptor, Request};
use crate::support::recorder::{Recorder, TraceEvent};
use crate::support::{faults_of, header, memory_disk, restore_options, setup, work_and_kill};
use ameles_core::store::UntrustedError;
use ameles_core::types::BlockId;
use ameles_store::{Blobs, Link, LinkSpeed, VersionedMemory};
use ameles_vault::{JournalPlace, Restore, RowChange, Vault, VaultError, VaultParameters, restore};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

const PREFIX: &str = "log-payload/";

fn in_etcd() -> VaultParameters {
    VaultParameters { journal: JournalPlace::Etcd, ship_every: 1000, ..with_journal_in_store() }
}

async fn fixture() -> VaultFixture {
    VaultFixture::with(header(in_etcd(), 1)).await
}

fn creates_payloads(request: &Request) -> bool {
    matches!(request, Request::PutIfAbsent { name, .. } if name.starts_with(PREFIX))
}

/// Holds payloads back while the switch is on.
#[derive(Clone, Default)]
struct HoldPayloads {
    is_on: Rc<Cell<bool>>,
    released: Rc<Notify>,
}

impl HoldPayloads {
    fn over(&self, store: &VersionedMemory) -> Intercepted<VersionedMemory, Self> {
        Intercepted { inner: store.clone(), interceptor: self.clone() }
    }
}

impl Interceptor for HoldPayloads {
    async fn before(&self, request: &Request) -> Result<usize, UntrustedError> {
        if self.is_on.get() && creates_payloads(request) {
            self.released.notified().await;
        }
        Ok(0)
    }
}

/// A vault that was killed after it had written 1 to block 9, and while the payload of a 2 was on its way.
async fn killed_before_a_payload() -> VaultFixture {
    let fixture = fixture().await;
    let hold = HoldPayloads::default();
    let disk = fixture.disk.mount().unwrap();
    let (vault, running) = Vault::start(fixture.setup_over(&disk, hold.over(&fixture.store))).await.unwrap();
    let working = async {
        vault.write(BlockId(9), block(1)).await.unwrap();
        hold.is_on.set(true);
        timeout(Duration::from_secs(3), vault.write(BlockId(9), block(2))).await
    };
    assert!(work_and_kill(running, working).await.is_err(), "a write without its payload is acknowledged");
    fixture.disk.unplug();
    fixture
}

#[tokio::test(start_paused = true)]
async fn payloads_leave_when_all_objects_up_to_theirs_are_there() {
    let (fixture, recorder) = (fixture().await, Recorder::new());
    let disk = fixture.disk.mount().unwrap();
    let link = Link::new(fixture.store.clone(), LinkSpeed::unlimited(Duration::from_millis(20)));
    let (vault, running) = Vault::start(fixture.setup_over(&disk, recorder.over(link))).await.unwrap();
    recorder.clear();
    work_and_kill(running, async {
        write_all(&vault, 1).await;
        write_all(&vault, 2).await;
    })
    .await;
    let (mut asked, mut stored, mut payloads) = (BTreeMap::new(), Vec::new(), 0);
    for (_, event) in recorder.take_trace() {
        match event {
            TraceEvent::Asks { nth, request: Request::PutIfAbsent { name, .. }, .. } => {
                if let Some(of) = name.strip_prefix(PREFIX) {
                    payloads += 1;
                    assert!(
                        stored.iter().any(|name: &String| name.ends_with(of)),
                        "{name} before its object"
                    );
                    let is_before = |name: &String| name.starts_with("log/") && name["log/".len()..] < *of;
                    assert!(!asked.values().any(is_before), "{name} before an earlier object");
                }
                asked.insert(nth, name);
            }
            TraceEvent::Answered(nth) => stored.extend(asked.remove(&nth)),
            _ => {}
        }
    }
    assert!(payloads >= 2 * 64 / in_etcd().scheme.max_batch() as usize, "{payloads} payload objects");
}

#[tokio::test(start_paused = true)]
async fn reads_and_dummies_have_payloads_as_long_as_writes() {
    let (fixture, recorder) = (fixture().await, Recorder::new());
    let disk = fixture.disk.mount().unwrap();
    let opened = Vault::start(fixture.setup_over(&disk, recorder.over(fixture.store.clone()))).await;
    let (vault, running) = opened.unwrap();
    let sizes = |of: &Recorder| -> Vec<usize> {
        let size = |(_, event)| match event {
            TraceEvent::Asks { request: Request::PutIfAbsent { name, bytes }, .. } => {
                name.starts_with(PREFIX).then_some(bytes)
            }
            _ => None,
        };
        of.take_trace().into_iter().filter_map(size).collect()
    };
    work_and_kill(running, async {
        recorder.clear();
        vault.write(BlockId(1), block(1)).await.unwrap();
        let write = sizes(&recorder);
        vault.read(BlockId(2)).await.unwrap();
        let read = sizes(&recorder);
        vault.commit_rows(vec![RowChange::put("a", "row")]).await.unwrap();
        let rows = sizes(&recorder);
        assert_eq!((&write, write.len()), (&read, 1));
        assert_eq!(write, rows, "a change of rows makes a dummy access");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_payload_never_came_is_a_read_on_every_later_machine() {
    let fixture = killed_before_a_payload().await;
    restore_from(&fixture.header, fixture.store.clone(), &memory_disk()).await.unwrap();
    // The next restore finds that the first one has given the payload up.
    let disk = memory_disk();
    restore(setup(&disk, fixture.store.clone(), 7), restore_options(&fixture.header, None)).await.unwrap();
    let (vault, running) = Vault::start(setup(&disk, fixture.store.clone(), 8)).await.unwrap();
    let reading = async {
        assert_eq!(faults_of(&vault).await, [""; 0]);
        assert_eq!(vault.read(BlockId(9)).await.unwrap(), block(1));
        vault.close().await.unwrap();
    };
    futures::join!(reading, running);
}

#[tokio::test(start_paused = true)]
async fn the_same_machine_sends_the_payload_when_it_is_opened_again() {
    let fixture = killed_before_a_payload().await;
    fixture.open_and_crash(async |_| ()).await.unwrap();
    let reading =
        in_successor(&fixture.header, &fixture.store, async |vault| vault.read(BlockId(9)).await.unwrap());
    assert_eq!(reading.await.unwrap(), block(2));
}

/// The journal of the machine has a write that others take for a read.
#[tokio::test(start_paused = true)]
async fn the_same_machine_is_displaced_once_the_payload_was_given_up() {
    let fixture = killed_before_a_payload().await;
    restore_from(&fixture.header, fixture.store.clone(), &memory_disk()).await.unwrap();
    let refused = fixture.open(async |_| ()).await.map(drop);
    assert!(matches!(refused, Err(VaultError::Displaced { .. })), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_gateway_whose_payload_was_given_up_stops_without_an_answer() {
    let fixture = fixture().await;
    let hold = HoldPayloads::default();
    let disk = fixture.disk.mount().unwrap();
    let (vault, running) = Vault::start(fixture.setup_over(&disk, hold.over(&fixture.store))).await.unwrap();
    hold.is_on.set(true);
    let restoring = async {
        sleep(Duration::from_secs(1)).await;
        restore_from(&fixture.header, fixture.store.clone(), &memory_disk()).await
    };
    // Right after the payload was given up, and before a heartbeat tells the gateway.
    let releasing = async {
        while fixture.store.list(PREFIX).await.unwrap().is_empty() {
            sleep(Duration::from_millis(1)).await;
        }
        hold.is_on.set(false);
        hold.released.notify_waiters();
    };
    let displaced = async { futures::join!(vault.write(BlockId(9), block(2)), restoring, releasing).0 };
    let (refused, ()) = futures::join!(displaced, running);
    assert!(matches!(refused, Err(VaultError::Displaced { .. })), "{refused:?}");
}

/// An opening can send payloads again only while the journal on the disk has them.
#[tokio::test(start_paused = true)]
async fn a_checkpoint_waits_for_payloads_that_are_on_their_way() {
    let fixture = fixture().await;
    let hold = HoldPayloads::default();
    let disk = fixture.disk.mount().unwrap();
    let (vault, running) = Vault::start(fixture.setup_over(&disk, hold.over(&fixture.store))).await.unwrap();
    hold.is_on.set(true);
    let working = async {
        let writing = timeout(Duration::from_secs(12), vault.write(BlockId(9), block(2)));
        let checkpoint = async {
            sleep(Duration::from_secs(2)).await;
            timeout(Duration::from_secs(10), vault.checkpoint()).await
        };
        futures::join!(writing, checkpoint)
    };
    let (written, checkpoint) = work_and_kill(running, working).await;
    assert!(written.is_err() && checkpoint.is_err(), "{written:?}, {checkpoint:?}");
    fixture.disk.unplug();
    let reading = fixture.open_and_crash(async |vault| vault.read(BlockId(9)).await.unwrap());
    assert_eq!(reading.await.unwrap().0, block(2));
    let elsewhere =
        in_successor(&fixture.header, &fixture.store, async |vault| vault.read(BlockId(9)).await.unwrap());
    assert_eq!(elsewhere.await.unwrap(), block(2));
}

/// Answers no request to the bucket while the switch is on.
#[derive(Clone, Default)]
struct CutOff {
    is_on: Rc<Cell<bool>>,
}

impl Interceptor for CutOff {
    async fn before(&self, request: &Request) -> Result<usize, UntrustedError> {
        if self.is_on.get() && !request.creates_log_object() {
            pending::<()>().await;
        }
        Ok(0)
    }
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_is_cut_off_from_the_bucket_and_not_from_etcd_makes_no_heartbeats() {
    for is_cut_off in [false, true] {
        let (fixture, cut_off) = (fixture().await, CutOff::default());
        let disk = fixture.disk.mount().unwrap();
        let store = Intercepted { inner: fixture.store.clone(), interceptor: cut_off.clone() };
        let (vault, running) = Vault::start(fixture.setup_over(&disk, store)).await.unwrap();
        let heartbeats = work_and_kill(running, async {
            vault.write(BlockId(9), block(1)).await.unwrap();
            sleep(Duration::from_secs(50)).await;
            cut_off.is_on.set(is_cut_off);
            sleep(Duration::from_secs(26)).await;
            let before = objects(&fixture.store).await.len();
            sleep(Duration::from_secs(60)).await;
            objects(&fixture.store).await.len() - before
        });
        assert_eq!(heartbeats.await, if is_cut_off { 0 } else { 12 });
    }
}

/// Writes all blocks twice, and kills the vault.
async fn killed_after_writes() -> VaultFixture {
    let fixture = fixture().await;
    let writing = async |vault: &Vault| {
        write_all(vault, 1).await;
        write_all(vault, 2).await;
    };
    fixture.open_and_crash(writing).await.unwrap();
    fixture
}

#[tokio::test(start_paused = true)]
async fn removed_payloads_of_an_acknowledged_write_are_tampering() {
    let fixture = killed_after_writes().await;
    let state = fixture.store.snapshot();
    let listed = fixture.store.list(PREFIX).await.unwrap();
    assert!(listed.len() > 6, "{listed:?}");
    // The last objects may have been on their way.
    for removed in &listed[..listed.len() - 4] {
        fixture.store.restore(&state);
        Blobs::remove(&fixture.store, &removed.name).await.unwrap();
        let refused = restore_from(&fixture.header, fixture.store.clone(), &memory_disk()).await;
        assert!(refused.as_ref().is_err_and(VaultError::is_tampering), "{}: {refused:?}", removed.name);
        assert!(refused.unwrap_err().to_string().contains(&removed.name));
    }
}

#[tokio::test(start_paused = true)]
async fn payloads_under_another_name_and_of_other_accesses_are_tampering() {
    let fixture = killed_after_writes().await;
    let listed = fixture.store.list(PREFIX).await.unwrap();
    let of_other = fixture.store.get(&listed[0].name, usize::MAX).await.unwrap().unwrap();
    fixture.store.put(&listed[1].name, &of_other).await.unwrap();
    let refused = restore_from(&fixture.header, fixture.store.clone(), &memory_disk()).await;
    assert!(refused.as_ref().is_err_and(VaultError::is_tampering), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_journal_that_etcd_has_lost_is_not_taken_for_an_empty_one() {
    let fixture = killed_after_writes().await;
    for object in objects(&fixture.store).await {
        Blobs::remove(&fixture.store, &object).await.unwrap();
    }
    let refused = restore_from(&fixture.header, fixture.store.clone(), &memory_disk()).await.unwrap_err();
    assert!(refused.is_tampering() && refused.to_string().contains("etcd has lost"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_redraw_takes_the_payloads() {
    let fixture = killed_after_writes().await;
    let disk = memory_disk();
    let options = Restore { redraw: true, ..restore_options(&fixture.header, None) };
    restore(setup(&disk, fixture.store.clone(), 5), options).await.unwrap();
    let (vault, running) = Vault::start(setup(&disk, fixture.store.clone(), 6)).await.unwrap();
    let reading = async {
        crate::promises::fixture::read_all(&vault, 2).await.unwrap();
        vault.close().await.unwrap();
    };
    futures::join!(reading, running);
}

#[tokio::test(start_paused = true)]
async fn payloads_go_with_the_objects_that_a_checkpoint_holds() {
    let fixture = VaultFixture::with(header(VaultParameters { ship_every: 1, ..in_etcd() }, 1)).await;
    for fill in 0..8 {
        fixture.open(async |vault| write_all(vault, fill).await).await.unwrap();
    }
    let (objects, payloads) =
        (objects(&fixture.store).await.len(), fixture.store.list(PREFIX).await.unwrap().len());
    assert!(payloads <= 24 && payloads <= objects, "{payloads} payload objects, {objects} objects");
}
