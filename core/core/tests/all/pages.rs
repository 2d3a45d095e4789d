//! The parameters of the pager's schemes in these tests, by their sizes.

use ameles_core::schemes::detworam::DetWoParameters;
use ameles_core::schemes::eager::EagerParameters;
use ameles_core::schemes::plain::PlainParameters;

/// The bytes of a page and the largest batch.
pub struct Pages {
    pub block_bytes: u32,
    pub max_batch: u32,
}

impl Pages {
    pub fn areas(&self, capacity: u64, holding: u64) -> DetWoParameters {
        let Pages { block_bytes, max_batch } = *self;
        DetWoParameters { capacity, holding, block_bytes, max_batch }
    }

    pub fn eager(&self, capacity: u64, holding: u64, step_pages: u32) -> EagerParameters {
        EagerParameters { areas: self.areas(capacity, holding), step_pages }
    }

    pub fn plain(&self, capacity: u64) -> PlainParameters {
        let Pages { block_bytes, max_batch } = *self;
        PlainParameters { capacity, block_bytes, max_batch }
    }
}
