//! Randomness that is not what it should be.

use super::super::driver::Work;
use super::super::oblivious::observer::draw_below;
use crate::oram::OramError;
use crate::position_map::{Lookup, PositionMap};
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// Randomness in the low half only: leaves, which are low bits, stay uniform, but a number drawn as a fraction is
/// always 0. Ring ORAM then never permutes a bucket and reads its dummies in order.
pub struct LowBits<R>(pub R);

/// Randomness that is a little uneven: one draw in eight has only half of its ones.
pub struct Uneven<R>(pub R);

macro_rules! randomness {
    ($name:ident, $random:ident => $draw:expr) => {
        impl<R: RngCore> RngCore for $name<R> {
            fn next_u32(&mut self) -> u32 {
                self.next_u64() as u32
            }
            fn next_u64(&mut self) -> u64 {
                let $random = &mut self.0;
                $draw
            }
            fn fill_bytes(&mut self, bytes: &mut [u8]) {
                self.0.fill_bytes(bytes);
            }
        }
    };
}
randomness!(LowBits, random => random.next_u64() & u64::from(u32::MAX));
randomness!(Uneven, random => {
    let mask = if random.next_u64().is_multiple_of(8) { random.next_u64() } else { u64::MAX };
    random.next_u64() & mask
});

impl<R: SeedableRng> SeedableRng for Uneven<R> {
    type Seed = R::Seed;

    fn from_seed(seed: R::Seed) -> Self {
        Uneven(R::from_seed(seed))
    }
}

/// Randomness whose first draws come again and again. A permutation of a given number of places is the same in every
/// epoch.
pub struct Repeats<R> {
    random: R,
    draws: Vec<u64>,
    next: usize,
    count: usize,
}

impl<R> Repeats<R> {
    /// Randomness that repeats its first `count` draws.
    pub fn new(random: R, count: usize) -> Self {
        Repeats { random, draws: Vec::new(), next: 0, count }
    }
}

impl<R: RngCore> RngCore for Repeats<R> {
    fn next_u32(&mut self) -> u32 {
        self.next_u64() as u32
    }
    fn next_u64(&mut self) -> u64 {
        if self.draws.len() < self.count {
            self.draws.push(self.random.next_u64());
        }
        let draw = self.draws[self.next];
        self.next = (self.next + 1) % self.count;
        draw
    }
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.random.fill_bytes(bytes);
    }
}

/// The number that [`OneDraw`] uses again and again, as the high half of a draw; `None` while it does not.
pub type SharedDraw = Rc<Cell<Option<u32>>>;

/// Randomness that draws one number for all dummies of an access. Ring ORAM then reads the same place of every bucket
/// of the path, except in the bucket of the block. Leaves, which are low bits, stay uniform and independent; so do the
/// slots of each bucket by itself.
pub struct OneDraw<R> {
    /// Sound randomness.
    pub random: R,
    /// The number, which [`DrawsOnce`] draws.
    pub kept: SharedDraw,
    /// The work under way. Evictions draw correctly.
    pub current_work: Rc<Cell<Work>>,
}

impl<R: RngCore> RngCore for OneDraw<R> {
    fn next_u32(&mut self) -> u32 {
        self.random.next_u32()
    }
    fn next_u64(&mut self) -> u64 {
        let draw = self.random.next_u64();
        match self.kept.get().filter(|_| self.current_work.get() == Work::Access) {
            Some(kept) => u64::from(kept) << 32 | draw & u64::from(u32::MAX),
            None => draw,
        }
    }
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.random.fill_bytes(bytes);
    }
}

/// A position map that tells [`OneDraw`] when the choices of slots of the next batch begin.
pub struct DrawsOnce<P> {
    map: P,
    kept: SharedDraw,
    source: Source,
    per_mille: usize,
    random: RefCell<ChaCha8Rng>,
}

/// The origin of the number that is used for all dummies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A draw of its own.
    Fresh,
    /// The leaf that the first block of the batch gets now, and shows when it is requested next.
    NextLeaf,
}

impl<P> DrawsOnce<P> {
    /// A map that lets this many of a thousand batches use one number, drawn from a seed.
    pub fn new(map: P, kept: SharedDraw, source: Source, per_mille: usize, seed: u64) -> Self {
        let random = RefCell::new(ChaCha8Rng::seed_from_u64(!seed));
        DrawsOnce { map, kept, source, per_mille, random }
    }
}

impl<P: PositionMap> PositionMap for DrawsOnce<P> {
    type Error = P::Error;

    async fn remap(&self, lookups: &mut [Lookup]) -> Result<(), OramError<P::Error>> {
        self.map.remap(lookups).await?;
        let random = &mut *self.random.borrow_mut();
        let once = draw_below(random, 1000) < self.per_mille;
        let number = match (self.source, lookups.first()) {
            (Source::NextLeaf, Some(lookup)) => (lookup.new.0 as u32).reverse_bits(),
            _ => random.next_u32(),
        };
        self.kept.set(once.then_some(number));
        Ok(())
    }

    fn trusted_bytes(&self) -> usize {
        self.map.trusted_bytes()
    }
}
