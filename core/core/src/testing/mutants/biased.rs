//! Position maps whose draws are biased, and only on some occasions.

use super::super::oblivious::observer::draw_below;
use super::super::oblivious::reverse_bits::reverse_bits;
use crate::oram::OramError;
use crate::position_map::{Lookup, PositionMap};
use crate::types::{BlockId, Leaf};
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// The bias of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bias {
    /// The lower one of two drawn leaves.
    LowerOfTwo,
    /// The one of two drawn leaves that has fewer blocks.
    EmptierOfTwo,
    /// The one of two drawn leaves that shares more of its path with the next eviction. An eviction comes after this
    /// many accesses.
    SoonerEvictedOfTwo(u64),
    /// The one of two drawn leaves that is farther from the block's last leaf.
    FartherOfTwo,
    /// The one of two drawn leaves that is farther from the leaf drawn before.
    FartherFromDrawnOfTwo,
    /// A leaf other than this one, which is never drawn.
    Never(u64),
    /// A leaf with this bit clear.
    Clear(u32),
    /// A leaf in which these two bits are equal.
    Alike(u32, u32),
}

/// The occasion on which draws are biased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// The leaf is biased at each access.
    Always,
    /// The leaf is biased at the first access of a block.
    First,
    /// The leaf is biased at an access of a block that came in the last eight accesses. Such a block is usually in the
    /// stash.
    Hit,
    /// The leaf is biased at an access of a block that came before the last eight accesses.
    Miss,
    /// The leaf is biased at an access right after a dummy.
    AfterDummy,
    /// The leaf is biased at the third access of a block, and at all later ones.
    Repeated,
    /// The leaf is biased while the stash is full, as [`ReactsToFullStash`](super::ReactsToFullStash) defines it.
    FullStash,
}

/// A position map with biased draws.
pub struct BiasedLeaves<P> {
    map: P,
    bias: Bias,
    occasion: Occasion,
    per_mille: usize,
    memory: RefCell<Memory>,
}

/// The draws so far.
struct Memory {
    random: ChaCha8Rng,
    leaves: u64,
    is_full: Rc<Cell<bool>>,
    accesses: u64,
    after_dummy: bool,
    drawn_last: u64,
    /// The leaf, the last access and the number of accesses of each block.
    blocks: BTreeMap<BlockId, (u64, u64, u64)>,
    loads: Vec<usize>,
}

impl<P> BiasedLeaves<P> {
    /// A map over this many leaves with biased draws on an occasion, in this many of a thousand cases.
    pub fn new(map: P, leaves: u64, (bias, occasion, per_mille): (Bias, Occasion, usize), seed: u64) -> Self {
        let memory = Memory {
            random: ChaCha8Rng::seed_from_u64(!seed),
            leaves,
            is_full: Rc::default(),
            accesses: 0,
            after_dummy: false,
            drawn_last: 0,
            blocks: BTreeMap::new(),
            loads: vec![0; leaves as usize],
        };
        BiasedLeaves { map, bias, occasion, per_mille, memory: RefCell::new(memory) }
    }

    /// Returns the flag that tells the map whether the stash is full.
    pub fn is_full(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.memory.borrow().is_full)
    }
}

impl Memory {
    fn is_now(&self, occasion: Occasion, block: BlockId) -> bool {
        let known = self.blocks.get(&block);
        let ago = known.map(|(_, last, _)| self.accesses - last);
        match occasion {
            Occasion::Always => true,
            Occasion::First => known.is_none(),
            Occasion::Hit => ago.is_some_and(|ago| ago <= 8),
            Occasion::Miss => ago.is_some_and(|ago| ago > 8),
            Occasion::AfterDummy => self.after_dummy,
            Occasion::FullStash => self.is_full.get(),
            Occasion::Repeated => known.is_some_and(|(_, _, times)| *times >= 2),
        }
    }

    fn draw(&mut self) -> u64 {
        draw_below(&mut self.random, self.leaves as usize) as u64
    }

    /// Returns the biased leaf that a block gets in place of `drawn`.
    fn choose(&mut self, bias: Bias, drawn: u64, last: Option<u64>) -> u64 {
        let other = self.draw();
        let min = |cost: &dyn Fn(u64) -> u64| if cost(other) < cost(drawn) { other } else { drawn };
        match bias {
            Bias::LowerOfTwo => drawn.min(other),
            Bias::EmptierOfTwo => min(&|leaf| self.loads[leaf as usize] as u64),
            Bias::SoonerEvictedOfTwo(accesses) => {
                let next = reverse_bits(self.leaves.ilog2(), self.accesses / accesses);
                min(&|leaf| leaf ^ next)
            }
            Bias::FartherOfTwo => last.map_or(drawn, |last| min(&|leaf| !(leaf ^ last))),
            Bias::FartherFromDrawnOfTwo => min(&|leaf| !(leaf ^ self.drawn_last)),
            Bias::Never(never) if drawn == never => {
                (0..).map(|_| self.draw()).find(|leaf| *leaf != never).unwrap_or(0)
            }
            Bias::Never(_) => drawn,
            Bias::Clear(bit) => drawn & !(1 << bit),
            Bias::Alike(one, other) => drawn & !(1 << one) | (drawn >> other & 1) << one,
        }
    }

    /// Records that a block has got this leaf.
    fn note(&mut self, block: BlockId, leaf: u64) {
        let before = self.blocks.get(&block).copied();
        if let Some((old, ..)) = before {
            self.loads[old as usize] -= 1;
        }
        self.loads[leaf as usize] += 1;
        self.drawn_last = leaf;
        self.blocks.insert(block, (leaf, self.accesses, before.map_or(0, |(_, _, times)| times) + 1));
    }
}

impl<P: PositionMap> PositionMap for BiasedLeaves<P> {
    type Error = P::Error;

    async fn remap(&self, lookups: &mut [Lookup]) -> Result<(), OramError<P::Error>> {
        self.map.remap(lookups).await?;
        {
            let memory = &mut *self.memory.borrow_mut();
            for lookup in lookups.iter_mut() {
                memory.accesses += 1;
                if let Some(block) = lookup.block {
                    let is_now = memory.is_now(self.occasion, block);
                    if draw_below(&mut memory.random, 1000) < self.per_mille && is_now {
                        let last = lookup.old.map(|leaf| leaf.0);
                        lookup.new = Leaf(memory.choose(self.bias, lookup.new.0, last));
                    }
                    memory.note(block, lookup.new.0);
                }
                memory.after_dummy = lookup.block.is_none();
            }
        }
        let mut back = lookups.to_vec();
        self.map.remap(&mut back).await
    }

    fn trusted_bytes(&self) -> usize {
        self.map.trusted_bytes()
    }
}
