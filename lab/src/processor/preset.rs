//! The choices that decide the figures. There are three sets: as IR-ORAM's authors ran it, as its text describes it,
//! and as a machine would be.

use ameles_processor::trace::pages::Order;
use ameles_simulator::tree::filled::Contents;
use ameles_simulator::tree::steady_state::History;
use std::fmt::{self, Display, Formatter};

/// A set of choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preset {
    /// The choices of the logs that IR-ORAM's authors published with their simulator: one channel, 24 levels, and
    /// virtual addresses. The tree begins packed towards its leaves.
    Authors,
    /// The choices of the paper's text: four channels, 25 levels, and a tree whose every block was accessed once.
    Paper,
    /// The choices of a machine that has run for long: random page frames, and a tree that has settled.
    Machine,
}

/// The places of a program's pages in the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameOrder {
    /// Virtual addresses, modulo the memory.
    Virtual,
    /// Frames in the order in which pages are touched first.
    FirstTouch,
    /// Random frames.
    Random,
}

/// The state of the tree before the first access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Every block is as near to the leaves as there is room.
    Packed,
    /// Every block was accessed once, in a random order.
    Filled,
    /// Random accesses continued until background evictions settled.
    Settled,
    /// Every block was accessed once, then the program ran once.
    Own,
}

impl Preset {
    /// The state of the tree before the first access.
    pub(super) fn start(self) -> Start {
        match self {
            Preset::Authors => Start::Packed,
            Preset::Paper => Start::Filled,
            Preset::Machine => Start::Settled,
        }
    }
}

impl Display for Preset {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Preset::Authors => "authors",
            Preset::Paper => "paper",
            Preset::Machine => "machine",
        })
    }
}

impl Display for FrameOrder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FrameOrder::Virtual => "virtual",
            FrameOrder::FirstTouch => "first-touch",
            FrameOrder::Random => "random",
        })
    }
}

impl Display for Start {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Start::Packed => "packed",
            Start::Filled => "filled",
            Start::Settled => "settled",
            Start::Own => "own",
        })
    }
}

impl FrameOrder {
    /// The order of the frames in a memory.
    pub(super) fn order(self, seed: u64) -> Order {
        match self {
            FrameOrder::Virtual => Order::Virtual,
            FrameOrder::FirstTouch => Order::FirstTouch,
            FrameOrder::Random => Order::Random { seed },
        }
    }
}

impl Start {
    /// The contents with which a tree is drawn.
    pub(super) fn contents(self) -> Contents {
        Contents::Steady(match self {
            Start::Packed => History::Packed,
            Start::Filled | Start::Own => History::Filled,
            Start::Settled => History::Random,
        })
    }
}
