//! The trusted memory of a vault: usually, and at most.

use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::ring::RingParameters;
use ameles_vault::{STASH_ENTRY, SchemeParameters, TreeTopPlace, VaultParameters};

/// The stash grows by an eighth, and by at least this many blocks.
const MIN_GROWTH: u64 = 32;

/// Bytes of trusted memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrustedMemory {
    /// The usual bytes of a full, busy vault. They are the maps, the mean stash with the tree top, a batch, and the
    /// blocks that an eviction has read.
    pub usual: u64,
    /// The usual number of blocks in the stash with nothing in flight.
    pub resting_blocks: u64,
    /// The maximum that `ameles status` ever shows. It is for the maps, a stash at its hard bound, the blocks of the
    /// evictions in flight, and the buffers of paths.
    pub max: u64,
}

impl TrustedMemory {
    /// Returns the trusted memory of a vault with these parameters.
    pub fn of(parameters: &VaultParameters) -> Self {
        let scheme = &parameters.scheme;
        let block = u64::from(scheme.block_bytes());
        let entry = block + STASH_ENTRY;
        // Position map, metadata and versions, with the heads of the lists.
        let maps = parameters.trusted_bytes()
            - scheme.stash_bound() * STASH_ENTRY
            - parameters.resident_blocks() * block;
        let memory = match scheme {
            SchemeParameters::Ring(ring) => ring_memory(ring),
            SchemeParameters::Path(path) => path_memory(path),
            SchemeParameters::Trivial(trivial) => {
                let chunk = u64::from(trivial.chunk_blocks) * entry;
                SchemeMemory {
                    resting_blocks: 0,
                    usual_blocks: 0,
                    max_blocks: 0,
                    usual_buffers: chunk,
                    max_buffers: chunk,
                }
            }
        };
        let with_growth = |blocks: u64| blocks + (blocks / 8).max(MIN_GROWTH);
        let (resident, usual_resident) = match parameters.tree_top {
            TreeTopPlace::Memory => (memory.max_blocks, memory.usual_blocks),
            // An access brings a block into memory, and checkpoints remove blocks.
            TreeTopPlace::Disk => {
                let usual_resident =
                    memory.usual_blocks - memory.resting_blocks + parameters.checkpoint_every;
                (memory.max_blocks.min(parameters.resident_blocks()), memory.usual_blocks.min(usual_resident))
            }
        };
        let bytes = |entries: u64, payloads: u64| entries * STASH_ENTRY + payloads * block;
        let max = maps + bytes(with_growth(memory.max_blocks), with_growth(resident)) + memory.max_buffers;
        let usual = maps + bytes(memory.usual_blocks, usual_resident) + memory.usual_buffers;
        TrustedMemory { usual: usual.min(max), resting_blocks: memory.resting_blocks, max }
    }
}

/// The memory of a scheme without its maps: blocks in its stash and bytes in its buffers.
struct SchemeMemory {
    resting_blocks: u64,
    usual_blocks: u64,
    max_blocks: u64,
    usual_buffers: u64,
    max_buffers: u64,
}

fn ring_memory(ring: &RingParameters) -> SchemeMemory {
    let subtrees = 1 << ring.top.0;
    let path = ring.blocks_on_path();
    // A/2 blocks wait for each subtree, plus a batch and the blocks that an eviction has read. Held buckets keep theirs
    // between two slices.
    let waiting = subtrees * u64::from(ring.eviction_rate) / 2;
    let held = if ring.is_sliced() { path } else { 0 };
    SchemeMemory {
        resting_blocks: waiting + u64::from(ring.max_batch) + held,
        usual_blocks: waiting + u64::from(ring.max_batch) + path,
        // The bound excludes blocks read for an eviction, and those that wait until the previous eviction is written.
        // With slices, the latter are the blocks of held buckets.
        max_blocks: ring.max_stash_blocks() + 2 * path,
        usual_buffers: 4 * subtrees,
        max_buffers: 4 * subtrees,
    }
}

fn path_memory(path: &PathParameters) -> SchemeMemory {
    let subtrees = 1u64 << path.top.0;
    let (batch, waiting) = (u64::from(path.max_batch), path.waiting() as u64);
    let bucket = u64::from(path.blocks_per_bucket) * (u64::from(path.block_bytes) + STASH_ENTRY);
    let path_buffers = |paths| buckets_on_paths(path, paths) * bucket;
    SchemeMemory {
        // Measured, like the blocks on a path (see `PathParameters::for_buckets_of`).
        resting_blocks: waiting,
        usual_blocks: waiting + batch * path.blocks_on_path() as u64,
        max_blocks: path.stash_bound.into(),
        usual_buffers: 2 * path_buffers(batch) + 4 * subtrees,
        // The paths of one batch that is read and of two that are written. A buffer at most doubles when it grows.
        max_buffers: 2 * (path_buffers(batch) + path_buffers(2 * batch)) + 4 * subtrees,
    }
}

/// Returns the maximum number of buckets on this many paths.
pub(super) fn buckets_on_paths(path: &PathParameters, paths: u64) -> u64 {
    (path.top.0..=path.leaf_level.0).map(|level| paths.min(1 << level)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::vault::home::Home;
    use crate::vault::parameters::vault_parameters;
    use ameles_core::types::BlockId;
    use ameles_vault::Call;
    use std::path::Path;

    fn settings(scheme: &str, data: &Path) -> Settings {
        let text = format!(
            "data = {data:?}\n[vault]\ncapacity = \"1MiB\"\nblock_size = \"4KiB\"\nscheme = \"{scheme}\""
        );
        Settings::from_toml(&text)
    }

    #[tokio::test]
    async fn a_vault_in_use_never_takes_more_than_was_stated() {
        let on_disk = ["ring", "path"].map(|scheme| format!("{scheme}\"\ntree_top_on = \"disk"));
        let in_memory = ["ring", "path", "trivial"].map(String::from);
        for scheme in in_memory.iter().chain(&on_disk) {
            let folder = tempfile::tempdir().unwrap();
            let settings = settings(scheme, folder.path());
            let stated = TrustedMemory::of(&vault_parameters(&settings).unwrap());
            let (opening, _interrupts) = Home::new(&settings).create().await.unwrap();
            let (vault, _) = opening.open().await.unwrap();
            let mut max = 0;
            for round in 0..2u64 {
                for batch in 0..16u64 {
                    let write = |n| Call::Write(BlockId(16 * batch + n), vec![round as u8; 4096].into());
                    vault.access((0..16).map(write).collect()).await.unwrap();
                    max = max.max(vault.status().trusted_bytes);
                }
            }
            vault.close().await.unwrap();
            assert!((1..=stated.max).contains(&max), "{scheme}: {max} bytes in use, {stated:?}");
            assert!(stated.usual <= stated.max, "{scheme}: {stated:?}");
        }
    }

    #[test]
    fn the_default_vault_usually_takes_less_than_its_bound_and_more_than_its_tree_top() {
        let parameters = vault_parameters(&settings("ring", Path::new("/d"))).unwrap();
        let TrustedMemory { usual, max, .. } = TrustedMemory::of(&parameters);
        let SchemeParameters::Ring(ring) = &parameters.scheme else { panic!("ring was asked for") };
        let tree_top = (u64::from(ring.eviction_rate) << ring.top.0) / 2 * 4096;
        assert!((tree_top..max).contains(&usual), "{tree_top} {usual} {max}");
        assert!(max >= parameters.trusted_bytes());
    }
}
