//! The requests to a store, as its provider sees them.

use ameles_store::{MeterReader, Touches};

/// See the module.
#[derive(Clone)]
pub struct Provider {
    /// The counts and the amounts.
    pub meter: MeterReader,
    /// The places.
    pub touches: Touches,
}
