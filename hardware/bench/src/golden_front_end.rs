//! The golden model with its front end: Freecursive ORAM of the core, driven line by line as the controller does it.

use crate::configuration::Configuration;
use crate::golden::GoldenMemory;
use crate::session::{Operation, Request, Session};
use ameles_core::schemes::freecursive::{FreecursiveOram, NextPath};
use ameles_core::testing::finish_now;
use ameles_core::tree::placement::FillOrder;
use ameles_core::types::{BlockId, Bucket, Leaf};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::{HashSet, VecDeque};

/// A Freecursive ORAM of the core over the memory of the controller.
pub struct GoldenFrontEnd {
    memory: GoldenMemory,
    oram: FreecursiveOram<GoldenMemory, ChaCha8Rng>,
    keys: Vec<[u8; 16]>,
    /// The blocks that have a counter.
    mapped: HashSet<BlockId>,
    /// The requests that have begun or will begin: the block of each, and the contents for a write.
    pending: VecDeque<(BlockId, Option<Vec<u8>>)>,
    /// The turn for a straggler was done, before the path that is next.
    turn_done: bool,
    session: Session,
}

impl GoldenFrontEnd {
    /// An empty ORAM.
    ///
    /// # Panics
    /// If the core refuses the configuration.
    pub fn new(configuration: Configuration, seed: u64) -> Self {
        // The core draws the key of its leaves after the randomness of its tree, and then that of tags. The controller
        // has one key for leaves and masks.
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        ChaCha8Rng::from_rng(&mut random);
        let mut draw = || {
            let mut key = [0; 16];
            random.fill_bytes(&mut key);
            key
        };
        let mut keys = vec![draw()];
        keys.extend((configuration.tag_bits() > 0).then(draw));
        let memory = GoldenMemory::new(configuration, &keys[0]);
        let oram = FreecursiveOram::with_any_bits(
            configuration.front_end_parameters(),
            Bucket(0),
            memory.clone(),
            ChaCha8Rng::seed_from_u64(seed),
        )
        .expect("a configuration of the bench is one of the core");
        oram.tree().set_fill_order(FillOrder::PushToLeaf);
        GoldenFrontEnd {
            memory,
            oram,
            keys,
            mapped: HashSet::new(),
            pending: VecDeque::new(),
            turn_done: false,
            session: Session::default(),
        }
    }

    /// The keys that the controller takes: that of leaves and masks, and that of tags, if it has any.
    pub fn keys(&self) -> &[[u8; 16]] {
        &self.keys
    }

    /// Requests a block, or a write of it.
    pub fn queue_request(&mut self, block: BlockId, data: Option<Vec<u8>>) {
        let operation = data.clone().map_or(Operation::Read(block), |data| Operation::Write(block, data));
        self.session.requests.push(Request { operation, path: Leaf(0), leaf: Leaf(0) });
        self.pending.push_back((block, data));
    }

    /// Does the next path of the first pending request, and all work pending after it. Returns whether there was one.
    ///
    /// # Panics
    /// If the core fails: its memory never does.
    pub fn run_slot(&mut self) -> bool {
        let Some((block, data)) = self.pending.front().cloned() else { return false };
        let next = self.oram.next(block).expect("the block is one of the user's");
        let renewed = if let NextPath::PosMap(missing) = next { missing } else { block };
        if !self.turn_done {
            self.turn_done = true;
            if finish_now(self.oram.remap_straggler(renewed)).expect("stragglers move") {
                self.finish_pending_steps();
                return true;
            }
        }
        self.turn_done = false;
        let before = self.memory.reads();
        let mut answer = None;
        match next {
            NextPath::PosMap(missing) => finish_now(self.oram.fetch(missing)),
            NextPath::Block => finish_now(self.oram.access_block(block, |payload| {
                answer = Some(payload.to_vec());
                if let Some(data) = &data {
                    payload.copy_from_slice(data);
                }
            })),
        }
        .expect("the core serves every access");
        if self.mapped.insert(renewed) {
            self.session.drawn.push(self.memory.path_of(before));
        }
        self.finish_pending_steps();
        if let Some(answer) = answer {
            self.session.answers.push(answer);
            self.pending.pop_front();
        }
        true
    }

    /// Reads a dummy path, and does all work pending after it.
    ///
    /// # Panics
    /// As [`run_slot`](Self::run_slot).
    pub fn dummy(&mut self) {
        let before = self.memory.reads();
        finish_now(self.oram.tree().dummy()).expect("the core reads every path");
        self.session.spare.push(self.memory.path_of(before));
        self.finish_pending_steps();
    }

    /// Reads a block, or writes it. Returns the number of paths that it took, evictions apart.
    ///
    /// # Panics
    /// As [`run_slot`](Self::run_slot).
    pub fn run(&mut self, block: BlockId, data: Option<Vec<u8>>) -> u32 {
        self.queue_request(block, data);
        let mut paths = 0;
        while self.run_slot() {
            paths += 1;
        }
        paths
    }

    /// All that was shown so far.
    pub fn session(&self) -> Session {
        self.memory.with_traffic(&self.session)
    }

    /// All that was shown since the last time that this was called.
    pub fn take_session(&mut self) -> Session {
        self.memory.take_session_traffic(std::mem::take(&mut self.session))
    }

    fn finish_pending_steps(&self) {
        while self.oram.tree().pending_steps() > 0 {
            finish_now(self.oram.tree().step()).expect("the core completes its pending work");
        }
    }
}
