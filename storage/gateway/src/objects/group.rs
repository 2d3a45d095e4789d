//! Changes that are asked for, and the groups that they are made durable in.

use crate::catalogue::row_shares::row_bytes;
use crate::catalogue::rows::ChangedRows;
use crate::catalogue::{Catalogue, Change, Planned};
use crate::device::{DeviceError, RowChange};
use crate::error::Error;
use crate::objects::uncertain::Uncertain;
use parking_lot::Mutex;
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::oneshot;

/// The changes that are asked for.
#[derive(Default)]
pub(crate) struct Commits {
    pub(super) waiting: Mutex<VecDeque<Box<dyn Asked>>>,
    /// Held from the plans of a group until it is durable and in memory.
    pub(super) turn: tokio::sync::Mutex<Option<Uncertain>>,
}

/// A change that is asked for, of whatever outcome.
pub(super) trait Asked: Send {
    fn plan(self: Box<Self>, catalogue: &Catalogue) -> (Vec<Change>, Box<dyn Told>);
    fn refuse(self: Box<Self>, failure: DeviceError);
}

/// A change that was planned, and whose caller is to be told.
pub(super) trait Told: Send {
    /// Tells the caller what came of all that the plan relied on.
    fn tell(self: Box<Self>, durable: Result<(), DeviceError>);
    /// Has the caller told of a refusal instead of the outcome.
    fn refused(self: Box<Self>, refusal: Error) -> Box<dyn Told>;
}

/// The end of a plan: an outcome, a refusal, or a panic.
pub(super) type Ending<T> = Result<Result<T, Error>, Box<dyn Any + Send>>;
pub(super) type Caller<T> = oneshot::Sender<Ending<T>>;

pub(super) struct Request<T, F>(pub(super) F, pub(super) Caller<T>);

struct Answer<T>(Ending<T>, Caller<T>);

impl<T, F> Asked for Request<T, F>
where
    T: Send + 'static,
    F: FnOnce(&Catalogue) -> Result<(Vec<Change>, T), Error> + Send,
{
    fn plan(self: Box<Self>, catalogue: &Catalogue) -> (Vec<Change>, Box<dyn Told>) {
        let Request(plan, caller) = *self;
        // A plan only reads, so a panic of one leaves nothing behind for the others of its group.
        let (changes, ending) = match catch_unwind(AssertUnwindSafe(|| plan(catalogue))) {
            Ok(Ok((changes, outcome))) => (changes, Ok(Ok(outcome))),
            Ok(Err(refusal)) => (Vec::new(), Ok(Err(refusal))),
            Err(panic) => (Vec::new(), Err(panic)),
        };
        (changes, Box::new(Answer(ending, caller)))
    }

    fn refuse(self: Box<Self>, failure: DeviceError) {
        let Request(_, caller) = *self;
        // A caller that has gone away is told nothing.
        drop(caller.send(Ok(Err(failure.into()))));
    }
}

impl<T: Send + 'static> Told for Answer<T> {
    fn tell(self: Box<Self>, durable: Result<(), DeviceError>) {
        let Answer(ending, caller) = *self;
        let ending = ending.map(|outcome| durable.map_err(Error::from).and(outcome));
        // A caller that has gone away is told nothing.
        drop(caller.send(ending));
    }

    fn refused(self: Box<Self>, refusal: Error) -> Box<dyn Told> {
        Box::new(Answer(Ok(Err::<T, _>(refusal)), self.1))
    }
}

/// Planned changes that are made durable together.
#[derive(Default)]
pub(super) struct Group {
    pub(super) changes: Vec<Planned>,
    pub(super) forth: Vec<RowChange>,
    /// The rows that take all of it back.
    pub(super) back: Vec<RowChange>,
    /// The most bytes that it may add to the table of rows.
    pub(super) growth: u64,
    callers: Vec<Box<dyn Told>>,
}

impl Group {
    /// Takes in a change that was planned upon those before it.
    pub(super) fn add(&mut self, next: Group) {
        self.changes.extend(next.changes);
        // Of several rows of one key the last one wins: forth the newest, back the oldest.
        self.forth.extend(next.forth);
        self.back.splice(0..0, next.back);
        self.growth = self.growth.saturating_add(next.growth);
        self.callers.extend(next.callers);
    }

    pub(super) fn tell(self, durable: &Result<(), DeviceError>) {
        self.callers.into_iter().for_each(|caller| caller.tell(durable.clone()));
    }
}

/// The most bytes that a change of a row adds to the table, whatever the row was before.
fn max_bytes((key, value): &RowChange) -> u64 {
    value.as_ref().map_or(0, |value| row_bytes(key, value))
}

/// Plans a change upon the catalogue, where so many bytes are free in the table of rows: a group of one.
pub(super) fn plan(asked: Box<dyn Asked>, catalogue: &Catalogue, free: u64) -> Group {
    let (changes, caller) = asked.plan(catalogue);
    if changes.is_empty() {
        return Group { callers: vec![caller], ..Group::default() };
    }
    let ChangedRows { forth, back, planned } = catalogue.plan(changes);
    if !catalogue.row_shares.allow(&planned.growth, free) {
        return Group { callers: vec![caller.refused(Error::OverRowShare)], ..Group::default() };
    }
    Group {
        growth: forth.iter().map(max_bytes).sum(),
        changes: vec![planned],
        forth,
        back,
        callers: vec![caller],
    }
}
