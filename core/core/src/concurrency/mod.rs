//! The shared state of the futures of one scheme: locks in first-in, first-out order, and the poison flag.

pub(crate) mod epoch;
pub(crate) mod exclusive;
pub mod fifo_lock;
pub(crate) mod poison;
