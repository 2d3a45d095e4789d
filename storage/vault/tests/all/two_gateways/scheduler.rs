//! Turns: every request of two gateways stops before its effect and before its answer, and a scheduler alone lets it go
//! on. Whichever way two gateways can come between each other, some seed takes.
//!
//! The disks need no turns of their own. Nobody but its gateway sees what a disk does, and a request stands right before
//! it or behind it.

use crate::support::rng::TestRng;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// The name of one of two gateways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GatewayId {
    First,
    Second,
}

/// A request that waits for its turn.
struct WaitingRequest {
    of: GatewayId,
    go: oneshot::Sender<()>,
    /// The turn before which it does not come.
    not_before: u64,
}

/// The requests that wait; clones share them.
#[derive(Clone, Default)]
pub struct Scheduler {
    waiting: Rc<RefCell<Vec<WaitingRequest>>>,
    came: Rc<Notify>,
}

/// The habits of a scheduler.
pub struct SchedulePattern {
    /// The most turns that one gateway has in a row.
    max_consecutive: u64,
    /// Requests, in a hundred, that are held up for long.
    held_up: u64,
    /// True if of several requests of one gateway the first that came goes first.
    in_order: bool,
}

impl SchedulePattern {
    pub fn draw(rng: &mut TestRng) -> Self {
        SchedulePattern {
            max_consecutive: rng.one_of(&[1, 8, 60, 400]),
            held_up: rng.one_of(&[0, 0, 2, 10]),
            in_order: rng.percent(30),
        }
    }
}

impl Scheduler {
    /// Waits for a turn.
    pub async fn wait(&self, of: GatewayId) {
        let (go, gone) = oneshot::channel();
        self.waiting.borrow_mut().push(WaitingRequest { of, go, not_before: 0 });
        self.came.notify_one();
        let _ = gone.await;
    }

    /// Gives turns until `done` is; returns how many it gave.
    ///
    /// # Panics
    /// If nothing goes on any more.
    pub async fn give<T>(
        &self,
        pattern: &SchedulePattern,
        rng: &mut TestRng,
        done: impl Future<Output = T>,
    ) -> (T, u64) {
        let mut turns = 0;
        let giving = async {
            let mut stint: (Option<GatewayId>, u64) = (None, 0);
            loop {
                // Time goes on only when nothing else does: everything waits now.
                tokio::time::sleep(Duration::from_millis(1)).await;
                let Some(at) = self.choose(pattern, rng, turns, &mut stint) else {
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
        pattern: &SchedulePattern,
        rng: &mut TestRng,
        turn: u64,
        (gateway_id, left): &mut (Option<GatewayId>, u64),
    ) -> Option<usize> {
        let mut waiting = self.waiting.borrow_mut();
        waiting.retain(|ticket| !ticket.go.is_closed());
        if pattern.held_up > 0 {
            for ticket in waiting.iter_mut().filter(|ticket| ticket.not_before == 0) {
                let late = if rng.percent(pattern.held_up) { rng.magnitude(10..=600) } else { 0 };
                ticket.not_before = turn + late;
            }
        }
        let ready = |of: &dyn Fn(&WaitingRequest) -> bool| -> Vec<usize> {
            let is_ready = |(_, ticket): &(usize, &WaitingRequest)| of(ticket);
            waiting.iter().enumerate().filter(is_ready).map(|(at, _)| at).collect()
        };
        if *left == 0 {
            *gateway_id = Some(rng.one_of(&[GatewayId::First, GatewayId::Second]));
            *left = rng.within(1..=pattern.max_consecutive);
        }
        *left -= 1;
        let is_due = |ticket: &WaitingRequest| ticket.not_before <= turn;
        let mut choice = ready(&|ticket| is_due(ticket) && Some(ticket.of) == *gateway_id);
        if choice.is_empty() {
            *left = 0;
            choice = ready(&is_due);
        }
        if choice.is_empty() {
            choice = ready(&|_| true);
        }
        match choice.len() as u64 {
            0 => None,
            _ if pattern.in_order => choice.first().copied(),
            some => Some(choice[rng.below(some) as usize]),
        }
    }
}
