//! A round of packing: always two accesses, even without work.

use super::{Fragment, FragmentId, Location, Pack};
use crate::catalogue::Change;
use crate::device::Device;
use crate::error::Error;
use crate::objects::gateway::Inner;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The block of a dummy read. Any block does, because an access does not show its block.
pub(crate) const DUMMY: u64 = 0;

impl Inner {
    /// Creates a waiting fragment, and runs the round that is due for it. No object refers to the fragment yet.
    pub(crate) async fn new_fragment(self: &Arc<Self>, bytes: Bytes) -> Arc<Fragment> {
        let length = bytes.len() as u64;
        let id = FragmentId(self.next_fragment.fetch_add(1, Ordering::Relaxed));
        let half = self.device.shape().block_bytes as u64 / 2;
        let before = self.fragment_bytes.fetch_add(length, Ordering::Relaxed);
        if before / half != (before + length) / half {
            self.run_round(half).await;
        }
        Fragment::new(id, length, Location::Waiting(bytes))
    }

    /// Runs a round to its end, even if the caller is gone. After a failure, all fragments stay where they were.
    async fn run_round(self: &Arc<Self>, max_live: u64) -> bool {
        let inner = Arc::clone(self);
        let round = self.tasks.spawn(async move { inner.round(max_live).await });
        match round.await {
            Ok(Ok(has_freed)) => has_freed,
            Ok(Err(error)) => {
                tracing::error!(%error, "packing small objects failed; they stay where they were");
                false
            }
            Err(failure) if failure.is_panic() => std::panic::resume_unwind(failure.into_panic()),
            Err(_) => false,
        }
    }

    /// Packs waiting fragments if there is a block's worth of them. Empties the pack with the fewest live bytes if it
    /// has at most `max_live`. Returns whether a pack was emptied.
    async fn round(self: &Arc<Self>, max_live: u64) -> Result<bool, Error> {
        let _guard = self.packing.lock().await;
        let block_bytes = self.device.shape().block_bytes as u64;
        let (fragments_to_pack, emptied) = {
            let pack_index = &self.catalogue.read().pack_index;
            let is_due = pack_index.waiting_bytes() >= block_bytes;
            let fragments_to_pack = if is_due { pack_index.fill(block_bytes) } else { Vec::new() };
            let unpacked: u64 = pack_index.waiting_bytes()
                - fragments_to_pack.iter().map(|(_, bytes, _)| bytes.len() as u64).sum::<u64>();
            let emptied = if unpacked <= block_bytes { pack_index.emptiest(max_live) } else { None };
            (fragments_to_pack, emptied)
        };
        // Without a free block nothing is written: the waiting fragments stay where they are.
        let pack =
            if fragments_to_pack.is_empty() { None } else { self.allocator.allocate(1).ok().map(Pack::new) };
        let (written, read) =
            futures::join!(self.write_pack(pack, &fragments_to_pack), self.read_pack(emptied.as_deref()));
        if let Some(pack) = written? {
            let locations = fragments_to_pack
                .into_iter()
                .map(|(id, _, offset)| (id, Location::Packed { pack: Arc::clone(&pack), offset }));
            self.relocate(locations.collect()).await?;
        }
        let Some(pack) = emptied else { return Ok(false) };
        let content = read?;
        // Fragments that were removed meanwhile are not in the index any more.
        let live_fragments = self.catalogue.read().pack_index.fragments_in(&pack);
        let locations = live_fragments.into_iter().map(|(fragment, offset)| {
            let bytes = &content[offset as usize..(offset + fragment.bytes()) as usize];
            (fragment.id(), Location::Waiting(Bytes::copy_from_slice(bytes)))
        });
        self.relocate(locations.collect()).await?;
        Ok(true)
    }

    async fn write_pack(
        &self,
        pack: Option<Arc<Pack>>,
        fragments_to_pack: &[(FragmentId, Bytes, u64)],
    ) -> Result<Option<Arc<Pack>>, Error> {
        let Some(pack) = pack else {
            self.read_blocks(self.flow(), vec![DUMMY]).await?;
            return Ok(None);
        };
        let mut block = vec![0; self.device.shape().block_bytes];
        for (_, bytes, offset) in fragments_to_pack {
            block[*offset as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        self.device.write(self.flow(), vec![(pack.block(), block.into())]).await?;
        Ok(Some(pack))
    }

    async fn read_pack(&self, pack: Option<&Pack>) -> Result<Bytes, Error> {
        let mut answer = self.read_blocks(self.flow(), vec![pack.map_or(DUMMY, Pack::block)]).await?;
        Ok(answer.pop().unwrap_or_default())
    }

    /// Commits the new places of fragments, except for those that no longer exist.
    async fn relocate(self: &Arc<Self>, locations: Vec<(FragmentId, Location)>) -> Result<(), Error> {
        self.change(move |catalogue| {
            let locations: Vec<_> =
                locations.into_iter().filter(|(id, _)| catalogue.pack_index.get(*id).is_some()).collect();
            let changes =
                if locations.is_empty() { Vec::new() } else { vec![Change::MoveFragments { locations }] };
            Ok((changes, ()))
        })
        .await
    }

    /// Returns whether emptying packs could free this many blocks.
    pub(crate) fn can_reclaim(&self, blocks: u64) -> bool {
        let packed = self.catalogue.read().pack_index.usage();
        let needed = packed.live_bytes.div_ceil(self.device.shape().block_bytes as u64);
        self.allocator.free_blocks() + packed.blocks.saturating_sub(needed) >= blocks
    }

    /// Empties packs until `blocks` blocks are free, or until no pack can be emptied.
    pub(crate) async fn reclaim(self: &Arc<Self>, blocks: u64) {
        while self.allocator.free_blocks() < blocks && self.run_round(self.max_live_when_full()).await {}
    }

    /// Returns the bound for a full vault, in which emptying a pack is worth less: an eighth of a block.
    fn max_live_when_full(&self) -> u64 {
        self.device.shape().block_bytes as u64 * 7 / 8
    }
}
