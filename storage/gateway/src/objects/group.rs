//! Queued changes, and the groups in which they become durable.

use crate::catalogue::row_shares::row_bytes;
use crate::catalogue::rows::ChangedRows;
use crate::catalogue::{Catalogue, Change, PlannedChanges};
use crate::device::{DeviceError, RowChange};
use crate::error::Error;
use crate::objects::failed_commit::FailedCommit;
use parking_lot::Mutex;
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::oneshot;

/// The queue of changes.
#[derive(Default)]
pub(crate) struct Commits {
    pub(super) waiting: Mutex<VecDeque<Box<dyn PlannedChange>>>,
    /// The lock of a group, from its plans until it is durable and in memory.
    pub(super) turn: tokio::sync::Mutex<Option<FailedCommit>>,
}

/// A queued change, with any result type.
pub(super) trait PlannedChange: Send {
    fn plan(self: Box<Self>, catalogue: &Catalogue) -> (Vec<Change>, Box<dyn CommitWaiter>);
    fn refuse(self: Box<Self>, failure: DeviceError);
}

/// A planned change, whose caller waits.
pub(super) trait CommitWaiter: Send {
    /// Notifies the caller, with the outcome of all commits that the plan relied on.
    fn notify(self: Box<Self>, durable: Result<(), DeviceError>);
    /// Replaces the outcome by a refusal.
    fn with_refusal(self: Box<Self>, refusal: Error) -> Box<dyn CommitWaiter>;
}

/// The result of a plan: an outcome, a refusal, or a panic.
pub(super) type PlanResult<T> = Result<Result<T, Error>, Box<dyn Any + Send>>;
pub(super) type ResultSender<T> = oneshot::Sender<PlanResult<T>>;

pub(super) struct QueuedPlan<T, F>(pub(super) F, pub(super) ResultSender<T>);

struct PlannedAnswer<T>(PlanResult<T>, ResultSender<T>);

impl<T, F> PlannedChange for QueuedPlan<T, F>
where
    T: Send + 'static,
    F: FnOnce(&Catalogue) -> Result<(Vec<Change>, T), Error> + Send,
{
    fn plan(self: Box<Self>, catalogue: &Catalogue) -> (Vec<Change>, Box<dyn CommitWaiter>) {
        let QueuedPlan(plan, caller) = *self;
        // A plan only reads, so a panic in it leaves nothing behind for the others of its group.
        let (changes, result) = match catch_unwind(AssertUnwindSafe(|| plan(catalogue))) {
            Ok(Ok((changes, outcome))) => (changes, Ok(Ok(outcome))),
            Ok(Err(refusal)) => (Vec::new(), Ok(Err(refusal))),
            Err(panic) => (Vec::new(), Err(panic)),
        };
        (changes, Box::new(PlannedAnswer(result, caller)))
    }

    fn refuse(self: Box<Self>, failure: DeviceError) {
        let QueuedPlan(_, caller) = *self;
        // The caller may be gone.
        drop(caller.send(Ok(Err(failure.into()))));
    }
}

impl<T: Send + 'static> CommitWaiter for PlannedAnswer<T> {
    fn notify(self: Box<Self>, durable: Result<(), DeviceError>) {
        let PlannedAnswer(result, caller) = *self;
        let result = result.map(|outcome| durable.map_err(Error::from).and(outcome));
        // The caller may be gone.
        drop(caller.send(result));
    }

    fn with_refusal(self: Box<Self>, refusal: Error) -> Box<dyn CommitWaiter> {
        Box::new(PlannedAnswer(Ok(Err::<T, _>(refusal)), self.1))
    }
}

/// Planned changes that become durable together.
#[derive(Default)]
pub(super) struct Group {
    pub(super) changes: Vec<PlannedChanges>,
    pub(super) new_rows: Vec<RowChange>,
    /// The rows that undo the group.
    pub(super) old_rows: Vec<RowChange>,
    /// The largest number of bytes that the group may add to the table of rows.
    pub(super) growth: u64,
    callers: Vec<Box<dyn CommitWaiter>>,
}

impl Group {
    /// Adds a change that was planned after those before it.
    pub(super) fn add(&mut self, next: Group) {
        self.changes.extend(next.changes);
        // Of several rows of one key the last one wins. This is the newest of the new rows, and the oldest of the old
        // rows.
        self.new_rows.extend(next.new_rows);
        self.old_rows.splice(0..0, next.old_rows);
        self.growth = self.growth.saturating_add(next.growth);
        self.callers.extend(next.callers);
    }

    pub(super) fn notify(self, durable: &Result<(), DeviceError>) {
        self.callers.into_iter().for_each(|caller| caller.notify(durable.clone()));
    }
}

/// Returns the largest number of bytes that a changed row adds to the table, for any earlier contents of the row.
fn max_bytes((key, value): &RowChange) -> u64 {
    value.as_ref().map_or(0, |value| row_bytes(key, value))
}

/// Plans one change, with this many bytes free in the table of rows: a group of one.
pub(super) fn plan(queued: Box<dyn PlannedChange>, catalogue: &Catalogue, free: u64) -> Group {
    let (changes, caller) = queued.plan(catalogue);
    if changes.is_empty() {
        return Group { callers: vec![caller], ..Group::default() };
    }
    let ChangedRows { new_rows, old_rows, planned } = catalogue.plan(changes);
    if !catalogue.row_shares.allow(&planned.growth, free) {
        return Group { callers: vec![caller.with_refusal(Error::OverRowShare)], ..Group::default() };
    }
    Group {
        growth: new_rows.iter().map(max_bytes).sum(),
        changes: vec![planned],
        new_rows,
        old_rows,
        callers: vec![caller],
    }
}
