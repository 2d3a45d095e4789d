//! The parts of a round of the parallel RAM, told from the messages that show. All of it is public.

use crate::stepped_scheme::BLOCK_BYTES;
use serde::Serialize;

/// A part of a round in which processors send each other messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Requests are sorted by block.
    Sort,
    /// Neighbours tell each other their blocks.
    Neighbours,
    /// All learn the new leaves.
    Spread,
    /// Paths are asked for.
    Ask,
    /// Blocks are sent to those who asked.
    Answer,
    /// Contents are passed on to further requests for the same block.
    PassOn,
    /// Blocks are routed to the processors of their new leaves.
    Route,
    /// Answers are sorted by those who asked.
    Back,
}

impl Phase {
    /// The word for it.
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

    /// Notes a step of messages of so many bytes between so many processors, and says what part it belongs to. A step
    /// in which each processor asks itself does not show, so the lengths say where answers are.
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
