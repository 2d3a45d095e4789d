//! The settings of the bench of sizes.

use super::super::reference_figures;
use super::super::report::TOLERANCE;
use super::super::service::VaultOptions;

/// The settings of the bench.
#[derive(Clone, Debug)]
pub struct GrowOptions {
    /// The blocks of each vault, in ascending order.
    pub capacities: Vec<u64>,
    /// The vaults' other options. Their numbers of blocks are ignored.
    pub vault: VaultOptions,
    /// The divisor of the capacity that gives the blocks of the trusted side.
    pub trusted_share: u64,
    /// The least times that each piece of the state is written while an access is measured.
    pub cycles: u64,
    /// The number of crashes with a full journal. The same number follows with an empty journal.
    pub crashes: usize,
    /// The bound on the ratio of the local bytes for an access: those of the costliest size divided by those of the
    /// cheapest.
    pub goal_growth: Option<f64>,
    /// The maximum ratio of two processor times after a kill: of opening a vault, and of reading and opening the same
    /// bytes. The vault has 2^17 blocks, or the largest number.
    pub goal_opening: Option<f64>,
    /// The reference figures of the table, for these sizes in this order.
    pub reference: &'static [reference_figures::ReferenceFigure],
    /// True if a vault without enough memory or room on the disk is left out; it is tried otherwise.
    pub skips_too_large: bool,
}

impl GrowOptions {
    /// 2^12, 2^14 and 2^17 blocks of 4 KiB, an eighth of them trusted; 2^20 as well if `is_full`.
    pub fn standard(is_full: bool) -> Self {
        let mut capacities = vec![1 << 12, 1 << 14, 1 << 17];
        capacities.extend(is_full.then_some(1 << 20));
        GrowOptions {
            capacities,
            vault: VaultOptions { block_bytes: 4096, batch: 16, ..VaultOptions::standard() },
            trusted_share: 8,
            cycles: 2,
            crashes: 5,
            goal_growth: Some(1.3),
            goal_opening: Some(reference_figures::OPENING * TOLERANCE),
            reference: reference_figures::GROW,
            skips_too_large: true,
        }
    }

    /// Returns these options with blocks of this size. A size other than the default has no reference figures and no
    /// bound on the opening.
    pub fn with_blocks_of(mut self, bytes: u32) -> Self {
        if bytes != self.vault.block_bytes {
            (self.vault.block_bytes, self.reference, self.goal_opening) = (bytes, &[], None);
        }
        self
    }

    /// The options of a vault with this many blocks.
    pub(super) fn vault_of(&self, capacity: u64) -> VaultOptions {
        let trusted_blocks = (capacity / self.trusted_share).max(1);
        VaultOptions { capacity, filled: capacity, trusted_blocks, ..self.vault.clone() }
    }
}
