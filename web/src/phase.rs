//! The parts of a round of the parallel RAM, derived from the visible messages. All of it is public.

use crate::stepped_scheme::BLOCK_BYTES;
use serde::Serialize;

/// A part of a round in which processors send each other messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Requests are sorted by block.
    Sort,
    /// Neighbours exchange their blocks.
    Neighbours,
    /// All learn the new leaves.
    Spread,
    /// Paths are requested.
    Ask,
    /// Blocks are sent to the requesters.
    Answer,
    /// Contents are passed on to further requests for the same block.
    PassOn,
    /// Blocks are routed to the processors of their new leaves.
    Route,
    /// Answers are sorted by requester.
    Back,
}

impl Phase {
    /// The word for the phase.
    pub fn word(self) -> &'static str {
        match self {
            Phase::Sort => "sort",
            Phase::Neighbours => "neighbours",
            Phase::Spread => "spread",
            Phase::Ask => "ask",
            Phase::Answer => "answer",
            Phase::PassOn => "pass-on",
            Phase::Route => "route",
            Phase::Back => "back",
        }
    }
}

/// The place within a round: the steps of messages so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    before_reading: u32,
    after_reading: u32,
    has_read: bool,
}

impl Place {
    /// Notes that memory is read.
    pub fn read(&mut self) {
        self.has_read = true;
    }

    /// Records a step of messages of this many bytes between this many processors, and returns its part. A step in
    /// which each processor asks itself does not show, so the lengths identify the answers.
    pub fn send(&mut self, processors: u32, bytes: usize) -> Phase {
        let bits = processors.ilog2();
        let sort = bits * (bits + 1) / 2;
        if !self.has_read {
            self.before_reading += 1;
            return match self.before_reading {
                nth if nth <= sort => Phase::Sort,
                nth if nth == sort + 1 => Phase::Neighbours,
                nth if nth <= sort + 1 + bits => Phase::Spread,
                _ => Phase::Ask,
            };
        }
        if bytes == BLOCK_BYTES as usize {
            return Phase::Answer;
        }
        self.after_reading += 1;
        match self.after_reading {
            nth if nth <= bits => Phase::PassOn,
            nth if nth <= 2 * bits => Phase::Route,
            _ => Phase::Back,
        }
    }
}
