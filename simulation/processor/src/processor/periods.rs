//! Instructions without misses, a round at a time.
//!
//! Between two misses the same pattern repeats. Once the buffer holds nothing else, a round of such instructions does
//! what the round before it did, a fixed number of cycles later. A round has as many as fill whole buffers and whole
//! cycles. Two states a round apart are compared: if they differ only by a number of cycles, every further round
//! takes that number, and is skipped. So a gap of any length takes the time of a few rounds, and ends in the cycle in
//! which it would have ended step by step.

use std::collections::VecDeque;

/// An instruction in the reorder buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instruction {
    /// The instruction is done at this cycle.
    Done(u64),
    /// The instruction is done when the request with this number is answered.
    Waits(u64),
}

/// The instructions in flight, and the clocks of both ends.
#[derive(Clone, Debug, Default)]
pub(super) struct PipelineState {
    /// The instructions that were fetched and have not retired, oldest first.
    pub(super) buffer: VecDeque<Instruction>,
    /// The turn of the last fetch: `width` turns are a cycle.
    pub(super) fetched: u64,
    /// The turn of the last retirement.
    pub(super) retired: u64,
}

impl PipelineState {
    /// Retires the oldest instruction, if it is known when it is done. Whatever is fetched next comes no earlier.
    pub(super) fn retire(&mut self, width: u64) -> bool {
        let Some(Instruction::Done(done)) = self.buffer.front() else { return false };
        self.retired = (self.retired + 1).max((done + 1) * width);
        self.buffer.pop_front();
        // The place is free from the cycle on in which the instruction retires.
        self.fetched = self.fetched.max((self.retired / width) * width - 1);
        true
    }

    /// The cycles between an earlier state and this one, if nothing but the time differs.
    fn cycles_since(&self, before: &PipelineState, width: u64) -> Option<u64> {
        let turns = self.fetched - before.fetched;
        let cycles = turns / width;
        let is_later = |(then, now): (&Instruction, &Instruction)| match (then, now) {
            (Instruction::Done(then), Instruction::Done(now)) => *now == then + cycles,
            _ => false,
        };
        let is_same_round = turns == cycles * width
            && self.retired - before.retired == turns
            && self.buffer.len() == before.buffer.len()
            && before.buffer.iter().zip(&self.buffer).all(is_later);
        is_same_round.then_some(cycles)
    }

    /// Continues by whole rounds of this many cycles.
    fn advance(&mut self, cycles: u64, width: u64) {
        self.fetched += cycles * width;
        self.retired += cycles * width;
        for instruction in &mut self.buffer {
            if let Instruction::Done(done) = instruction {
                *done += cycles;
            }
        }
    }
}

/// The rounds of a gap between two misses.
#[derive(Debug)]
pub(super) struct RoundSkipper {
    width: u64,
    /// Instructions of a round.
    length: u64,
    /// The last state that can be compared, and the instructions that were left then.
    last_snapshot: Option<(u64, PipelineState)>,
}

impl RoundSkipper {
    /// The rounds of a processor of that width, with a buffer of this many instructions.
    pub(super) fn new(width: u64, reorder_buffer: usize) -> Self {
        RoundSkipper { width, length: width.saturating_mul(reorder_buffer as u64), last_snapshot: None }
    }

    /// Instructions of a round.
    #[cfg(test)]
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Instructions to the next one, of those that are left before a miss, from which on rounds may be skipped.
    pub(super) fn rest_of_round(&self, left: u32) -> u64 {
        let left = u64::from(left);
        let rest = left % self.length;
        if rest == 0 { left.min(self.length) } else { rest }
    }

    /// Skips whole rounds of the instructions that are left before a miss, and returns how many instructions those
    /// have. No fetch comes before the turn `room`, and the last one of a round that is skipped comes before the turn
    /// `limit`.
    pub(super) fn skip(&mut self, state: &mut PipelineState, left: u32, room: u64, limit: u64) -> u32 {
        let left = u64::from(left);
        if left < self.length.saturating_mul(2) || !left.is_multiple_of(self.length) {
            return 0;
        }
        let before = self.last_snapshot.replace((left, state.clone()));
        // A fetch that had to wait for room within the round would not wait again.
        let before =
            before.filter(|(then, before)| *then == left + self.length && room <= before.fetched + 1);
        let Some(cycles) = before.and_then(|(_, before)| state.cycles_since(&before, self.width)) else {
            return 0;
        };
        let until_limit = limit.saturating_sub(state.fetched + 1) / (cycles * self.width).max(1);
        let rounds = (left / self.length).min(until_limit);
        if rounds > 0 {
            state.advance(rounds * cycles, self.width);
            self.last_snapshot = None;
        }
        // No more than there were.
        (rounds * self.length) as u32
    }
}
