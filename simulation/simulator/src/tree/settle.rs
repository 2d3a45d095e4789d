//! Brings a drawn state to the steady state of random accesses.
//!
//! A drawn block is as deep as the paths since its last access allow, if there was room for it. A real block that found
//! no room sinks only when a path passes by. With buckets of four that makes no difference. With IR-Alloc's buckets,
//! the upper levels fill up, and background evictions follow. Their share no longer increases after a few hundred
//! thousand paths. So few paths do not change the deep levels, which stay as they were drawn.

use crate::configuration_error::ConfigurationError;
use crate::main_oram::TreeParts;
use crate::oram_configuration::OramConfiguration;
use crate::tree::store::TreeStore;
use crate::tree_backend::{AnyTree, ExternalTree, Failure, TreeBackend, expect_ready};
use ameles_core::oram::OramError;
use ameles_core::position_map::external::PositionUpdate;
use ameles_core::types::{BlockId, Bucket, Leaf};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// A tree without a front end.
struct SettlingTree {
    tree: ExternalTree,
    store: TreeStore,
}

impl TreeBackend for SettlingTree {
    fn tree(&self) -> AnyTree<'_> {
        AnyTree::Main(&self.tree)
    }

    fn store(&self) -> &TreeStore {
        &self.store
    }
}

impl SettlingTree {
    /// Accesses a block, after the evictions that come first.
    fn access(&self, block: BlockId, positions: PositionUpdate) -> Result<(), Failure> {
        self.make_room()?;
        if self.must_evict() {
            return Err(OramError::Backlogged);
        }
        expect_ready(self.tree.access_at(block, positions, |_| ()))?;
        self.write_back()
    }
}

/// Accesses random blocks, each after those that hold its position, until this many paths were accessed.
///
/// # Errors
/// [`ConfigurationError::Contents`], if background evictions do not make room for them.
pub(crate) fn settle(
    oram: &OramConfiguration,
    parts: TreeParts,
    paths: u64,
    random: &mut ChaCha8Rng,
) -> Result<TreeParts, ConfigurationError> {
    let parameters = oram.parameters()?;
    let space = parameters.address_space();
    let TreeParts { slots, mut positions, trusted, ring } = parts;
    let (store, for_tree) = (TreeStore::of(oram.scheme, slots), ChaCha8Rng::from_rng(random));
    let tree = ExternalTree::new(&parameters.tree, Bucket(0), store.clone(), for_tree)?;
    let settling = SettlingTree { tree, store };
    settling.take_in(trusted).map_err(|_| ConfigurationError::Contents)?;
    let leaves = 1u64 << (oram.levels - 1);
    let levels = (0..=space.maps()).rev().cycle();
    for level in levels.take(paths as usize) {
        let blocks = space.blocks_of(level);
        let block = BlockId(blocks.start + random.next_u64() % (blocks.end - blocks.start));
        let new = Leaf(random.next_u64() % leaves);
        let old = positions.replace(block, new);
        settling.access(block, PositionUpdate { old, new }).map_err(|_| ConfigurationError::Contents)?;
    }
    let SettlingTree { tree, store } = settling;
    let trusted = tree.trusted_blocks();
    // The slots are copied while a tree reads them.
    drop(tree);
    Ok(TreeParts { slots: store.into_slots(), positions, trusted, ring })
}
