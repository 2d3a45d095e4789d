//! The handle on a served vault: callers hold it. The vault runs on a thread of its own. Callers on any thread send
//! requests, which are batched.

use crate::engine::Answers;
use crate::engine::record::Call;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::lease::Lease;
use crate::session::check::{Progress, Report};
use crate::session::queue::Flow;
use crate::session::status::{RowFigures, Status};
use crate::session::{AtClose, Command, Session};
use crate::store::VaultStore;
use crate::store_space::{RETRY_EVERY, StoreSpace};
use crate::trusted::checkpoint::Receipt;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::row::{Row, RowChange};
use crate::trusted::rows::Rows;
use ameles_core::types::BlockId;
use bytes::Bytes;
use std::sync::{Arc, Mutex};
use tokio::sync::{mpsc, oneshot};

/// The capacity of the request channel. Further callers wait before they are queued.
const QUEUE: usize = 256;

/// A served vault. Clones share it; dropping the last one closes it.
#[derive(Clone)]
pub struct Vault {
    commands: mpsc::Sender<Command>,
    shared: Arc<Shared>,
}

struct Shared {
    header: VaultHeader,
    rows: Arc<Rows>,
    status: Arc<Mutex<Status>>,
    lease: Lease,
    is_paced: bool,
    disk: TrustedDisk,
    store_space: Arc<StoreSpace>,
    failure: Arc<Mutex<Option<VaultError>>>,
}

impl Vault {
    /// A handle on a session, and the future that drives the session.
    pub(crate) fn with_session<U: VaultStore>(
        mut session: Session<U>,
        store_space: Arc<StoreSpace>,
    ) -> (Vault, impl Future<Output = ()>) {
        let (commands, requests) = mpsc::channel(QUEUE);
        session.set_store_space(Arc::clone(&store_space));
        let shared = Arc::new(Shared {
            header: session.identity().header.clone(),
            rows: session.rows(),
            status: session.status(),
            lease: session.lease(),
            is_paced: session.is_paced(),
            disk: session.disk(),
            store_space,
            failure: Arc::default(),
        });
        // Only handles keep the disk: when a closed vault has none, it can be opened again.
        let failure = Arc::clone(&shared.failure);
        let running = async move { session.run(requests, &failure).await };
        let vault = Vault { commands, shared };
        (vault, running)
    }

    /// The vault's header.
    pub fn header(&self) -> &VaultHeader {
        &self.shared.header
    }

    /// Returns the size of a block in bytes.
    pub fn block_bytes(&self) -> usize {
        self.shared.header.parameters.scheme.block_bytes() as usize
    }

    /// Returns the number of blocks that can be addressed.
    pub fn capacity(&self) -> u64 {
        self.shared.header.parameters.scheme.capacity()
    }

    /// The maximum number of calls in a batch.
    pub fn max_batch(&self) -> usize {
        self.shared.header.parameters.scheme.max_batch() as usize
    }

    /// The current figures.
    pub fn status(&self) -> Status {
        let published = self.shared.status.lock().expect("no thread panics while it holds this lock").clone();
        // Rows and reserve change without an access, so the figures that were published with the last access may be
        // old.
        let (reserve, store) = (self.shared.disk.reserve().figures(), self.shared.store_space.figures());
        Status { rows: self.rows(), reserve, store, ..published }
    }

    /// The current usage of the row table. Does not wait for a running change.
    pub fn rows(&self) -> RowFigures {
        let (used, reserved) = self.shared.rows.usage();
        RowFigures { used, reserved }
    }

    /// Returns whether the vault may answer now: it is open, and its lease is valid. A caller that answers from memory
    /// must check this just before it sends the answer.
    pub fn may_answer(&self) -> bool {
        self.shared.lease.is_valid()
    }

    /// Stops the vault because the machine was resumed from a snapshot: another copy may continue with the same memory.
    /// No request is answered from now on. The next opening waits as after a copy of the trusted disk.
    pub async fn stop_resumed(&self) {
        self.shared.lease.revoke();
        // A vault that has already stopped need not be told.
        let _ = self.commands.send(Command::StopResumed).await;
    }

    /// The error that has stopped the vault, if it has stopped.
    pub fn failure(&self) -> Option<VaultError> {
        self.shared.failure.lock().expect("no thread panics while it holds this lock").clone()
    }

    /// Carries out calls in order, and returns a block for each read. Writes are durable when this returns, and may be
    /// durable earlier. The calls of one batch are not interleaved with others, and a batch is durable as a whole or
    /// not at all. More calls than a batch holds are carried out batch by batch. See [`access_in`](Self::access_in) for
    /// how callers take turns.
    ///
    /// # Errors
    /// The errors of [`access_in`](Self::access_in).
    pub async fn access(&self, calls: Vec<Call>) -> Result<Answers, VaultError> {
        self.execute(None, calls).await
    }

    /// Carries out calls as a part of a flow, in the flow's order. Writes are durable when this returns, and may be
    /// durable earlier.
    ///
    /// Calls of many flows share batches, and the flows take turns, one call each. With n flows waiting, the next call
    /// of a flow is among the next n calls, however much the others ask for. So an access may be spread over several
    /// batches. An access without a flow takes its turn with all its calls.
    ///
    /// If the caller drops this future, the access is still carried out completely.
    ///
    /// # Errors
    /// [`VaultError::OutOfRange`] and [`VaultError::WrongLength`] before anything is shown to the store, and
    /// [`VaultError::NoRoom`] for a write. [`VaultError::DiskFull`] and [`VaultError::StoreFull`]: the vault continues
    /// when there is room. Otherwise the error that has stopped the vault.
    pub async fn access_in(&self, flow: Flow, calls: Vec<Call>) -> Result<Answers, VaultError> {
        self.execute(Some(flow), calls).await
    }

    async fn execute(&self, flow: Option<Flow>, calls: Vec<Call>) -> Result<Answers, VaultError> {
        for call in &calls {
            self.check_call(call)?;
        }
        let writes = calls.iter().any(|call| matches!(call, Call::Write(..)));
        let mut answers = Vec::with_capacity(calls.len());
        let mut calls = calls.into_iter().peekable();
        while calls.peek().is_some() {
            self.refuse_without_space(writes)?;
            let batch: Vec<Call> = calls.by_ref().take(self.max_batch()).collect();
            let request = self.ask(|reply| Command::Access(flow, batch, reply));
            answers.extend(if writes { request.await? } else { self.wait_unless_stuck(request).await? });
        }
        Ok(answers)
    }

    /// Refuses an access that must not start because the trusted disk or the store is full.
    fn refuse_without_space(&self, writes: bool) -> Result<(), VaultError> {
        let Shared { disk, store_space, .. } = &*self.shared;
        if writes && (disk.reserve().refuses_writes() || store_space.is_full()) {
            return Err(VaultError::NoRoom);
        }
        if disk.reserve().refuses_accesses() {
            return Err(VaultError::DiskFull);
        }
        if store_space.is_stuck() { Err(VaultError::StoreFull) } else { Ok(()) }
    }

    /// Waits for the answer to a read, unless the store is full and nothing makes progress. A write is always waited
    /// for: it must not be reported as failed while it can still be carried out.
    async fn wait_unless_stuck<T>(
        &self,
        request: impl Future<Output = Result<T, VaultError>>,
    ) -> Result<T, VaultError> {
        let mut request = std::pin::pin!(request);
        let store_space = &self.shared.store_space;
        let progress = || store_space.is_full().then(|| self.status().accesses);
        let mut before = None;
        loop {
            tokio::select! {
                biased;
                answer = &mut request => return answer,
                () = tokio::time::sleep(2 * RETRY_EVERY) => {}
            }
            let now = progress();
            if now.is_some() && now == before {
                store_space.set_stuck();
                return Err(VaultError::StoreFull);
            }
            before = now;
        }
    }

    /// Reads a block.
    ///
    /// # Errors
    /// The errors of [`access`](Self::access).
    pub async fn read(&self, block: BlockId) -> Result<Bytes, VaultError> {
        let mut answers = self.access(vec![Call::Read(block)]).await?;
        answers.pop().flatten().ok_or(VaultError::Closed)
    }

    /// Replaces a block. The block is durable when this returns.
    ///
    /// # Errors
    /// The errors of [`access`](Self::access).
    pub async fn write(&self, block: BlockId, payload: impl Into<Bytes>) -> Result<(), VaultError> {
        self.access(vec![Call::Write(block, payload.into())]).await.map(drop)
    }

    /// Loads all rows of this disk, sorted by key. [`may_answer`](Self::may_answer) returns whether they are the
    /// vault's current rows. Shows the store nothing.
    ///
    /// # Errors
    /// [`VaultError::Disk`], [`VaultError::Damaged`].
    pub async fn load_rows(&self) -> Result<Vec<Row>, VaultError> {
        let rows = self.shared.rows.clone();
        blocking(move || rows.load()).await
    }

    /// Changes rows, all or none. The changes are durable when this returns. It shows the store nothing, unless the
    /// journal is in the store: then it waits for a batch, or makes one of dummies.
    ///
    /// # Errors
    /// [`VaultError::RowsFull`], [`VaultError::Disk`], [`VaultError::DiskFull`]. [`VaultError::LeaseExpired`], or the
    /// error that has stopped the vault, if it may not answer now: then the changes may or may not be durable.
    pub async fn commit_rows(&self, changes: Vec<RowChange>) -> Result<(), VaultError> {
        self.refuse_unless_leased()?;
        let rows = self.shared.rows.clone();
        let committing = blocking(move || {
            let mut entropy = Entropy::system();
            rows.commit(changes, || entropy.salt())
        });
        if let Some(commit) = self.stop_on_disk_failure(committing.await).await? {
            self.ask(|reply| Command::Log(commit, reply)).await?;
        }
        self.refuse_unless_leased()
    }

    /// Waits after reads as [`commit_rows`](Self::commit_rows) waits after writes, if a watcher could otherwise tell
    /// them apart: with the journal in the store, a change of rows waits for another batch. An answer whose reads have
    /// no change of rows must wait for this. If the journal is on the trusted disk, it does nothing, because a change
    /// of rows makes no request. Under a pace it does nothing either, because no request follows from a call.
    ///
    /// # Errors
    /// The errors of [`commit_rows`](Self::commit_rows).
    pub async fn settle_reads(&self) -> Result<(), VaultError> {
        let is_hidden = self.shared.is_paced;
        if self.shared.header.parameters.journal.is_in_store() && !is_hidden {
            self.commit_rows(Vec::new()).await
        } else {
            Ok(())
        }
    }

    /// Stops the vault if the disk has failed. The disk accepts nothing any more. The session may not know this yet.
    async fn stop_on_disk_failure<T>(&self, done: Result<T, VaultError>) -> Result<T, VaultError> {
        if let Err(error @ (VaultError::Disk(_) | VaultError::DiskFull | VaultError::Damaged(_))) = &done {
            // A vault that has already stopped need not be told.
            let _ = self.commands.send(Command::Fail(error.clone())).await;
        }
        done
    }

    /// Replaces rows as [`commit_rows`](Self::commit_rows) does, and ships a checkpoint with them. It serves to replace
    /// all rows at once, which are too many for the journal in the store. No other change of rows may be running.
    /// Returns the receipt.
    pub(crate) async fn ship_rows(&self, changes: Vec<RowChange>) -> Result<Receipt, VaultError> {
        self.refuse_unless_leased()?;
        let rows = self.shared.rows.clone();
        let committing = blocking(move || {
            let mut entropy = Entropy::system();
            rows.commit_without_log(changes, || entropy.salt())
        });
        self.stop_on_disk_failure(committing.await).await?;
        self.refuse_unless_leased()?;
        self.checkpoint().await
    }

    /// Makes a checkpoint now, ships it, and returns its receipt.
    ///
    /// # Errors
    /// The error that has stopped the vault.
    pub async fn checkpoint(&self) -> Result<Receipt, VaultError> {
        self.ask(Command::Checkpoint).await
    }

    /// Reads and authenticates everything in the store. Accesses wait meanwhile. `progress` gets the buckets done and
    /// the buckets in all.
    ///
    /// # Errors
    /// The error that has stopped the vault. Faults of single objects are in the report.
    pub async fn check(&self, progress: Progress) -> Result<Report, VaultError> {
        self.ask(|reply| Command::Check(progress, reply)).await
    }

    /// Makes requests fail with [`VaultError::StoreFull`] from now on if the store has no room, instead of waiting for
    /// it. Commands that maintain a vault and do not serve it need this.
    pub fn fail_if_store_is_full(&self) {
        self.shared.store_space.wait(false);
    }

    /// Finishes the accepted requests, ships a checkpoint, closes the vault, and returns the receipt. It does not wait
    /// for a full store.
    ///
    /// # Errors
    /// The error that has stopped the vault.
    pub async fn close(&self) -> Result<Receipt, VaultError> {
        self.fail_if_store_is_full();
        self.ask(|reply| Command::Close(AtClose::Ship, reply)).await
    }

    /// Does the same as [`close`](Self::close), but leaves the last checkpoint on the trusted disk, and abandons one
    /// that is on its way. Returns the receipt of the last checkpoint in the store.
    ///
    /// # Errors
    /// The error that has stopped the vault.
    pub async fn close_without_shipping(&self) -> Result<Receipt, VaultError> {
        self.fail_if_store_is_full();
        self.ask(|reply| Command::Close(AtClose::Keep, reply)).await
    }

    async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, VaultError>>) -> Command,
    ) -> Result<T, VaultError> {
        let (reply, answer) = oneshot::channel();
        let stopped = || self.failure().unwrap_or(VaultError::Closed);
        self.commands.send(command(reply)).await.map_err(|_| stopped())?;
        let answer = answer.await.unwrap_or_else(|_| Err(stopped()));
        // The last time at which this side can check the lease.
        if answer.is_ok() && !self.shared.lease.wait_to_answer().await {
            return Err(stopped());
        }
        answer
    }

    fn refuse_unless_leased(&self) -> Result<(), VaultError> {
        if self.may_answer() {
            return Ok(());
        }
        let is_closed = self.commands.is_closed();
        Err(self.failure().unwrap_or(if is_closed { VaultError::Closed } else { VaultError::LeaseExpired }))
    }

    pub(crate) fn check_call(&self, call: &Call) -> Result<(), VaultError> {
        let (block, len) = match call {
            Call::Read(block) => (*block, self.block_bytes()),
            Call::Write(block, payload) => (*block, payload.len()),
            Call::Dummy => return Ok(()),
        };
        if block.0 >= self.capacity() {
            return Err(VaultError::OutOfRange { block, capacity: self.capacity() });
        }
        if len != self.block_bytes() {
            return Err(VaultError::WrongLength { len, block_bytes: self.block_bytes() });
        }
        Ok(())
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, VaultError> + Send + 'static,
) -> Result<T, VaultError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(VaultError::Closed))
}
