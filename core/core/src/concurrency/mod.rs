//! How the futures of one scheme share its state: in turns, and never after one of them was dropped half-way.

pub(crate) mod epoch;
pub mod fifo_lock;
pub(crate) mod poison;
