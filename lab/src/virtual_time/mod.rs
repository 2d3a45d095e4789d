//! Virtual time: schemes run over a simulated object store behind a simulated link, to the nanosecond and as fast
//! as the machine computes. The same run takes the same virtual time on every machine.

mod clock;
mod network;
mod store;

pub use clock::{Clock, Stalled};
pub use network::{LinkModel, Network, RequestKind, ServerTime};
pub use store::{RequestMapping, SimulatedStore, StoreShape};
