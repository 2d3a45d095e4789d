//! The bytes that a controller needs on the trusted side, part by part: what hardware would store, and not what the
//! simulation takes.

use crate::configuration::Configuration;
use crate::configuration_error::ConfigurationError;
use crate::oram_configuration::OramConfiguration;
use crate::path_variant::PathVariant;
use crate::tree_scheme::{Headers, TreeScheme};
use ameles_core::schemes::freecursive::TrustedHits;

/// Bytes of a line of memory.
const LINE_BYTES: u64 = 64;

/// Bits of a leaf and of a block's number are rounded up to whole bytes together.
const BITS: u64 = 8;

/// Bytes of a counter that is in no PosMap block (Freecursive ORAM, section 5).
const COUNTER_BYTES: u64 = 8;

/// The bytes on the trusted side, but for the last-level cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnChipBytes {
    /// The stash, with the number and the leaf of each block.
    pub stash: u64,
    /// The tree top, and other cached levels.
    pub tree_top: u64,
    /// The index of the tree top by block.
    pub index: u64,
    /// The PLB.
    pub plb: u64,
    /// The positions that are not in PosMap blocks.
    pub positions: u64,
    /// The metadata or headers of all buckets, if they are not in memory.
    pub metadata: u64,
    /// ρ's small tree: its tags, stash and tree top.
    pub small_tree: u64,
    /// The leaves of lines that were remapped ahead.
    pub remapped: u64,
}

impl OnChipBytes {
    /// All of them.
    pub fn total(&self) -> u64 {
        let OnChipBytes { stash, tree_top, index, plb, positions, metadata, small_tree, remapped } = *self;
        stash + tree_top + index + plb + positions + metadata + small_tree + remapped
    }

    /// Those of a configuration.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn of(configuration: &Configuration) -> Result<Self, ConfigurationError> {
        let Configuration { oram, block_lines, .. } = configuration;
        let header = header_bytes(oram);
        let entry = LINE_BYTES * block_lines + header;
        let top_blocks = u64::from(oram.blocks_per_bucket) * ((1 << oram.top_levels) - 1);
        let cached_blocks = match &configuration.variant {
            PathVariant::ForkPath(fork) => fork.cached_levels.map_or(0, |(first, last)| {
                let buckets = (1u64 << (last + 1)) - (1 << first);
                u64::from(oram.blocks_per_bucket) * buckets
            }),
            _ => 0,
        };
        let has_index = oram.hits == TrustedHits::AnswerAtOnce;
        let small_tree = match &configuration.small_tree {
            None => 0,
            Some(small) => {
                let tags = u64::from(small.sets) * u64::from(small.ways);
                let top = u64::from(small.blocks_per_bucket) * ((1 << small.top_levels) - 1);
                // A tag has the number of a block of the main tree and a leaf of the small one.
                tags * header + (u64::from(small.stash) + top) * entry
            }
        };
        let sets = configuration.cache_bytes / LINE_BYTES / block_lines / configuration.cache_ways as u64;
        let is_remapped_ahead = configuration.early_write_backs && configuration.delayed_remapping;
        Ok(OnChipBytes {
            stash: u64::from(oram.stash) * entry,
            tree_top: (top_blocks + cached_blocks) * entry,
            // The place of each block of the tree top.
            index: if has_index { top_blocks * header } else { 0 },
            plb: u64::from(oram.look_aside) * LINE_BYTES * block_lines,
            positions: positions_bytes(configuration)?,
            metadata: metadata_bytes(oram)?,
            small_tree,
            remapped: if is_remapped_ahead { sets * header } else { 0 },
        })
    }
}

/// Bytes of the positions that are in no PosMap block: leaves, or counters if those fill the PosMap blocks.
fn positions_bytes(configuration: &Configuration) -> Result<u64, ConfigurationError> {
    let Configuration { oram, .. } = configuration;
    let bytes = if configuration.has_compressed_posmap() {
        COUNTER_BYTES
    } else {
        u64::from(oram.levels).div_ceil(BITS)
    };
    Ok(oram.parameters()?.address_space().trusted() * bytes)
}

/// Bytes of a block's number and its leaf.
fn header_bytes(oram: &OramConfiguration) -> u64 {
    let number = u64::from(u64::BITS - oram.user_blocks.leading_zeros());
    (number + u64::from(oram.levels)).div_ceil(BITS)
}

/// Bytes of the metadata of all buckets in memory that are on the trusted side: in RAW ORAM the header of each block,
/// and in Ring ORAM also the slot of each block, a bit for each slot that was read, and the number of reads.
fn metadata_bytes(oram: &OramConfiguration) -> Result<u64, ConfigurationError> {
    let blocks = oram.blocks(&oram.parameters()?.tree);
    let below_top = (oram.top_levels..oram.levels).zip(&blocks[oram.top_levels as usize..]);
    let header = 8 * header_bytes(oram);
    Ok(match oram.scheme {
        TreeScheme::Raw { headers: Headers::OnChip, .. } => {
            below_top.map(|(level, blocks)| (u64::from(*blocks) * header / BITS) << level).sum()
        }
        TreeScheme::Ring { metadata: Headers::OnChip, reads, .. } => below_top
            .map(|(level, slots)| {
                let log = |number: u32| u64::from(u32::BITS - number.leading_zeros());
                let of_blocks = u64::from(oram.blocks_per_bucket) * (header + log(*slots));
                ((of_blocks + u64::from(*slots) + log(reads)).div_ceil(BITS)) << level
            })
            .sum(),
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::Scheme;

    fn of(scheme: Scheme) -> OnChipBytes {
        OnChipBytes::of(&Configuration::baseline(25).with_scheme(scheme)).expect("a sound configuration")
    }

    #[test]
    fn baseline_needs_its_tree_top_stash_plb_and_positions() {
        let baseline = of(Scheme::Baseline);
        // 4 x 1023 blocks of 64 bytes, each with 27 bits of its number and 25 of its leaf.
        assert_eq!(baseline.tree_top, 4 * 1023 * (64 + 7));
        assert_eq!(baseline.plb, 64 << 10);
        assert_eq!((baseline.index, baseline.metadata, baseline.small_tree, baseline.remapped), (0, 0, 0, 0));
        // Of three bytes and a bit each: the position map in memory has two levels.
        assert_eq!(baseline.positions, 4 << 18);
        assert!((1 << 20..3 << 19).contains(&baseline.total()), "{baseline:?}");
    }

    #[test]
    fn ring_s_metadata_on_chip_are_more_than_a_gigabyte_and_none_in_memory() {
        let mut ring = Configuration::baseline(25).with_scheme(Scheme::Ring);
        let metadata = |ring: &Configuration| OnChipBytes::of(ring).expect("a sound configuration").metadata;
        assert!((1 << 30..4 << 30).contains(&metadata(&ring)), "{}", metadata(&ring));
        if let TreeScheme::Ring { metadata, .. } = &mut ring.oram.scheme {
            *metadata = Headers::InMemory;
        }
        assert_eq!(metadata(&ring), 0);
    }

    #[test]
    fn each_addition_to_baseline_needs_its_own_bytes() {
        let baseline = of(Scheme::Baseline).total();
        for (scheme, min, max) in [
            (Scheme::IrAlloc, 0, 0),
            (Scheme::IrStash, 20 << 10, 40 << 10),
            (Scheme::Rho, 1 << 20, 2 << 20),
            (Scheme::LlcDDwb, 10 << 10, 40 << 10),
        ] {
            let more = of(scheme).total() - baseline;
            assert!((min..=max).contains(&more), "{scheme:?}: {more}");
        }
    }
}
