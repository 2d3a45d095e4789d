//! Rows: a small durable table next to the blocks, for callers that give names to blocks.
//!
//! Rows are on the trusted disk. Reading and changing them shows the store nothing, unless the journal is in the store.
//! Checkpoints in the store hold them in parts of public sizes. On the disk each row is sealed, under a keyed
//! hash of its key.

use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use crate::trusted::commit_group::QueuedChange;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::disk_snapshot::DiskSnapshot;
use crate::trusted::row::{Row, RowChange};
use crate::trusted::unlogged_commits::{self, CommitId, UnloggedCommits};
use ameles_seal::blob;
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::{Purpose, Salt, derive};
use ameles_seal::master_key::MasterKey;
use ameles_seal::versions::VaultId;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The number of bytes of a row besides its key and value: their lengths, as a checkpoint stores them.
const ROW_OVERHEAD: u64 = 8;

/// The table. Its sizes are in memory, and the rows on the disk.
pub(crate) struct Rows {
    disk: TrustedDisk,
    master: MasterKey,
    vault: VaultId,
    max: u64,
    /// The sizes with every queued change, durable or not.
    sizes: Mutex<RowSizes>,
    /// The sum of the sizes, for readers that do not wait for changes.
    used: AtomicU64,
    /// The commits that the journal in the store does not hold yet, if there is such a journal. Locked after `sizes`.
    unlogged: Option<Mutex<UnloggedCommits>>,
}

#[derive(Default)]
struct RowSizes {
    of: BTreeMap<[u8; 32], u64>,
    total: u64,
}

/// A snapshot of the rows. Later changes do not affect it.
pub(crate) struct RowsSnapshot {
    pub(super) rows: Arc<Rows>,
    pub(super) disk: DiskSnapshot,
}

impl RowsSnapshot {
    /// Loads all rows of the snapshot, sorted by key.
    #[cfg(test)]
    pub(crate) fn load(self) -> Result<Vec<Row>, VaultError> {
        self.rows.load_from(&self.disk)
    }
}

impl Rows {
    pub(crate) fn open(
        disk: TrustedDisk,
        master: MasterKey,
        vault: VaultId,
        max: u64,
    ) -> Result<Self, VaultError> {
        let (sizes, used) = (Mutex::default(), AtomicU64::new(0));
        let rows = Rows { disk, master, vault, max, sizes, used, unlogged: None };
        let of: BTreeMap<_, _> = rows
            .load()?
            .iter()
            .map(|row| (row_hash(&rows.master, vault, &row.key), size(&row.key, &row.value)))
            .collect();
        let total = of.values().sum();
        rows.used.store(total, Ordering::Relaxed);
        *rows.sizes.lock().expect("no thread panics while it holds this lock") = RowSizes { of, total };
        Ok(rows)
    }

    /// Keeps commits until the journal in the store holds them, including those of an earlier opening.
    pub(crate) fn with_log(mut self) -> Result<Self, VaultError> {
        self.unlogged = Some(Mutex::new(UnloggedCommits::of(self.load_unlogged()?)));
        Ok(self)
    }

    fn load_unlogged(&self) -> Result<Vec<(CommitId, Vec<u8>)>, VaultError> {
        let open = |(id, sealed): (CommitId, Vec<u8>)| {
            let name = commit_name(self.vault, id);
            let opened = blob::open(&self.master, Purpose::ROWS, &name, &sealed);
            let damaged =
                |error| VaultError::Damaged(ErrorReason::of(error).about("a change of rows that is kept"));
            Ok((id, opened.map_err(damaged)?))
        };
        self.disk.unlogged_commits()?.into_iter().map(open).collect()
    }

    /// The commits on the disk, sealed with another key.
    pub(crate) fn reseal_unlogged(
        &self,
        master: &MasterKey,
        mut salt: impl FnMut() -> Salt,
    ) -> Result<Vec<(CommitId, Vec<u8>)>, VaultError> {
        let commits = self.load_unlogged()?;
        let resealed =
            commits.iter().map(|(id, text)| (*id, seal_commit(master, self.vault, (*id, text), salt())));
        Ok(resealed.collect())
    }

    /// The commits that the journal in the store does not hold yet, if there is such a journal.
    pub(crate) fn unlogged(&self) -> Option<MutexGuard<'_, UnloggedCommits>> {
        self.unlogged
            .as_ref()
            .map(|unlogged| unlogged.lock().expect("no thread panics while it holds this lock"))
    }

    /// Bytes used, and bytes reserved. Does not wait for a running change.
    pub(crate) fn usage(&self) -> (u64, u64) {
        (self.used.load(Ordering::Relaxed), self.max)
    }

    /// A snapshot of the rows, at no cost.
    pub(crate) fn snapshot(self: &Arc<Self>) -> Result<RowsSnapshot, VaultError> {
        Ok(RowsSnapshot { rows: self.clone(), disk: self.disk.snapshot()? })
    }

    /// Loads all rows, sorted by key.
    pub(crate) fn load(&self) -> Result<Vec<Row>, VaultError> {
        self.load_from(&self.disk.snapshot()?)
    }

    fn load_from(&self, disk: &DiskSnapshot) -> Result<Vec<Row>, VaultError> {
        let open = |Row { key: hash, value: sealed }: Row| {
            let text = self.open_text(&hash, &sealed)?;
            borsh::from_slice::<Row>(&text).map_err(|error| VaultError::Damaged(ErrorReason::of(error)))
        };
        let mut rows = disk.rows()?.into_iter().map(open).collect::<Result<Vec<Row>, _>>()?;
        rows.sort_unstable();
        Ok(rows)
    }

    /// Opens a row with this hash of its key. Returns the row as a checkpoint stores it.
    pub(super) fn open_text(&self, hash: &[u8], sealed: &[u8]) -> Result<Vec<u8>, VaultError> {
        let damaged = |_| VaultError::Damaged("a row does not open: the trusted folder was changed".into());
        blob::open(&self.master, Purpose::ROWS, &name(self.vault, hash), sealed).map_err(damaged)
    }

    /// Applies all changes or none; durable on the disk when this returns. A later change of a key overrides an earlier
    /// one. With a journal in the store, returns the number of the commit.
    pub(crate) fn commit(
        &self,
        changes: Vec<RowChange>,
        salt: impl FnMut() -> Salt,
    ) -> Result<Option<CommitId>, VaultError> {
        let commit = self.unlogged.is_some().then(|| unlogged_commits::encode(&changes));
        self.apply(changes, commit, salt)
    }

    /// Does the same as [`commit`](Self::commit), but without the journal in the store: a checkpoint must be shipped
    /// before the next commit.
    pub(crate) fn commit_without_log(
        &self,
        changes: Vec<RowChange>,
        salt: impl FnMut() -> Salt,
    ) -> Result<(), VaultError> {
        self.apply(changes, None, salt).map(drop)
    }

    /// Adds changes to the disk's queue, without the journal in the store. The caller commits them.
    ///
    /// # Errors
    /// The errors of [`commit`](Self::commit).
    pub(crate) fn queue_without_log(
        &self,
        changes: Vec<RowChange>,
        salt: impl FnMut() -> Salt,
    ) -> Result<QueuedChange, VaultError> {
        Ok(self.enqueue(changes, None, salt)?.0)
    }

    fn apply(
        &self,
        changes: Vec<RowChange>,
        commit: Option<Vec<u8>>,
        salt: impl FnMut() -> Salt,
    ) -> Result<Option<CommitId>, VaultError> {
        // The lock orders the changes. They become durable in groups.
        let (queued, id) = self.enqueue(changes, commit, salt)?;
        self.disk.commit(queued)?;
        self.disk.bound_journal()?;
        Ok(id)
    }

    fn enqueue(
        &self,
        changes: Vec<RowChange>,
        commit: Option<Vec<u8>>,
        mut salt: impl FnMut() -> Salt,
    ) -> Result<(QueuedChange, Option<CommitId>), VaultError> {
        let mut sizes = self.sizes.lock().expect("no thread panics while it holds this lock");
        let mut changed: BTreeMap<[u8; 32], u64> = BTreeMap::new();
        let mut sealed: Vec<RowChange> = Vec::with_capacity(changes.len());
        for RowChange { key, value } in changes {
            let hash = row_hash(&self.master, self.vault, &key);
            changed.insert(hash, value.as_ref().map_or(0, |value| size(&key, value)));
            let row = value.map(|value| seal(&self.master, self.vault, (&hash, &Row { key, value }), salt()));
            sealed.push(RowChange { key: Bytes::copy_from_slice(&hash), value: row.map(Bytes::from) });
        }
        let removed: u64 = changed.keys().filter_map(|hash| sizes.of.get(hash)).sum();
        let needed = sizes.total - removed + changed.values().sum::<u64>();
        if needed > self.max && needed > sizes.total {
            return Err(VaultError::RowsFull { needed, max: self.max });
        }
        if needed > sizes.total && self.disk.reserve().refuses_writes() {
            return Err(VaultError::NoRoom);
        }
        let queued = self.enqueue_on_disk(sealed, commit, salt);
        sizes.total = needed;
        self.used.store(needed, Ordering::Relaxed);
        for (hash, bytes) in changed {
            if bytes == 0 {
                sizes.of.remove(&hash)
            } else {
                sizes.of.insert(hash, bytes)
            };
        }
        Ok(queued)
    }

    /// Adds changes to the disk's queue, and keeps the commit for the journal in the store. The caller holds the lock
    /// of the sizes, so both have the same order. An object of the journal may take the commit before the commit is
    /// durable. This is safe: that object leaves only after the record of its batch, which comes later in that order.
    fn enqueue_on_disk(
        &self,
        sealed: Vec<RowChange>,
        commit: Option<Vec<u8>>,
        mut salt: impl FnMut() -> Salt,
    ) -> (QueuedChange, Option<CommitId>) {
        let Some(mut unlogged) = self.unlogged() else { return (self.disk.enqueue_rows(sealed), None) };
        let (id, logged) = (unlogged.next(), unlogged.logged());
        let seal = |text: &Vec<u8>| (id, seal_commit(&self.master, self.vault, (id, text), salt()));
        let sealed_commit = commit.as_ref().map(seal);
        let queued = self.disk.enqueue_rows_with_commit(sealed, sealed_commit, logged);
        let id = commit.map(|commit| {
            unlogged.push(id, commit);
            id
        });
        (queued, id)
    }
}

/// Seals a row as the disk stores it, under the hash of its key.
pub(crate) fn seal_row(master: &MasterKey, vault: VaultId, row: &Row, salt: Salt) -> Row {
    let hash = row_hash(master, vault, &row.key);
    Row::new(hash.to_vec(), seal(master, vault, (&hash, row), salt))
}

fn seal(master: &MasterKey, vault: VaultId, (hash, row): (&[u8; 32], &Row), salt: Salt) -> Vec<u8> {
    let text = borsh::to_vec(row).expect("a write to memory does not fail");
    blob::seal(master, Purpose::ROWS, &name(vault, hash), Cipher::default(), salt, &text)
}

fn seal_commit(master: &MasterKey, vault: VaultId, (id, text): (CommitId, &[u8]), salt: Salt) -> Vec<u8> {
    blob::seal(master, Purpose::ROWS, &commit_name(vault, id), Cipher::default(), salt, text)
}

/// The name under which an unlogged commit is sealed. It is shorter than that of a row.
fn commit_name(vault: VaultId, id: CommitId) -> Vec<u8> {
    name(vault, &id.to_le_bytes())
}

/// The hash of a row's key.
pub(crate) fn row_hash(master: &MasterKey, vault: VaultId, key: &[u8]) -> [u8; 32] {
    *derive(master, Purpose::ROWS, &Salt([0; 32]), &[vault.0.as_slice(), key].concat())
}

fn name(vault: VaultId, hash: &[u8]) -> Vec<u8> {
    [vault.0.as_slice(), hash].concat()
}

fn size(key: &[u8], value: &[u8]) -> u64 {
    (key.len() + value.len()) as u64 + ROW_OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::Entropy;
    use redb::backends::InMemoryBackend;

    #[test]
    fn held_rows_do_not_change_and_keep_no_change_waiting() {
        let [database, slots, journal] = [(); 3].map(|()| InMemoryBackend::new());
        let disk = TrustedDisk::with_backends(database, slots, journal).unwrap();
        let master = MasterKey::take(&mut [3; 32]);
        let rows = Arc::new(Rows::open(disk, master, VaultId([1; 16]), 1 << 20).unwrap());
        let mut entropy = Entropy::system();
        let mut commit = |change| {
            rows.commit(vec![change], || entropy.salt()).unwrap();
        };
        commit(RowChange::put("kept", "as it was"));
        let held = rows.snapshot().unwrap();
        commit(RowChange::put("kept", "changed"));
        commit(RowChange::put("later", "row"));
        assert_eq!(held.load().unwrap(), [Row::new("kept", "as it was")]);
        assert_eq!(rows.load().unwrap().len(), 2);
        let max = 1 << 20;
        assert_eq!(rows.usage(), (size(b"kept", b"changed") + size(b"later", b"row"), max));
    }

    #[test]
    fn the_journal_in_the_store_takes_commits_in_the_order_in_which_the_disk_makes_them() {
        let [database, slots, journal] = [(); 3].map(|()| InMemoryBackend::new());
        let disk = TrustedDisk::with_backends(database, slots, journal).unwrap();
        let master = MasterKey::take(&mut [3; 32]);
        let rows = Rows::open(disk, master, VaultId([1; 16]), 1 << 20).unwrap().with_log().unwrap();
        std::thread::scope(|scope| {
            for caller in 0..8u8 {
                let rows = &rows;
                scope.spawn(move || {
                    let mut entropy = Entropy::system();
                    for nth in 0..20 {
                        let change = RowChange::put("contended", vec![caller, nth]);
                        rows.commit(vec![change], || entropy.salt()).unwrap().expect("it is kept");
                    }
                });
            }
        });
        let commits = rows.load_unlogged().unwrap();
        assert!(commits.iter().map(|(id, _)| *id).eq(1..=160));
        let (stream, last) = rows.unlogged().unwrap().take(usize::MAX);
        assert_eq!((stream.bytes, last), (commits.iter().flat_map(|(_, text)| text.clone()).collect(), 160));
        let [Row { value, .. }] = &rows.load().unwrap()[..] else { panic!("there is one row") };
        assert!(commits.last().unwrap().1.ends_with(value), "the last commit is the one that the disk has");
    }
}
