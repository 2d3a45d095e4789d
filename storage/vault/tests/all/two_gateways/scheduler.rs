//! The scheduler: every request of two gateways stops before its effect and before its answer, and only the scheduler
//! lets it continue. For every possible interleaving of two gateways there is some seed.
//!
//! The disks need no scheduling. Only its own gateway sees what a disk does, and there is a request right before or
//! after it.

use crate::support::rng::TestRng;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// The name of one of the two gateways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GatewayId {
    First,
    Second,
}

/// A request that waits to be scheduled.
struct WaitingRequest {
    of: GatewayId,
    go: oneshot::Sender<()>,
    /// The turn before which the request is not scheduled.
    not_before: u64,
}

/// The waiting requests. Clones share them.
#[derive(Clone, Default)]
pub struct Scheduler {
    waiting: Rc<RefCell<Vec<WaitingRequest>>>,
    came: Rc<Notify>,
}

/// The rules by which a scheduler chooses.
pub struct SchedulePattern {
    /// The maximum number of consecutive turns of one gateway.
    max_consecutive: u64,
    /// The percentage of requests that are delayed for long.
    held_up: u64,
    /// True if one gateway's requests are scheduled in the order in which they came.
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
    /// If nothing can continue.
    pub async fn run_turns<T>(
        &self,
        pattern: &SchedulePattern,
        rng: &mut TestRng,
        done: impl Future<Output = T>,
    ) -> (T, u64) {
        let mut turns = 0;
        let running = async {
            let mut stint: (Option<GatewayId>, u64) = (None, 0);
            loop {
                // Time passes only when nothing else can run: everything waits now.
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
                () = running => unreachable!("turns are given until it is"),
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
