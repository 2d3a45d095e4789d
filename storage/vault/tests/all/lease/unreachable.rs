//! A store that cannot be reached for a while: nothing is answered past the lease, nothing is lost, and the vault goes on
//! when the store is back.

use super::{Flag, Machine};
use crate::promises::fixture::{VaultFixture, block, write_all};
use crate::support::recorder::{Recorder, TraceEvent};
use crate::support::setup;
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_core::types::BlockId;
use ameles_store::{Blob, BlobError, Blobs, VersionedMemory, forward_inventory};
use ameles_vault::{RowChange, Vault, VaultError};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// A store behind a line that can be cut, or that keeps answers back for so long.
struct UnreachableStore {
    inner: VersionedMemory,
    is_cut: Flag,
    keeps_back: Rc<Cell<Duration>>,
}

impl UnreachableStore {
    fn holds(&self) -> Result<(), UntrustedError> {
        if self.is_cut.is_on() {
            return Err(UntrustedError::Unavailable("the line is cut".into()));
        }
        Ok(())
    }
}

impl Untrusted for UnreachableStore {
    fn layout(&self) -> &Layout {
        self.inner.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.holds()?;
        self.inner.read(places, into).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        self.holds()?;
        Untrusted::write(&self.inner, buckets, from).await
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        self.holds()?;
        self.inner.delete(buckets).await
    }
}

impl Blobs for UnreachableStore {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.holds()?;
        self.inner.put(name, bytes).await
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        self.holds()?;
        self.inner.put_if_absent(name, bytes).await
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.holds()?;
        let found = self.inner.get(name, max).await;
        sleep(self.keeps_back.get()).await;
        found
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        self.holds()?;
        self.inner.list(prefix).await
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        self.holds()?;
        Blobs::remove(&self.inner, name).await
    }
}

forward_inventory!([] UnreachableStore, inner);

/// A vault of which every bucket was written, so that every access reads.
async fn filled() -> VaultFixture {
    let fixture = VaultFixture::new().await;
    fixture.open(async |vault| write_all(vault, 1).await).await.unwrap();
    fixture
}

/// Opens a vault behind a line, cuts the line for long enough that the lease runs out, and has the test go on.
fn with_unreachable_store(test: impl AsyncFnOnce(&Vault, Flag, Recorder, VaultFixture)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.expect("a runtime can be made"), async {
        let fixture = filled().await;
        let (is_cut, recorder) = (Flag::default(), Recorder::new());
        let unreachable = UnreachableStore {
            inner: fixture.store.clone(),
            is_cut: is_cut.clone(),
            keeps_back: Rc::default(),
        };
        recorder.opens(None);
        let setup = Machine::new("it").setup(&fixture, recorder.over(unreachable));
        let (vault, running) = Vault::start(setup).await.unwrap();
        spawn_local(running);
        vault.write(BlockId(0), block(1)).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        is_cut.set(true);
        sleep(Duration::from_secs(80)).await;
        recorder.take_trace();
        test(&vault, is_cut, recorder, fixture).await;
    });
}

#[test]
fn past_the_lease_nothing_is_begun_or_answered_and_all_goes_on_when_the_store_is_back() {
    with_unreachable_store(async |vault, is_cut, recorder, _| {
        let refused = vault.commit_rows(vec![RowChange::put("key", "value")]).await;
        assert!(matches!(refused, Err(VaultError::LeaseExpired)), "{refused:?}");
        let writer = vault.clone();
        let writing = spawn_local(async move { writer.write(BlockId(1), block(2)).await });
        let reader = vault.clone();
        let reading = spawn_local(async move { reader.read(BlockId(0)).await });
        sleep(Duration::from_secs(600)).await;
        assert!(!writing.is_finished() && !reading.is_finished() && vault.failure().is_none());
        let asked = recorder.take_trace().into_iter().filter_map(|(_, event)| match event {
            TraceEvent::Asks { request, .. } => Some(request),
            _ => None,
        });
        let asked: Vec<_> = asked.collect();
        assert!(asked.len() >= 30 && asked.iter().all(|request| request.is_look()), "{asked:?}");
        is_cut.set(false);
        let back = Instant::now();
        writing.await.unwrap().expect("a write that waited is acknowledged");
        assert_eq!(reading.await.unwrap().unwrap(), block(1));
        assert!(back.elapsed() <= Duration::from_secs(20), "{:?}", back.elapsed());
        assert_eq!(vault.read(BlockId(1)).await.unwrap(), block(2));
        vault.close().await.unwrap();
    });
}

#[test]
fn a_gateway_that_was_displaced_while_the_store_was_away_answers_nothing_when_it_is_back() {
    with_unreachable_store(async |vault, is_cut, _, fixture| {
        let writer = vault.clone();
        let writing = spawn_local(async move { writer.write(BlockId(1), block(2)).await });
        let (copy, other) = (fixture.with_copied_disk(), Machine::new("another start"));
        let (successor, running) = Vault::start(other.setup(&copy, fixture.store.clone())).await.unwrap();
        spawn_local(running);
        successor.write(BlockId(0), block(3)).await.unwrap();
        is_cut.set(false);
        let refused = writing.await.unwrap();
        assert!(matches!(refused, Err(VaultError::Displaced { .. })), "{refused:?}");
        let refused = vault.read(BlockId(0)).await;
        assert!(matches!(refused, Err(VaultError::Displaced { .. })), "{refused:?}");
        assert_eq!(successor.read(BlockId(0)).await.unwrap(), block(3));
        successor.close().await.unwrap();
    });
}

#[test]
fn a_vault_that_is_closed_while_the_store_is_away_ends_and_loses_nothing() {
    with_unreachable_store(async |vault, is_cut, _, fixture| {
        let writer = vault.clone();
        let writing = spawn_local(async move { writer.write(BlockId(1), block(2)).await });
        sleep(Duration::from_secs(1)).await;
        let closed = timeout(Duration::from_secs(60), vault.close()).await.expect("it does not hang");
        assert!(matches!(closed, Err(VaultError::Unavailable(_))), "{closed:?}");
        assert!(matches!(writing.await.unwrap(), Err(VaultError::Unavailable(_))));
        fixture.disk.unplug();
        is_cut.set(false);
        let disk = fixture.disk.mount().unwrap();
        let mut again = setup(&disk, fixture.store.clone(), 50);
        again.host = Machine::new("it").host();
        let (vault, running) = Vault::start(again).await.unwrap();
        spawn_local(running);
        assert_eq!(vault.read(BlockId(0)).await.unwrap(), block(1));
        vault.close().await.unwrap();
    });
}

/// The begin of a look counts: it may have been served before a successor claimed, and be answered long after.
#[tokio::test(start_paused = true)]
async fn a_look_whose_answer_was_kept_back_renews_the_lease_from_its_begin() {
    let fixture = filled().await;
    let keeps_back = Rc::new(Cell::new(Duration::ZERO));
    let unreachable = UnreachableStore {
        inner: fixture.store.clone(),
        is_cut: Flag::default(),
        keeps_back: keeps_back.clone(),
    };
    let machine = Machine::new("it");
    let (vault, running) = Vault::start(machine.setup(&fixture, unreachable)).await.unwrap();
    let working = async {
        sleep(Duration::from_secs(15)).await;
        keeps_back.set(Duration::from_secs(50));
        // The look of second 20 is answered in second 70, and lasts until second 77.
        for (from, until, may_answer) in [(0, 57, true), (57, 70, false), (71, 77, true), (77, 119, false)] {
            for second in from..until {
                sleep_until_second(&machine, second).await;
                assert_eq!(vault.may_answer(), may_answer, "second {second}");
            }
        }
        keeps_back.set(Duration::ZERO);
        vault.close().await.unwrap();
    };
    futures::join!(working, running);
}

/// Waits until the middle of this second of the machine, if it is still to come.
async fn sleep_until_second(machine: &Machine, second: u64) {
    sleep_until(machine.origin + Duration::from_millis(1000 * second + 500)).await;
}
