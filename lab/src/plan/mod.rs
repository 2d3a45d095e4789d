//! A plan: for somebody's objects, link, prices and memory, which scheme and which blocks cost what, by a model.
//!
//! The model counts the traffic of schemes whose stores are full and at work, in the mean: no run is simulated. What a vault adds
//! to it is not counted: its catalogue of names, checkpoints that are shipped, and retries.

mod choices;
mod figures;
mod object_sizes;
mod offers;
mod table;
pub(crate) mod traffic;
mod work;

pub use choices::{Choice, Rejected, VaultMemory};
pub use figures::Figures;
pub use object_sizes::{ObjectSizes, ObjectSizesError};
pub use offers::{Offer, Order, Plan};
pub use traffic::{Flow, Traffic};
pub use work::{BLOCK_BYTES, Work};

#[cfg(test)]
mod tests;
