//! Instructions without misses, a period at a time.
//!
//! Between two misses the same pattern repeats. Once the buffer holds nothing else, a *period* of such instructions
//! does what the period before it did, a fixed number of cycles later. A period has as many instructions as fill whole
//! buffers and whole cycles. Two states a period apart are compared. If they differ only by a number of cycles, every
//! further period takes that number, and is skipped. So a gap of any length takes the time of a few periods. It ends in
//! the same cycle as step by step.

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
    /// The slot of the last fetch: `width` fetch slots are a cycle.
    pub(super) fetched: u64,
    /// The slot of the last retirement, counted in the same way.
    pub(super) retired: u64,
}

impl PipelineState {
    /// Retires the oldest instruction, if it is known when it is done. Whatever is fetched next comes no earlier.
    pub(super) fn retire(&mut self, width: u64) -> bool {
        let Some(Instruction::Done(done)) = self.buffer.front() else { return false };
        self.retired = (self.retired + 1).max((done + 1) * width);
        self.buffer.pop_front();
        // The entry is free from the cycle in which the instruction retires.
        self.fetched = self.fetched.max((self.retired / width) * width - 1);
        true
    }

    /// The cycles between an earlier state and this one, if nothing but the time differs.
    fn cycles_since(&self, before: &PipelineState, width: u64) -> Option<u64> {
        let fetches = self.fetched - before.fetched;
        let cycles = fetches / width;
        let is_later = |(then, now): (&Instruction, &Instruction)| match (then, now) {
            (Instruction::Done(then), Instruction::Done(now)) => *now == then + cycles,
            _ => false,
        };
        let is_same_period = fetches == cycles * width
            && self.retired - before.retired == fetches
            && self.buffer.len() == before.buffer.len()
            && before.buffer.iter().zip(&self.buffer).all(is_later);
        is_same_period.then_some(cycles)
    }

    /// Continues by whole periods of this many cycles.
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

/// The periods of a gap between two misses.
#[derive(Debug)]
pub(super) struct PeriodSkipper {
    width: u64,
    /// The number of instructions of a period.
    length: u64,
    /// The last state that can be compared, and the instructions that were left at that time.
    last_snapshot: Option<(u64, PipelineState)>,
}

impl PeriodSkipper {
    /// The periods of a processor of that width, with a buffer of this many instructions.
    pub(super) fn new(width: u64, reorder_buffer: usize) -> Self {
        PeriodSkipper { width, length: width.saturating_mul(reorder_buffer as u64), last_snapshot: None }
    }

    /// The number of instructions of a period.
    #[cfg(test)]
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Returns how many of the `left` instructions before a miss are fetched before periods may be skipped.
    pub(super) fn rest_of_period(&self, left: u32) -> u64 {
        let left = u64::from(left);
        let rest = left % self.length;
        if rest == 0 { left.min(self.length) } else { rest }
    }

    /// Skips whole periods of the instructions that are left before a miss. Returns the number of skipped instructions.
    /// No fetch comes before the fetch slot `room`. The last fetch of a skipped period comes before the fetch slot
    /// `limit`.
    pub(super) fn skip(&mut self, state: &mut PipelineState, left: u32, room: u64, limit: u64) -> u32 {
        let left = u64::from(left);
        if left < self.length.saturating_mul(2) || !left.is_multiple_of(self.length) {
            return 0;
        }
        let before = self.last_snapshot.replace((left, state.clone()));
        // A fetch that had to wait for room within the period would not wait again.
        let before =
            before.filter(|(then, before)| *then == left + self.length && room <= before.fetched + 1);
        let Some(cycles) = before.and_then(|(_, before)| state.cycles_since(&before, self.width)) else {
            return 0;
        };
        let until_limit = limit.saturating_sub(state.fetched + 1) / (cycles * self.width).max(1);
        let periods = (left / self.length).min(until_limit);
        if periods > 0 {
            state.advance(periods * cycles, self.width);
            self.last_snapshot = None;
        }
        // No more than there were.
        (periods * self.length) as u32
    }
}
