//! A vault and its successor: a second vault that takes over the blocks while both are in service, and then the rows.
//!
//! A successor has an identity, a store and a trusted disk of its own, and blocks of the same size; it may be larger,
//! have another key, and lie at another provider. [`MirroredVaults`] serves both as one, [`Copier`] brings the blocks over,
//! and [`cut_over`] the rows.
//!
//! # What the watchers see
//!
//! Every call goes to both vaults, one for one: a write is a write of the same block in both, and of a read the
//! successor sees a dummy. A read is answered when both are done, as a write is, so a client's next call does not come
//! sooner after the one than after the other. The copier goes through the blocks in the order of their numbers, as many
//! at a time as a batch holds, and takes turns with the clients; when its turn comes follows from when calls begin and
//! end, which each watcher sees. So both watchers see how many accesses there are, and when, as that of a single vault
//! does; that there is a migration; how far it is; and nothing of which blocks.
//!
//! # What is the same in both
//!
//! **Every block that was written last by a write that was acknowledged**, once the copier has passed it. A crash may
//! leave a write that was never acknowledged in one of the two and not in the other, and so may a failure. The caller
//! must write such a block again before reading it, and must not have two writes of one block under way at a time, for
//! the vaults may carry them out in different orders.

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

/// The row of the successor that says how far the copier is. The gateway's keys begin otherwise.
const PROGRESS: &[u8] = b"\xffsuccession";
/// Batches of the copier for each time that it notes how far it is: a crash has it copy so many again at most.
const NOTED_EVERY: u64 = 16;

/// The progress of a successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrationStage {
    /// Blocks below this one are in both vaults.
    Copying(BlockId),
    /// All blocks are in both; the rows are in the old one alone.
    Copied,
    /// The rows are in the successor: the old vault is not needed any more, and must not be used.
    CutOver,
}

/// The number of blocks copied, of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyProgress {
    /// Blocks that are in both vaults.
    pub blocks: u64,
    /// Blocks of the old vault.
    pub of: u64,
}

impl CopyProgress {
    /// Returns whether nothing is left to copy.
    pub fn is_all(&self) -> bool {
        self.blocks == self.of
    }
}

/// A vault and its successor in service together. Clones share them. See the module for what a caller owes.
#[derive(Clone)]
pub struct MirroredVaults {
    old: Vault,
    new: Vault,
    /// Held by every call together, and by a batch of the copier alone; first come, first served.
    turns: Arc<RwLock<()>>,
    copied: Arc<AtomicU64>,
}

/// Brings the blocks of the old vault into the new one. There is one for a pair of vaults.
pub struct Copier {
    vaults: MirroredVaults,
    next: u64,
    last_noted: u64,
}

impl MirroredVaults {
    /// Puts two open vaults in service together.
    ///
    /// # Errors
    /// [`VaultError::Parameters`] if the successor is smaller or has blocks of another size, was made for another vault
    /// or has been cut over to already; those of its rows.
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
                let why = "the successor has the names already: the vault before it must not be served";
                return Err(VaultError::Parameters(why.into()));
            }
        };
        let vaults =
            MirroredVaults { old, new, turns: Arc::default(), copied: Arc::new(AtomicU64::new(next)) };
        let copier = Copier { vaults: vaults.clone(), next, last_noted: next };
        Ok((vaults, copier))
    }

    /// The vault that answers.
    pub fn old(&self) -> &Vault {
        &self.old
    }

    /// The vault that is to take its place.
    pub fn successor(&self) -> &Vault {
        &self.new
    }

    /// The most calls that one batch of either vault serves.
    pub fn max_batch(&self) -> usize {
        self.old.max_batch().min(self.new.max_batch())
    }

    /// The progress of the copier.
    pub fn copied(&self) -> CopyProgress {
        CopyProgress { blocks: self.copied.load(Ordering::Relaxed), of: self.old.capacity() }
    }

    /// Carries out calls in both vaults as [`Vault::access_in`] does in one; the old one answers. A write is durable in
    /// both when this returns. See the module for what a caller owes.
    ///
    /// A caller that drops this future half-way tears nothing: a call that has begun is carried out in both.
    ///
    /// # Errors
    /// As [`Vault::access_in`], of either vault.
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
            // Both to their ends, also when one fails: nothing of a failed write happens later on.
            let (answers, done) = futures::join!(old.access_in(flow, calls), new.access_in(flow, mirrored));
            drop(turn);
            done?;
            answers
        })
        .await
    }

    /// The reason why one of the two has stopped, if one has.
    pub fn failure(&self) -> Option<VaultError> {
        self.old.failure().or_else(|| self.new.failure())
    }
}

impl Copier {
    /// The vaults that it works for.
    pub fn vaults(&self) -> &MirroredVaults {
        &self.vaults
    }

    /// The progress of the copier.
    pub fn copied(&self) -> CopyProgress {
        self.vaults.copied()
    }

    /// Copies the next batch, when no call is under way. No call waits for more than one batch.
    ///
    /// # Errors
    /// The reason why one of the vaults has stopped.
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
        // A caller that is told of all blocks may restart at once, and finds them noted.
        self.vaults.copied.store(until, Ordering::Relaxed);
        Ok(self.copied())
    }

    /// Notes how far it is, so that the next copier goes on from there.
    ///
    /// # Errors
    /// [`VaultError::Disk`], [`VaultError::DiskFull`].
    pub async fn note(&mut self) -> Result<(), VaultError> {
        let next = self.next;
        let MirroredVaults { old, new, .. } = &self.vaults;
        let note = borsh::to_vec(&(old.header().vault, next)).expect("memory takes every write");
        new.commit_rows(vec![RowChange::put(PROGRESS, note)]).await?;
        self.last_noted = next;
        Ok(())
    }
}

/// Tells how far the successor of the vault `old` is, from the successor's rows.
///
/// # Errors
/// [`VaultError::Parameters`] if it was made for another vault; [`VaultError::Damaged`].
pub fn migration_stage(old: &VaultHeader, rows: &[Row]) -> Result<MigrationStage, VaultError> {
    let Some(Row { value: note, .. }) = rows.iter().find(|row| row.key == PROGRESS) else {
        // A successor that was never begun has no rows; nor has one that took over a vault without any, and copying
        // that once more does no harm.
        return Ok(if rows.is_empty() {
            MigrationStage::Copying(BlockId(0))
        } else {
            MigrationStage::CutOver
        });
    };
    let (of, next): (VaultId, u64) = borsh::from_slice(note)
        .map_err(|_| VaultError::Damaged("the successor's note of how far it is cannot be read".into()))?;
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

/// Gives the successor `rows`, all that the vault `old` has, in one commit, and ships a checkpoint with them. Afterwards
/// the successor is a vault like any other. Done twice it is as if done once.
///
/// The old vault must be out of service, or at least all changes of its rows must have ended.
///
/// # Errors
/// [`VaultError::Parameters`] if blocks are left to copy; why the successor has stopped.
pub async fn cut_over(old: &VaultHeader, rows: Vec<Row>, new: &Vault) -> Result<Receipt, VaultError> {
    let there = new.load_rows().await?;
    if let MigrationStage::Copying(next) = migration_stage(old, &there)? {
        let why = format!("the successor has {} of {} blocks", next.0, old.parameters.scheme.capacity());
        return Err(VaultError::Parameters(why.into()));
    }
    // Rows that it has and the old vault has not, the note among them, go with the same commit.
    let mut changes: BTreeMap<Bytes, RowChange> =
        there.into_iter().map(|row| (row.key.clone(), RowChange::remove(row.key))).collect();
    changes.extend(rows.into_iter().map(|row| (row.key.clone(), row.into())));
    new.ship_rows(changes.into_values().collect()).await
}

/// Carries work out to its end, also when the caller that waits for it goes away.
async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, VaultError>> + Send + 'static,
) -> Result<T, VaultError> {
    match tokio::spawn(work).await {
        Ok(outcome) => outcome,
        Err(failure) if failure.is_panic() => std::panic::resume_unwind(failure.into_panic()),
        Err(_) => Err(VaultError::Closed),
    }
}
