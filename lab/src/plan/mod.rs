//! Plans: the costs of each scheme and block size for given objects, link, prices and memory, by a model.
//!
//! The model counts the mean traffic of schemes whose stores are full and in use. No run is simulated. The vault's own
//! additions are not counted: its catalogue of names, shipped checkpoints, and retries.

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
