//! Turns: every request of two gateways stops before its effect and before its answer, and a scheduler alone lets it go
//! on. Whichever way two gateways can come between each other, some seed takes.
//!
//! The disks need no turns of their own. Nobody but its gateway sees what a disk does, and a request stands right before
//! it or behind it.

use crate::support::chance::Chance;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// The name of one of two gateways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    One,
    Other,
}

/// A request that waits for its turn.
struct Ticket {
    of: Who,
    go: oneshot::Sender<()>,
    /// The turn before which it does not come.
    not_before: u64,
}

/// The requests that wait; clones share them.
#[derive(Clone, Default)]
pub struct Turns {
    waiting: Rc<RefCell<Vec<Ticket>>>,
    came: Rc<Notify>,
}

/// The habits of a scheduler.
pub struct Habits {
    /// The most turns that one gateway has in a row.
    longest_stint: u64,
    /// Requests, in a hundred, that are held up for long.
    held_up: u64,
    /// True if of several requests of one gateway the first that came goes first.
    in_order: bool,
}

impl Habits {
    pub fn draw(chance: &mut Chance) -> Self {
        Habits {
            longest_stint: chance.one_of(&[1, 8, 60, 400]),
            held_up: chance.one_of(&[0, 0, 2, 10]),
            in_order: chance.percent(30),
        }
    }
}

impl Turns {
    /// Waits for a turn.
    pub async fn wait(&self, of: Who) {
        let (go, gone) = oneshot::channel();
        self.waiting.borrow_mut().push(Ticket { of, go, not_before: 0 });
        self.came.notify_one();
        let _ = gone.await;
    }

    /// Gives turns until `done` is; returns how many it gave.
    ///
    /// # Panics
    /// If nothing goes on any more.
    pub async fn give<T>(
        &self,
        habits: &Habits,
        chance: &mut Chance,
        done: impl Future<Output = T>,
    ) -> (T, u64) {
        let mut turns = 0;
        let giving = async {
            let mut stint: (Option<Who>, u64) = (None, 0);
            loop {
                // Time goes on only when nothing else does: everything waits now.
                tokio::time::sleep(Duration::from_millis(1)).await;
                let Some(at) = self.choose(habits, chance, turns, &mut stint) else {
                    self.came.notified().await;
                    continue;
                };
                let ticket = self.waiting.borrow_mut().remove(at);
                turns += 1;
                let _ = ticket.go.send(());
            }
        };
        let day = Duration::from_secs(24 * 3600);
        let done = tokio::time::timeout(day, async {
            tokio::select! {
                biased;
                done = done => done,
                () = giving => unreachable!("turns are given until it is"),
            }
        });
        (done.await.expect("something goes on"), turns)
    }

    fn choose(
        &self,
        habits: &Habits,
        chance: &mut Chance,
        turn: u64,
        (who, left): &mut (Option<Who>, u64),
    ) -> Option<usize> {
        let mut waiting = self.waiting.borrow_mut();
        waiting.retain(|ticket| !ticket.go.is_closed());
        if habits.held_up > 0 {
            for ticket in waiting.iter_mut().filter(|ticket| ticket.not_before == 0) {
                let late = if chance.percent(habits.held_up) { chance.magnitude(10..=600) } else { 0 };
                ticket.not_before = turn + late;
            }
        }
        let ready = |of: &dyn Fn(&Ticket) -> bool| -> Vec<usize> {
            let is_ready = |(_, ticket): &(usize, &Ticket)| of(ticket);
            waiting.iter().enumerate().filter(is_ready).map(|(at, _)| at).collect()
        };
        if *left == 0 {
            *who = Some(chance.one_of(&[Who::One, Who::Other]));
            *left = chance.within(1..=habits.longest_stint);
        }
        *left -= 1;
        let is_due = |ticket: &Ticket| ticket.not_before <= turn;
        let mut choice = ready(&|ticket| is_due(ticket) && Some(ticket.of) == *who);
        if choice.is_empty() {
            *left = 0;
            choice = ready(&is_due);
        }
        if choice.is_empty() {
            choice = ready(&|_| true);
        }
        match choice.len() as u64 {
            0 => None,
            _ if habits.in_order => choice.first().copied(),
            some => Some(choice[chance.below(some) as usize]),
        }
    }
}
