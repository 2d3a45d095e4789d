//! The engine: the scheme, its futures and the sealing layer, stepped by one input at a time. A running session and
//! recovery make the same steps. Only the source of the inputs differs.

pub(crate) mod deferred_store;
mod local_reads;
pub(crate) mod record;
mod rewrite;
pub(crate) mod scheme;
pub(crate) mod work;

use crate::error::VaultError;
use crate::trusted::payload_reader::PayloadReader;
use ameles_core::oram::Access;
use ameles_core::store::{BucketVersion, Untrusted};
use ameles_core::types::Bucket;
use ameles_seal::sealed::{Sealed, VersionChange};
use bytes::Bytes;
use deferred_store::{DeferredStore, OperationId, Request};
use record::{Announcement, Call, Effect, Input, Record};
use scheme::{Scheme, Seed};
use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use work::Work;

/// The answers of a batch: a block for each read.
pub(crate) type Answers = Vec<Option<Bytes>>;
type Running<T> = Pin<Box<dyn Future<Output = Result<T, VaultError>>>>;

/// The engine of a vault.
pub(crate) struct Engine<U> {
    pub(crate) sealed: Rc<Sealed<U>>,
    pub(crate) scheme: Rc<dyn Scheme>,
    deferred_store: Rc<DeferredStore>,
    /// Reads the payloads of stash and tree top that are not in memory, in a vault that keeps them on its trusted disk.
    payload_reader: Option<PayloadReader>,
    /// The batches in flight and those whose answers were not taken, in the order of their starts.
    batches: VecDeque<Batch>,
    /// Off-line steps in flight, in the order of their starts.
    running_steps: Vec<Running<()>>,
    /// The rewriting of buckets, if it is running.
    rewriting: Option<Running<()>>,
    /// The versions that were replaced since they were last taken.
    superseded: Vec<BucketVersion>,
    /// The buckets that got a new version since they were last taken.
    rewritten: Vec<Bucket>,
    /// The operations that the store has not finished, with what is needed to repeat them.
    unfinished: BTreeMap<OperationId, Unfinished>,
    /// True if the plaintext of unfinished writes is kept, so that they can be repeated. Only a replay needs it.
    replaying: bool,
    accesses: u64,
    emergencies: u64,
}

/// A batch that was started.
enum Batch {
    Running(Running<Answers>),
    /// A batch that was served, or refused.
    Served(Result<Answers, VaultError>),
}

enum Unfinished {
    Read,
    Write(Vec<Bucket>, Bytes),
}

/// The effects of a step.
pub(crate) struct Step {
    pub(crate) record: Record,
    /// The work, in the order of the announcements.
    pub(crate) work: Vec<(OperationId, Work)>,
}

impl<U: Untrusted> Engine<U> {
    pub(crate) fn new(
        sealed: Rc<Sealed<U>>,
        scheme: Rc<dyn Scheme>,
        (deferred_store, payload_reader): (Rc<DeferredStore>, Option<PayloadReader>),
        accesses: u64,
    ) -> Self {
        let emergencies = scheme.emergencies();
        Engine {
            sealed,
            scheme,
            deferred_store,
            payload_reader,
            batches: VecDeque::new(),
            running_steps: Vec::new(),
            rewriting: None,
            superseded: Vec::new(),
            rewritten: Vec::new(),
            unfinished: BTreeMap::new(),
            replaying: true,
            accesses,
            emergencies,
        }
    }

    /// Returns whether a batch is in flight.
    pub(crate) fn is_accessing(&self) -> bool {
        self.batches.iter().any(|batch| matches!(batch, Batch::Running(_)))
    }

    /// Off-line steps in flight.
    pub(crate) fn running_steps(&self) -> usize {
        self.running_steps.len()
    }

    /// Returns whether an off-line step is in flight.
    pub(crate) fn is_stepping(&self) -> bool {
        !self.running_steps.is_empty()
    }

    /// Returns whether buckets are being rewritten.
    pub(crate) fn is_rewriting(&self) -> bool {
        self.rewriting.is_some()
    }

    /// Returns the number of accesses since the vault was created, dummies included.
    pub(crate) fn accesses(&self) -> u64 {
        self.accesses
    }

    /// The number of batches in flight, and of those whose answers were not taken.
    pub(crate) fn batches(&self) -> usize {
        self.batches.len()
    }

    /// Takes the answers of the oldest batch, if it is served.
    pub(crate) fn take_answers(&mut self) -> Option<Result<Answers, VaultError>> {
        match self.batches.pop_front_if(|batch| matches!(batch, Batch::Served(_)))? {
            Batch::Served(answers) => Some(answers),
            Batch::Running(_) => None,
        }
    }

    /// Takes the versions that were replaced since the last call.
    pub(crate) fn take_superseded(&mut self) -> Vec<BucketVersion> {
        std::mem::take(&mut self.superseded)
    }

    /// Takes the buckets that got a new version since the last call.
    pub(crate) fn take_rewritten(&mut self) -> Vec<Bucket> {
        std::mem::take(&mut self.rewritten)
    }

    /// Buckets with a write that the store has not finished.
    pub(crate) fn unfinished_buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.unfinished
            .values()
            .flat_map(|unfinished| match unfinished {
                Unfinished::Write(buckets, _) => buckets.as_slice(),
                Unfinished::Read => &[],
            })
            .copied()
    }

    /// Applies an input. `answer` is what the store returned for a completed operation.
    ///
    /// # Errors
    /// Only errors after which the engine must be dropped. A refused batch is an answer, not an error.
    pub(crate) fn step(&mut self, input: Input, answer: Vec<u8>) -> Result<Step, VaultError> {
        let mut work = Vec::new();
        let mut announced = Vec::new();
        match &input {
            Input::Batch(calls) => {
                self.accesses += calls.len() as u64;
                self.read_for_calls(calls);
                let running = Box::pin(serve(self.scheme.clone(), calls.clone()));
                self.batches.push_back(Batch::Running(running));
            }
            Input::Step => {
                let scheme = self.scheme.clone();
                self.running_steps.push(Box::pin(async move { Ok(scheme.step().await?) }));
            }
            Input::Rewrite(buckets) => {
                if self.is_accessing() || self.is_stepping() || self.is_rewriting() {
                    return Err(VaultError::Damaged("its journal rewrites buckets that are in use".into()));
                }
                let rewriting = rewrite::rewrite(self.deferred_store.clone(), self.sealed.layout(), buckets);
                self.rewriting = Some(Box::pin(rewriting));
            }
            Input::Checkpoint(seed) => self.begin_checkpoint(*seed)?,
            Input::Complete(operation) => {
                self.unfinished.remove(operation);
                self.deferred_store.deliver(*operation, answer);
            }
            Input::Epoch(_, seed) => {
                self.scheme.reseed(*seed);
                // The caller has started the epoch. Unfinished writes are repeated under its key.
                for (operation, unfinished) in &self.unfinished {
                    if let Unfinished::Write(buckets, plaintext) = unfinished {
                        let assigned = self.sealed.assign(buckets)?;
                        self.rewritten.extend_from_slice(buckets);
                        let versions = record_superseded(&assigned, &mut self.superseded);
                        announced.push(announce_write(*operation, &versions));
                        work.push((*operation, Work::Write(versions, plaintext.clone())));
                    }
                }
            }
        }
        self.poll()?;
        let submitted = self.deferred_store.take_submitted();
        self.pad_reads(&input, &submitted)?;
        for (operation, request) in submitted {
            let (effect, todo) = self.plan(operation, request)?;
            announced.push(Announcement { operation, effect });
            work.push((operation, todo));
        }
        Ok(Step { record: Record { input, announced }, work })
    }

    /// Brings the engine into the state that a checkpoint holds.
    fn begin_checkpoint(&mut self, seed: Seed) -> Result<(), VaultError> {
        if self.is_accessing() || self.is_stepping() || self.is_rewriting() || !self.unfinished.is_empty() {
            return Err(VaultError::Damaged("its journal makes a checkpoint while operations run".into()));
        }
        self.sealed.drop_unused_epochs();
        self.scheme.reseed(seed);
        self.deferred_store.restart();
        Ok(())
    }

    /// Ends a replay. Drops the plaintext of unfinished writes, which have been sent to the store now.
    pub(crate) fn go_live(&mut self) {
        self.replaying = false;
        for unfinished in self.unfinished.values_mut() {
            if let Unfinished::Write(_, plaintext) = unfinished {
                *plaintext = Bytes::new();
            }
        }
    }

    fn plan(&mut self, operation: OperationId, request: Request) -> Result<(Effect, Work), VaultError> {
        match request {
            Request::Read(slots, buffer) => {
                let resolved = self.sealed.resolve(&slots);
                self.unfinished.insert(operation, Unfinished::Read);
                let effect = Effect::Read(resolved.iter().map(|at| (at.slot, at.version)).collect());
                Ok((effect, Work::Read(resolved, buffer)))
            }
            Request::Write(buckets, plaintext) => {
                let assigned = self.sealed.assign(&buckets)?;
                self.rewritten.extend_from_slice(&buckets);
                let versions = record_superseded(&assigned, &mut self.superseded);
                let retained = if self.replaying { plaintext.clone() } else { Bytes::new() };
                self.unfinished.insert(operation, Unfinished::Write(buckets, retained));
                Ok((announce_write(operation, &versions).effect, Work::Write(versions, plaintext)))
            }
        }
    }

    /// Polls everything in flight, in a fixed order, until nothing makes progress.
    fn poll(&mut self) -> Result<(), VaultError> {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let mut moved = false;
            // Off-line steps come before the batches, which may wait for what they bring. An earlier step or batch comes
            // before a later one, which may wait for it.
            let mut at = 0;
            while let Some(step) = self.running_steps.get_mut(at) {
                match step.as_mut().poll(&mut context) {
                    Poll::Pending => at += 1,
                    Poll::Ready(done) => {
                        drop(self.running_steps.remove(at));
                        moved = true;
                        done?;
                    }
                }
            }
            if let Some(rewriting) = &mut self.rewriting
                && let Poll::Ready(done) = rewriting.as_mut().poll(&mut context)
            {
                self.rewriting = None;
                moved = true;
                done?;
            }
            for batch in &mut self.batches {
                let Batch::Running(running) = batch else { continue };
                let Poll::Ready(served) = running.as_mut().poll(&mut context) else { continue };
                moved = true;
                match served {
                    Ok(_)
                    | Err(
                        VaultError::StashFull
                        | VaultError::OutOfRange { .. }
                        | VaultError::WrongLength { .. },
                    ) => *batch = Batch::Served(served),
                    Err(torn) => return Err(torn),
                }
            }
            if !moved {
                break;
            }
        }
        if self.scheme.emergencies() > self.emergencies {
            self.emergencies = self.scheme.emergencies();
            tracing::warn!(
                total = self.emergencies,
                "emergency eviction: an observer of the store learns that the stash was nearly full"
            );
        }
        Ok(())
    }
}

/// Records which versions were replaced, and returns the new ones.
fn record_superseded(assigned: &[VersionChange], superseded: &mut Vec<BucketVersion>) -> Vec<BucketVersion> {
    for step in assigned.iter().filter(|step| !step.old.is_never()) {
        superseded.push(BucketVersion { bucket: step.bucket, version: step.old });
    }
    assigned.iter().map(|step| step.bucket_version()).collect()
}

fn announce_write(operation: OperationId, versions: &[BucketVersion]) -> Announcement {
    let effect = Effect::Write(versions.iter().map(|at| (at.bucket, at.version)).collect());
    Announcement { operation, effect }
}

async fn serve(scheme: Rc<dyn Scheme>, calls: Vec<Call>) -> Result<Answers, VaultError> {
    let block_bytes = scheme.block_bytes();
    let mut read: Vec<Vec<u8>> = calls
        .iter()
        .map(|call| if matches!(call, Call::Read(_)) { vec![0; block_bytes] } else { Vec::new() })
        .collect();
    let mut batch: Vec<Access<'_>> = calls
        .iter()
        .zip(&mut read)
        .map(|(call, into)| match call {
            Call::Read(block) => Access::Read(*block, into),
            Call::Write(block, from) => Access::Write(*block, from),
            Call::Dummy => Access::Dummy,
        })
        .collect();
    scheme.access(&mut batch).await?;
    let answer = |(call, block): (&Call, Vec<u8>)| matches!(call, Call::Read(_)).then(|| Bytes::from(block));
    Ok(calls.iter().zip(read).map(answer).collect())
}
