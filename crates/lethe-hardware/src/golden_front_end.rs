//! The golden model with its front end: Freecursive ORAM of the core, driven line by line as the controller does it.

use crate::configuration::Configuration;
use crate::golden::GoldenMemory;
use crate::session::{Operation, Request, Session};
use lethe_core::schemes::freecursive::{FreecursiveOram, Next};
use lethe_core::testing::finish_now;
use lethe_core::tree::placement::FillOrder;
use lethe_core::words::{BlockId, Bucket, Leaf};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::HashSet;

/// A Freecursive ORAM of the core over the memory of the controller.
pub struct GoldenFrontEnd {
    memory: GoldenMemory,
    oram: FreecursiveOram<GoldenMemory, ChaCha8Rng>,
    key: [u8; 16],
    /// Blocks that have a counter.
    mapped: HashSet<BlockId>,
    session: Session,
}

impl GoldenFrontEnd {
    /// An empty ORAM.
    ///
    /// # Panics
    /// If the core refuses the configuration.
    pub fn new(configuration: Configuration, seed: u64) -> Self {
        // The core draws the key of its leaves after the randomness of its tree; the controller has one key for leaves and masks.
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        ChaCha8Rng::from_rng(&mut random);
        let mut key = [0; 16];
        random.fill_bytes(&mut key);
        let memory = GoldenMemory::new(configuration, &key);
        let oram = FreecursiveOram::with_any_bits(
            configuration.front_end_parameters(),
            Bucket(0),
            memory.clone(),
            ChaCha8Rng::seed_from_u64(seed),
        )
        .expect("a configuration of the bench is one of the core");
        oram.tree().set_fill_order(FillOrder::PushToLeaf);
        GoldenFrontEnd { memory, oram, key, mapped: HashSet::new(), session: Session::default() }
    }

    /// The key of leaves and masks.
    pub fn key(&self) -> [u8; 16] {
        self.key
    }

    /// Reads a block, or writes it. Returns the number of paths that it took, evictions apart.
    ///
    /// # Panics
    /// If the core fails: its memory never does.
    pub fn run(&mut self, block: BlockId, data: Option<Vec<u8>>) -> u32 {
        let mut paths = 0;
        loop {
            let next = self.oram.next(block).expect("the block is one of the user's");
            let renewed = if let Next::PosMap(lacking) = next { lacking } else { block };
            paths += u32::from(finish_now(self.oram.remap_turn(renewed)).expect("stragglers move"));
            self.settle();
            let before = self.memory.reads();
            let mut answer = None;
            match next {
                Next::PosMap(lacking) => finish_now(self.oram.fetch(lacking)),
                Next::Block => finish_now(self.oram.access_block(block, |payload| {
                    answer = Some(payload.to_vec());
                    if let Some(data) = &data {
                        payload.copy_from_slice(data);
                    }
                })),
            }
            .expect("the core serves every access");
            paths += 1;
            if self.mapped.insert(renewed) {
                self.session.drawn.push(self.memory.path_of(before));
            }
            self.settle();
            if next == Next::Block {
                self.session.answers.extend(answer);
                break;
            }
        }
        let operation = data.map_or(Operation::Read(block), |data| Operation::Write(block, data));
        self.session.requests.push(Request { operation, path: Leaf(0), leaf: Leaf(0) });
        paths
    }

    /// All that was shown so far.
    pub fn session(&self) -> Session {
        self.memory.complete(&self.session)
    }

    fn settle(&self) {
        while self.oram.tree().owed() > 0 {
            finish_now(self.oram.tree().idle()).expect("the core does all that it owes");
        }
    }
}
