//! Recursive Path ORAM without a PLB, driven over a backend: the baseline of the front end.
//!
//! PosMap blocks and the user's are in one tree, as in Freecursive ORAM. Each access reads and writes the PosMap block
//! of each level, from the last one down, and then its block: a path each. The leaf of a block is in the PosMap block
//! above it, so each of these paths waits for the answer of the previous one. The next access begins while the last
//! path is written back.

use crate::configuration::Configuration;
use crate::golden::Golden;
use crate::programs::ProgramAccess;
use crate::session::{Operation, Session};
use ameles_core::schemes::freecursive::{AddressSpace, PositionEntry};
use ameles_core::types::BlockId;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// A backend that makes whole chains of accesses, and what it must show.
pub struct Recursion {
    /// The tree, with the PosMap blocks.
    pub configuration: Configuration,
    /// A chain for each access.
    pub session: Session,
}

impl Recursion {
    /// The recursion of a controller with a front end: as many PosMap blocks and levels, with no PLB.
    ///
    /// # Panics
    /// If the configuration has no front end.
    pub fn new(of: &Configuration, accesses: &[ProgramAccess], key: &[u8; 16]) -> Self {
        let space = of.front_end_parameters().address_space();
        let blocks = u32::try_from(space.blocks()).expect("blocks have numbers of 32 bits");
        let configuration = Configuration { blocks, front_end: None, ..*of };
        let mut golden = Golden::new(configuration, key, 1);
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut contents = || {
            let mut contents = vec![0; of.block_bytes as usize];
            random.fill_bytes(&mut contents);
            contents
        };
        for access in accesses {
            for map in chain(&space, access.block) {
                golden.run(Operation::Write(map, contents()));
            }
            let operation = if access.writes {
                Operation::Write(access.block, contents())
            } else {
                Operation::Read(access.block)
            };
            golden.run(operation);
        }
        let session = Session { chain: 1 + space.maps() as usize, ..golden.session() };
        Recursion { configuration, session }
    }
}

/// The PosMap blocks above a block, the one whose leaf is on chip first.
fn chain(space: &AddressSpace, block: BlockId) -> Vec<BlockId> {
    let mut chain = Vec::new();
    let mut below = block;
    while let PositionEntry::Block(above, _) = space.position_entry(below) {
        chain.insert(0, above);
        below = above;
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::Scheme;

    #[test]
    fn each_access_of_the_recursion_is_a_path_for_each_level_from_the_last_one_down() {
        let configuration =
            Configuration { leaf_level: 10, blocks: 2048, ..Configuration::paper(Scheme::Path) };
        let front_end = crate::FrontEnd {
            labels: 8,
            label_bits: 14,
            trusted: 32,
            look_aside: 4,
            tag_bits: 0,
            slot_cycles: 0,
        };
        let configuration = Configuration { front_end: Some(front_end), ..configuration };
        let accesses =
            [(0, false), (2047, true)].map(|(block, writes)| ProgramAccess { block: BlockId(block), writes });
        let recursion = Recursion::new(&configuration, &accesses, &[1; 16]);
        let blocks: Vec<u64> =
            recursion.session.requests.iter().map(|request| request.operation.block().unwrap().0).collect();
        assert_eq!(blocks, [2048 + 256, 2048, 0, 2048 + 256 + 31, 2048 + 255, 2047]);
        assert_eq!(recursion.session.chain, 3);
        assert_eq!(recursion.session.reads.len(), 6 * 11, "a whole path each");
        assert_eq!(recursion.configuration.tree_blocks(), 2048 + 256 + 32);
    }
}
