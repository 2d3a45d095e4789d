//! The trusted disk is full, or the store: writes are refused from then on, reads go on as long as was stated, lists and
//! deletions always, and everything goes on when there is room again. Nothing that was acknowledged is lost by it.

use crate::support::chance::Chance;
use crate::support::fragile_disk::{Crash, FragileDisk};
use crate::support::tape::{Tape, Taped};
use crate::support::{header, parameters, setup};
use lethe_core::layout::Layout;
use lethe_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use lethe_core::words::BlockId;
use lethe_store::{VersionedMemory, forward_blobs, forward_inventory};
use lethe_vault::{RowChange, TrustedDisk, Vault, VaultError, VaultHeader, VaultStore};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const BLOCKS: u64 = 64;
const BLOCK_BYTES: usize = 32;
/// More than the time between two looks for room.
const LATER: Duration = Duration::from_secs(10);

fn vault_header() -> VaultHeader {
    header(parameters(BLOCKS, BLOCK_BYTES as u32, 4, 40), 1)
}

fn block(fill: u8) -> Vec<u8> {
    vec![fill; BLOCK_BYTES]
}

/// A vault on a disk, with the bytes that its blocks must have.
struct Scene<S> {
    header: VaultHeader,
    disk: FragileDisk,
    store: S,
    known: BTreeMap<u64, u8>,
}

impl<S: VaultStore + Clone> Scene<S> {
    async fn new(store: impl FnOnce(Layout) -> S) -> Self {
        let header = vault_header();
        let (disk, store) = (FragileDisk::default(), store(header.parameters.layout()));
        let mounted = disk.mount_with_reserve().unwrap();
        Vault::create(&mut setup(&mounted, store.clone(), 2), &header).await.unwrap();
        disk.unplug();
        Scene { header, disk, store, known: BTreeMap::new() }
    }

    /// Opens the vault, works, and kills it.
    async fn open<T>(&mut self, seed: u64, work: impl AsyncFnOnce(&mut Known<'_>) -> T) -> T {
        let mounted: TrustedDisk = self.disk.mount_with_reserve().unwrap();
        let (vault, running) = Vault::start(setup(&mounted, self.store.clone(), seed)).await.unwrap();
        drop(mounted);
        let mut known = Known { vault: &vault, known: &mut self.known };
        let done = {
            let (working, running) = (std::pin::pin!(work(&mut known)), std::pin::pin!(running));
            match futures::future::select(working, running).await {
                futures::future::Either::Left((done, _)) => done,
                futures::future::Either::Right(((), working)) => working.await,
            }
        };
        self.disk.unplug();
        self.disk.crash(Crash::Kill, &mut Chance::of(seed));
        done
    }
}

/// An open vault with what is known of its blocks.
struct Known<'a> {
    vault: &'a Vault,
    known: &'a mut BTreeMap<u64, u8>,
}

impl Known<'_> {
    async fn write(&mut self, at: u64, fill: u8) -> Result<(), VaultError> {
        self.vault.write(BlockId(at), block(fill)).await?;
        self.known.insert(at, fill);
        Ok(())
    }

    async fn read(&self, at: u64) -> Result<(), VaultError> {
        let read = self.vault.read(BlockId(at)).await?;
        assert_eq!(read, block(self.known.get(&at).copied().unwrap_or(0)), "block {at}");
        Ok(())
    }

    /// Writes until the disk is found full; whatever was acknowledged is known.
    async fn write_until_refused(&mut self) -> VaultError {
        for nth in 0..10_000 {
            if let Err(error) = self.write(nth % BLOCKS, nth as u8).await {
                return error;
            }
        }
        panic!("the disk never was full");
    }

    async fn put_row(&self, key: &str, bytes: usize) -> Result<(), VaultError> {
        self.vault.commit_rows(vec![RowChange::put(key.to_owned(), vec![1; bytes])]).await
    }

    async fn remove_row(&self, key: &str) -> Result<(), VaultError> {
        self.vault.commit_rows(vec![RowChange::remove(key.to_owned())]).await
    }
}

async fn scene() -> Scene<VersionedMemory> {
    Scene::new(VersionedMemory::new).await
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_refuses_writes_answers_the_reads_that_were_stated_and_takes_all_when_there_is_room() {
    let mut scene = scene().await;
    let (disk, sizes) = (scene.disk.clone(), scene.header.parameters.reserve());
    scene
        .open(3, async |known| {
            for at in 0..BLOCKS {
                known.write(at, at as u8).await.unwrap();
            }
            known.put_row("early", 100).await.unwrap();
            disk.leave_room(Some(0));
            let refused = known.write_until_refused().await;
            assert!(matches!(refused, VaultError::NoRoom), "{refused}");
            let room = known.vault.status().room;
            assert!(room.is_full && room.reads() > 0 && room.sizes == sizes, "{room:?}");
            for nth in 0..room.reads() {
                known.read(nth * 7 % BLOCKS).await.unwrap();
                assert!(matches!(known.write(1, 1).await, Err(VaultError::NoRoom)));
            }
            assert!(matches!(known.put_row("late", 100).await, Err(VaultError::NoRoom)));
            known.remove_row("early").await.unwrap();
            assert!(known.vault.load_rows().await.unwrap().is_empty());
        })
        .await;
    // It was killed, and is opened again on the full disk.
    scene
        .open(4, async |known| {
            for at in 0..BLOCKS {
                known.read(at).await.unwrap();
            }
            assert!(matches!(known.write(1, 1).await, Err(VaultError::NoRoom)));
            disk.leave_room(None);
            tokio::time::sleep(LATER).await;
            assert!(!known.vault.status().room.is_full);
            known.write(1, 200).await.unwrap();
            known.put_row("late", 100).await.unwrap();
            assert_eq!(known.vault.status().room.held, sizes.whole);
        })
        .await;
    scene.open(5, async |known| known.read(1).await.unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn a_reserve_that_is_needed_for_what_is_owed_refuses_reads_and_the_vault_lives_on() {
    let mut scene = scene().await;
    let (disk, sizes) = (scene.disk.clone(), scene.header.parameters.reserve());
    scene
        .open(3, async |known| {
            for at in 0..BLOCKS {
                known.write(at, at as u8).await.unwrap();
            }
            known.put_row("early", 100).await.unwrap();
        })
        .await;
    disk.leave_room(Some(0));
    disk.shrink_reserve(sizes.owed as usize);
    scene
        .open(4, async |known| {
            for at in 0..BLOCKS {
                assert!(matches!(known.read(at).await, Err(VaultError::DiskFull)));
                assert!(matches!(known.write(at, 9).await, Err(VaultError::NoRoom)));
            }
            known.remove_row("early").await.unwrap();
            assert!(known.vault.failure().is_none());
            disk.leave_room(None);
            tokio::time::sleep(LATER).await;
            for at in 0..BLOCKS {
                known.read(at).await.unwrap();
            }
            known.write(2, 222).await.unwrap();
        })
        .await;
    scene.open(5, async |known| known.read(2).await.unwrap()).await;
}

/// The requests of an opening and of some reads: with the same secrets, on a disk that is full or is not.
async fn requests_of_reads(is_full: bool) -> Vec<String> {
    let (tape, made) = (Tape::default(), Scene::new(VersionedMemory::new).await);
    let store = Taped::over(made.store.clone(), tape.clone(), Chance::of(1));
    let taped = Rc::new(store);
    let mut scene = Scene { store: taped, header: made.header, disk: made.disk, known: BTreeMap::new() };
    scene
        .open(3, async |known| {
            for at in 0..BLOCKS {
                known.write(at, at as u8).await.unwrap();
            }
        })
        .await;
    let before = tape.len();
    let sizes = scene.header.parameters.reserve();
    if is_full {
        scene.disk.leave_room(Some(0));
        scene.disk.shrink_reserve(sizes.whole as usize - 8192);
    }
    scene
        .open(4, async |known| {
            for nth in 0..sizes.reads(sizes.whole - 8192) {
                known.read(nth * 7 % BLOCKS).await.unwrap();
            }
            assert_eq!(known.vault.status().room.is_full, is_full);
        })
        .await;
    let requests = tape.effects().split_off(before);
    requests.iter().map(|effect| format!("{effect:?}")).collect()
}

#[tokio::test(start_paused = true)]
async fn reads_on_a_full_disk_show_the_same_requests_as_on_any() {
    let (with_room, full) = (requests_of_reads(false).await, requests_of_reads(true).await);
    assert!(with_room.len() > 50, "{}", with_room.len());
    assert!(with_room == full, "{} and {} requests", with_room.len(), full.len());
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_fails_a_change_of_rows_stops_the_vault_though_no_block_is_asked_for() {
    let mut scene = scene().await;
    let disk = scene.disk.clone();
    scene
        .open(3, async |known| {
            known.write(1, 1).await.unwrap();
            disk.refuse_after(Some(0), ErrorKind::Other);
            let failed = known.put_row("key", 10).await.unwrap_err();
            assert!(matches!(failed, VaultError::Disk(_)), "{failed}");
            tokio::time::sleep(LATER).await;
            let why = known.vault.failure();
            assert!(matches!(why, Some(VaultError::Disk(_))), "it lives on, and refuses everything: {why:?}");
            disk.refuse_after(None, ErrorKind::Other);
        })
        .await;
}

/// A store that can be full.
#[derive(Clone)]
struct Fillable {
    memory: VersionedMemory,
    is_full: Arc<AtomicBool>,
}

impl Untrusted for Fillable {
    fn layout(&self) -> &Layout {
        Untrusted::layout(&self.memory)
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.memory.read(places, into).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        // A part of it has arrived when the room is at its end.
        let (first, rest) = buckets.split_at(buckets.len() / 2);
        let bytes: usize = first.iter().map(|of| Untrusted::layout(self).bucket_bytes(of.bucket)).sum();
        self.memory.write(first, &from[..bytes]).await?;
        if self.is_full.load(Ordering::Relaxed) {
            return Err(UntrustedError::Refused(Box::new(io::Error::from(ErrorKind::StorageFull))));
        }
        self.memory.write(rest, &from[bytes..]).await
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        self.memory.delete(buckets).await
    }
}

forward_blobs!([] Fillable, memory);
forward_inventory!([] Fillable, memory);

#[tokio::test(start_paused = true)]
async fn a_full_store_refuses_writes_and_then_reads_and_takes_all_when_there_is_room() {
    let is_full = Arc::new(AtomicBool::new(false));
    let store = |layout| Fillable { memory: VersionedMemory::new(layout), is_full: is_full.clone() };
    let mut scene = Scene::new(store).await;
    scene
        .open(3, async |known| {
            for at in 0..BLOCKS {
                known.write(at, at as u8).await.unwrap();
            }
            known.put_row("early", 100).await.unwrap();
            is_full.store(true, Ordering::Relaxed);
            let mut reads = 0;
            let refused = loop {
                match known.read(reads * 5 % BLOCKS).await {
                    Ok(()) => reads += 1,
                    Err(error) => break error,
                }
                assert!(reads < 1000, "no eviction came");
            };
            assert!(matches!(refused, VaultError::StoreFull), "{refused}");
            assert!(reads >= 1 && known.vault.status().store_is_full, "after {reads} reads");
            assert!(matches!(known.write(1, 77).await, Err(VaultError::NoRoom)));
            known.remove_row("early").await.unwrap();
            assert!(known.vault.failure().is_none());
            is_full.store(false, Ordering::Relaxed);
            tokio::time::sleep(LATER).await;
            for at in 0..BLOCKS {
                known.read(at).await.unwrap();
            }
            known.write(3, 33).await.unwrap();
        })
        .await;
    // A stop does not wait for room.
    scene
        .open(4, async |known| {
            known.read(3).await.unwrap();
            is_full.store(true, Ordering::Relaxed);
            while known.read(9).await.is_ok() {}
            let closing = tokio::time::timeout(LATER, known.vault.close()).await;
            assert!(matches!(closing, Ok(Err(VaultError::Refused(_)))), "{closing:?}");
            is_full.store(false, Ordering::Relaxed);
        })
        .await;
    scene.open(5, async |known| known.read(3).await.unwrap()).await;
}
