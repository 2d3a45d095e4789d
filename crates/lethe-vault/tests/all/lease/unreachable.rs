//! A store that cannot be reached for a while: nothing is answered past the lease, nothing is lost, and the vault goes on
//! when the store is back.

use super::{Flag, Machine};
use crate::promises::desk::{Desk, block};
use crate::support::recorder::{Moment, Recorder};
use crate::support::setup;
use lethe_core::layout::Layout;
use lethe_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use lethe_core::words::BlockId;
use lethe_store::{Blob, BlobError, Blobs, VersionedMemory, forward_inventory};
use lethe_vault::{RowChange, Vault, VaultError};
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep, timeout};

/// A store behind a line that can be cut.
struct Line {
    inner: VersionedMemory,
    is_cut: Flag,
}

impl Line {
    fn holds(&self) -> Result<(), UntrustedError> {
        if self.is_cut.is_on() {
            return Err(UntrustedError::Unavailable("the line is cut".into()));
        }
        Ok(())
    }
}

impl Untrusted for Line {
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

impl Blobs for Line {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.holds()?;
        self.inner.put(name, bytes).await
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        self.holds()?;
        self.inner.put_if_absent(name, bytes).await
    }

    async fn get(&self, name: &str, most: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.holds()?;
        self.inner.get(name, most).await
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

forward_inventory!([] Line, inner);

/// Opens a vault behind a line, cuts the line for long enough that the lease runs out, and has the test go on.
fn behind_a_line(test: impl AsyncFnOnce(&Vault, Flag, Recorder, Desk)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.expect("a runtime can be made"), async {
        let desk = Desk::new().await;
        let (is_cut, recorder) = (Flag::default(), Recorder::new());
        let line = Line { inner: desk.store.clone(), is_cut: is_cut.clone() };
        recorder.opens(None);
        let setup = Machine::new("it").setup(&desk, recorder.over(line));
        let (vault, running) = Vault::start(setup).await.unwrap();
        spawn_local(running);
        vault.write(BlockId(0), block(1)).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        is_cut.set(true);
        sleep(Duration::from_secs(80)).await;
        recorder.take_trace();
        test(&vault, is_cut, recorder, desk).await;
    });
}

#[test]
fn past_the_lease_nothing_is_begun_or_answered_and_all_goes_on_when_the_store_is_back() {
    behind_a_line(async |vault, is_cut, recorder, _| {
        let refused = vault.commit_rows(vec![RowChange::put("key", "value")]).await;
        assert!(matches!(refused, Err(VaultError::Lapsed)), "{refused:?}");
        let writer = vault.clone();
        let writing = spawn_local(async move { writer.write(BlockId(1), block(2)).await });
        let reader = vault.clone();
        let reading = spawn_local(async move { reader.read(BlockId(0)).await });
        sleep(Duration::from_secs(600)).await;
        assert!(!writing.is_finished() && !reading.is_finished() && vault.failure().is_none());
        let asked = recorder.take_trace().into_iter().filter_map(|(_, moment)| match moment {
            Moment::Asks { request, .. } => Some(request),
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
    behind_a_line(async |vault, is_cut, _, desk| {
        let writer = vault.clone();
        let writing = spawn_local(async move { writer.write(BlockId(1), block(2)).await });
        let (copy, other) = (desk.with_copied_disk(), Machine::new("another start"));
        let (successor, running) = Vault::start(other.setup(&copy, desk.store.clone())).await.unwrap();
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
    behind_a_line(async |vault, is_cut, _, desk| {
        let writer = vault.clone();
        let writing = spawn_local(async move { writer.write(BlockId(1), block(2)).await });
        sleep(Duration::from_secs(1)).await;
        let closed = timeout(Duration::from_secs(60), vault.close()).await.expect("it does not hang");
        assert!(matches!(closed, Err(VaultError::Unavailable(_))), "{closed:?}");
        assert!(matches!(writing.await.unwrap(), Err(VaultError::Unavailable(_))));
        desk.disk.unplug();
        is_cut.set(false);
        let disk = desk.disk.mount().unwrap();
        let mut again = setup(&disk, desk.store.clone(), 50);
        again.host = Machine::new("it").host();
        let (vault, running) = Vault::start(again).await.unwrap();
        spawn_local(running);
        assert_eq!(vault.read(BlockId(0)).await.unwrap(), block(1));
        vault.close().await.unwrap();
    });
}
