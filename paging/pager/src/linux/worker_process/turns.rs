//! The order of turns between two sides: who begins which, and who waits for whom.
//!
//! One side asks; both begin the turns in their order, each turn on one side only. It is the same over whatever numbers
//! both can look at, so that a model of memory can go through it.

use ameles_seal::pages::{JobStatus, PageJob, Ticket};
use std::sync::atomic::Ordering;

/// Looks at a turn of the other side before it is asked whether that side has ended. A look takes some forty
/// nanoseconds, a turn a microsecond.
const LOOKS_BEFORE_DOUBT: u32 = 1 << 14;

/// A number that both sides look at.
pub(super) trait Number {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    fn exchange(&self, now: u64, then: u64) -> Result<u64, u64>;
}

/// The memory that both sides look at, with as many lanes as there is room for.
pub(super) trait Shared {
    type Number: Number;

    /// Turns that were asked for.
    fn asked(&self) -> &Self::Number;

    /// Turns that were begun.
    fn begun(&self) -> &Self::Number;

    /// Twice the last turn of this turn's lane that is done, and 1 if it was forged.
    fn done(&self, turn: Ticket) -> &Self::Number;

    fn room(&self) -> usize;

    /// Writes what a turn is to do. No other side looks at it, or at its lane.
    fn write(&self, turn: Ticket, carry: PageJob);

    /// The task of a turn. No side writes it.
    fn read(&self, turn: Ticket) -> PageJob;

    /// Lets time go by between two looks at a turn of the other side.
    fn pause(&self, looks: u32);
}

/// A side: its work, and what it knows of the other.
pub(super) trait Side {
    /// Does what a turn is to do. `false` if a page did not open, or the one that it should seal had not.
    fn act(&mut self, turn: Ticket, carry: &PageJob) -> bool;

    /// Does the rest of a turn of which the other side, which has ended, had put something into shared memory. `false`
    /// if it had not.
    fn ends(&mut self, turn: Ticket, carry: &PageJob) -> bool;

    /// Tells whether the other side has ended.
    fn has_ended(&self) -> bool;
}

/// Asks for a turn. Those that used its lane before are done.
pub(super) fn ask(shared: &impl Shared, turn: Ticket, carry: PageJob) {
    shared.write(turn, carry);
    shared.asked().store(turn, Ordering::Release);
}

/// The outcome of a turn, until its lane is used again.
pub(super) fn outcome(shared: &impl Shared, turn: Ticket) -> JobStatus {
    match shared.done(turn).load(Ordering::Acquire) {
        done if done == turn * 2 => JobStatus::Done,
        done if done == turn * 2 + 1 => JobStatus::Forged,
        _ => JobStatus::Pending,
    }
}

/// Takes the next turn that nobody has begun.
pub(super) fn begin(shared: &impl Shared) -> Option<Ticket> {
    let mut last = shared.begun().load(Ordering::Relaxed);
    while last < shared.asked().load(Ordering::Acquire) {
        match shared.begun().exchange(last, last + 1) {
            Ok(_) => return Some(last + 1),
            Err(now) => last = now,
        }
    }
    None
}

/// Does the next turn that nobody has begun. `false` if there is none.
pub(super) fn do_next(shared: &impl Shared, side: &mut impl Side) -> bool {
    let Some(turn) = begin(shared) else { return false };
    do_turn(shared, side, turn);
    true
}

/// Does what the other side had begun when it ended, and every turn after it.
pub(super) fn do_all_again(shared: &impl Shared, side: &mut impl Side) {
    let begun = shared.begun().load(Ordering::Relaxed);
    for turn in begun.saturating_sub(shared.room() as u64 / 2).max(1)..=begun {
        if outcome(shared, turn) == JobStatus::Pending {
            take_over(shared, side, turn);
        }
    }
    while do_next(shared, side) {}
}

/// Does the turn that the other side had begun when it ended.
fn take_over(shared: &impl Shared, side: &mut impl Side, turn: Ticket) {
    // It is not done, so that what it is to do is still there.
    if side.ends(turn, &shared.read(turn)) {
        shared.done(turn).store(turn * 2, Ordering::Release);
    } else {
        do_turn(shared, side, turn);
    }
}

fn do_turn(shared: &impl Shared, side: &mut impl Side, turn: Ticket) {
    let carry = shared.read(turn);
    for before in carry.waits_for(turn) {
        let mut looks = 0u32;
        while outcome(shared, before) == JobStatus::Pending {
            looks = looks.wrapping_add(1);
            shared.pause(looks);
            if looks.is_multiple_of(LOOKS_BEFORE_DOUBT) && side.has_ended() {
                // Every turn before this one was begun, and this side begins one at a time.
                take_over(shared, side, before);
            }
        }
    }
    let forged = !side.act(turn, &carry);
    shared.done(turn).store(turn * 2 + u64::from(forged), Ordering::Release);
}

#[cfg(test)]
mod model;
