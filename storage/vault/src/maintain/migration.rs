//! The migration of a vault to a successor: a second vault that takes over the blocks while both are served, and the
//! rows at the end.
//!
//! A successor has its own identity, store and trusted disk, and blocks of the same size. It may be larger, have
//! another key, and lie at another provider. [`MirroredVaults`] serves both as one, [`Copier`] copies the blocks, and
//! [`cut_over`] moves the rows.
//!
//! # What the watchers see
//!
//! Every call goes to both vaults, one for one. A write writes the same block in both; for a read the successor makes a
//! dummy. A read is answered when both vaults are done, like a write. So a client's next call does not come sooner
//! after a read than after a write. The copier goes through the blocks in the order of their numbers, a batch at a
//! time. It takes turns with the clients. Its turns follow from the starts and ends of calls, which each watcher sees.
//! So both watchers see the number of accesses and their times, as with a single vault. They also see that there is a
//! migration, and its progress. They do not see which blocks are accessed.
//!
//! # What is the same in both
//!
//! **Every block whose last write was acknowledged**, once the copier has passed it. A crash or a failure may leave an
//! unacknowledged write in only one of the two vaults. The caller must write such a block again before reading it. It
//! must not have two writes of one block in flight, because the vaults may carry them out in different orders.

use crate::engine::Answers;
use crate::engine::record::Call;
use crate::error::VaultError;
use crate::open::header::read_header;
use crate::session::queue::Flow;
use crate::trusted::checkpoint::Receipt;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::row::{Row, RowChange};
use crate::trusted::rows::Rows;
use crate::vault::Vault;
use ameles_core::types::BlockId;
use ameles_seal::master_key::MasterKey;
use ameles_seal::versions::VaultId;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::RwLock;

/// The row of the successor with the progress of the copier. The gateway's keys have other prefixes.
const PROGRESS: &[u8] = b"\xffsuccession";
/// The copier records its progress after this many batches. After a crash it copies at most this many again.
const NOTED_EVERY: u64 = 16;

/// The stage of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrationStage {
    /// Blocks below this one are in both vaults.
    Copying(BlockId),
    /// All blocks are in both vaults; the rows are only in the previous one.
    Copied,
    /// The rows are in the successor. The previous vault is not needed any more, and must not be used.
    CutOver,
}

/// The number of copied blocks, and of all blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyProgress {
    /// The number of blocks that are in both vaults.
    pub blocks: u64,
    /// The number of blocks of the previous vault.
    pub of: u64,
}

impl CopyProgress {
    /// Returns whether nothing is left to copy.
    pub fn is_all(&self) -> bool {
        self.blocks == self.of
    }
}

/// A vault and its successor, served together. Clones share them. See the module for what a caller must do.
#[derive(Clone)]
pub struct MirroredVaults {
    old: Vault,
    new: Vault,
    /// The lock between calls and the copier, in the order of arrival. Calls hold it shared, and batches of the copier
    /// hold it exclusively.
    turns: Arc<RwLock<()>>,
    copied: Arc<AtomicU64>,
}

/// Copies the blocks of the previous vault to the successor. There is one copier for a pair of vaults.
pub struct Copier {
    vaults: MirroredVaults,
    next: u64,
    last_noted: u64,
}

impl MirroredVaults {
    /// Serves two open vaults together.
    ///
    /// # Errors
    /// [`VaultError::Parameters`] if the successor is smaller, has blocks of another size, was created for another
    /// vault, or has been cut over to already; the errors of its rows.
    pub async fn new(old: Vault, new: Vault) -> Result<(MirroredVaults, Copier), VaultError> {
        let (one, other) = (&old.header().parameters, &new.header().parameters);
        if old.block_bytes() != new.block_bytes() {
            let (old, new) = (old.block_bytes(), new.block_bytes());
            let why = format!("the successor has blocks of {new} bytes, and the vault has blocks of {old}");
            return Err(VaultError::Parameters(why.into()));
        }
        if new.capacity() < old.capacity() || other.rows_bytes < one.rows_bytes {
            return Err(VaultError::Parameters("the successor is smaller than the vault".into()));
        }
        let next = match migration_stage(old.header(), &new.load_rows().await?)? {
            MigrationStage::Copying(next) => next.0,
            MigrationStage::Copied => old.capacity(),
            MigrationStage::CutOver => {
                let why = "the successor has already taken over the names: the old vault must not be served";
                return Err(VaultError::Parameters(why.into()));
            }
        };
        let vaults =
            MirroredVaults { old, new, turns: Arc::default(), copied: Arc::new(AtomicU64::new(next)) };
        let copier = Copier { vaults: vaults.clone(), next, last_noted: next };
        Ok((vaults, copier))
    }

    /// The previous vault, whose answers are returned.
    pub fn old(&self) -> &Vault {
        &self.old
    }

    /// The successor.
    pub fn successor(&self) -> &Vault {
        &self.new
    }

    /// The maximum number of calls in a batch of either vault.
    pub fn max_batch(&self) -> usize {
        self.old.max_batch().min(self.new.max_batch())
    }

    /// The progress of the copier.
    pub fn copied(&self) -> CopyProgress {
        CopyProgress { blocks: self.copied.load(Ordering::Relaxed), of: self.old.capacity() }
    }

    /// Carries out calls in both vaults as [`Vault::access_in`] does in one, and returns the answers of the previous
    /// one. A write is durable in both when this returns. See the module for what a caller must do.
    ///
    /// If the caller drops this future, a call that has started is still carried out in both vaults.
    ///
    /// # Errors
    /// The errors of [`Vault::access_in`], of either vault.
    pub async fn access_in(&self, flow: Flow, calls: Vec<Call>) -> Result<Answers, VaultError> {
        for call in &calls {
            self.old.check_call(call)?;
        }
        let turn = self.turns.clone().read_owned().await;
        let (old, new) = (self.old.clone(), self.new.clone());
        run_to_completion(async move {
            let mirrored = calls.iter().map(|call| match call {
                Call::Write(block, payload) => Call::Write(*block, payload.clone()),
                Call::Read(_) | Call::Dummy => Call::Dummy,
            });
            let mirrored = mirrored.collect();
            // Both run to their ends even if one fails, so that no part of a failed write happens later.
            let (answers, done) = futures::join!(old.access_in(flow, calls), new.access_in(flow, mirrored));
            drop(turn);
            done?;
            answers
        })
        .await
    }

    /// The error that has stopped one of the two vaults, if one has stopped.
    pub fn failure(&self) -> Option<VaultError> {
        self.old.failure().or_else(|| self.new.failure())
    }
}

impl Copier {
    /// The vaults between which blocks are copied.
    pub fn vaults(&self) -> &MirroredVaults {
        &self.vaults
    }

    /// The progress of the copier.
    pub fn copied(&self) -> CopyProgress {
        self.vaults.copied()
    }

    /// Copies the next batch, while no call is running. No call waits for more than one batch.
    ///
    /// # Errors
    /// The error that has stopped one of the vaults.
    pub async fn step(&mut self) -> Result<CopyProgress, VaultError> {
        let MirroredVaults { old, new, turns, .. } = &self.vaults;
        let until = (self.next + self.vaults.max_batch() as u64).min(old.capacity());
        let blocks = (self.next..until).map(BlockId);
        let (old, new) = (old.clone(), new.clone());
        let turn = turns.clone().write_owned().await;
        run_to_completion(async move {
            let read = old.access(blocks.clone().map(Call::Read).collect()).await?;
            let writes = blocks.zip(read.into_iter().flatten());
            new.access(writes.map(|(block, payload)| Call::Write(block, payload)).collect()).await?;
            drop(turn);
            Ok(())
        })
        .await?;
        self.next = until;
        let batch = self.vaults.max_batch() as u64;
        let is_all = until == self.vaults.old.capacity();
        if is_all || self.next - self.last_noted >= NOTED_EVERY * batch {
            self.note().await?;
        }
        // Set after the note: a caller that sees all blocks copied may restart at once.
        self.vaults.copied.store(until, Ordering::Relaxed);
        Ok(self.copied())
    }

    /// Records the progress, so that the next copier continues from there.
    ///
    /// # Errors
    /// [`VaultError::Disk`], [`VaultError::DiskFull`].
    pub async fn note(&mut self) -> Result<(), VaultError> {
        let next = self.next;
        let MirroredVaults { old, new, .. } = &self.vaults;
        let note = borsh::to_vec(&(old.header().vault, next)).expect("a write to memory does not fail");
        new.commit_rows(vec![RowChange::put(PROGRESS, note)]).await?;
        self.last_noted = next;
        Ok(())
    }
}

/// The stage of the migration from the vault `old`, by the rows of its successor.
///
/// # Errors
/// [`VaultError::Parameters`] if the successor was created for another vault; [`VaultError::Damaged`].
pub fn migration_stage(old: &VaultHeader, rows: &[Row]) -> Result<MigrationStage, VaultError> {
    let Some(Row { value: note, .. }) = rows.iter().find(|row| row.key == PROGRESS) else {
        // A new successor has no rows. Nor has one that took over a vault without rows: copying that vault again does
        // no harm.
        return Ok(if rows.is_empty() {
            MigrationStage::Copying(BlockId(0))
        } else {
            MigrationStage::CutOver
        });
    };
    let (of, next): (VaultId, u64) = borsh::from_slice(note)
        .map_err(|_| VaultError::Damaged("the successor's record of its progress cannot be read".into()))?;
    if of != old.vault {
        return Err(VaultError::Parameters(format!("the successor was made for the vault {of}").into()));
    }
    let is_all = next >= old.parameters.scheme.capacity();
    Ok(if is_all { MigrationStage::Copied } else { MigrationStage::Copying(BlockId(next)) })
}

/// The rows of a vault that is not open, sorted by key. Shows the store nothing.
///
/// # Errors
/// [`VaultError::NoVault`], [`VaultError::WrongKey`], [`VaultError::Disk`], [`VaultError::Damaged`].
pub fn rows_at_rest(disk: &TrustedDisk, master: &MasterKey) -> Result<Vec<Row>, VaultError> {
    let header = read_header(disk, master)?;
    let max = header.parameters.rows_bytes;
    Rows::open(disk.clone(), master.clone(), header.vault, max)?.load()
}

/// Gives the successor `rows`, which are all rows of the vault `old`, in one commit, and ships a checkpoint with them.
/// Afterwards the successor is a vault like any other. Repeating it changes nothing.
///
/// The vault `old` must not be served any more, or at least all changes of its rows must have ended.
///
/// # Errors
/// [`VaultError::Parameters`] if blocks are left to copy; the error that has stopped the successor.
pub async fn cut_over(old: &VaultHeader, rows: Vec<Row>, new: &Vault) -> Result<Receipt, VaultError> {
    let there = new.load_rows().await?;
    if let MigrationStage::Copying(next) = migration_stage(old, &there)? {
        let why = format!("the successor has {} of {} blocks", next.0, old.parameters.scheme.capacity());
        return Err(VaultError::Parameters(why.into()));
    }
    // The same commit removes the other rows of the successor, the note of the progress included.
    let mut changes: BTreeMap<Bytes, RowChange> =
        there.into_iter().map(|row| (row.key.clone(), RowChange::remove(row.key))).collect();
    changes.extend(rows.into_iter().map(|row| (row.key.clone(), row.into())));
    new.ship_rows(changes.into_values().collect()).await
}

/// Runs work to its end, even if the caller that waits for it goes away.
async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, VaultError>> + Send + 'static,
) -> Result<T, VaultError> {
    match tokio::spawn(work).await {
        Ok(outcome) => outcome,
        Err(failure) if failure.is_panic() => std::panic::resume_unwind(failure.into_panic()),
        Err(_) => Err(VaultError::Closed),
    }
}
