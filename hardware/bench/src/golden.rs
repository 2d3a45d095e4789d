//! The golden model: a scheme of the core over memory that is laid out and encrypted as in the controller.

use crate::configuration::{Configuration, IV_BITS, Scheme};
use crate::pads::{Pads, Part};
use crate::session::{Operation, Request, Session};
use ameles_core::position_map::external::PositionUpdate;
use ameles_core::schemes::freecursive::Backend;
use ameles_core::store::Store;
use ameles_core::testing::finish_now;
use ameles_core::tree::block_header::{self, HEADER_BYTES};
use ameles_core::tree::placement::FillOrder;
use ameles_core::types::{BlockId, Bucket, Leaf, Slot};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::rc::Rc;

/// Memory of a scheme of the core that records what the controller's bus must show.
///
/// The core's buckets are the buckets of the tree. With RAW ORAM they are headers, and the same number of bodies
/// follows.
#[derive(Clone)]
pub struct GoldenMemory(Rc<RefCell<State>>);

struct State {
    configuration: Configuration,
    pads: Pads,
    /// The plaintexts of the core's buckets.
    plaintexts: HashMap<u64, Vec<u8>>,
    /// The times that each bucket's body was written (RAW ORAM).
    body_writes: HashMap<u64, u64>,
    /// The buckets that were written (Path ORAM).
    written: HashSet<u64>,
    /// The number of paths that were written.
    paths: u64,
    reads: Vec<(u64, usize)>,
    /// The buckets that were read.
    buckets: Vec<u64>,
    writes: Vec<(u64, Vec<u8>)>,
}

impl GoldenMemory {
    pub(crate) fn new(configuration: Configuration, key: &[u8; 16]) -> Self {
        GoldenMemory(Rc::new(RefCell::new(State {
            configuration,
            pads: Pads::new(key),
            plaintexts: HashMap::new(),
            body_writes: HashMap::new(),
            written: HashSet::new(),
            paths: 0,
            reads: Vec::new(),
            buckets: Vec::new(),
            writes: Vec::new(),
        })))
    }

    /// Returns the number of buckets that were read so far.
    pub(crate) fn reads(&self) -> usize {
        self.0.borrow().reads.len()
    }

    /// The path whose reading began after that many reads. Its last bucket is the leaf.
    ///
    /// # Panics
    /// If no path was read.
    pub(crate) fn path_of(&self, before: usize) -> Leaf {
        let state = self.0.borrow();
        let Configuration { leaf_level, top_levels, .. } = state.configuration;
        let Some(bucket) = state.buckets.get(before + (leaf_level - top_levels) as usize) else {
            panic!("a path was read");
        };
        Leaf(bucket - ((1 << leaf_level) - 1))
    }

    /// Adds what the bus must show to a session, and forgets it.
    pub(crate) fn take_session_traffic(&self, session: Session) -> Session {
        let mut state = self.0.borrow_mut();
        state.buckets.clear();
        let (reads, writes) = (std::mem::take(&mut state.reads), std::mem::take(&mut state.writes));
        Session { reads, writes, ..session }
    }

    /// Adds what the bus must show to a session.
    pub(crate) fn with_traffic(&self, session: &Session) -> Session {
        let state = self.0.borrow();
        Session { reads: state.reads.clone(), writes: state.writes.clone(), ..session.clone() }
    }
}

impl State {
    /// The level of a bucket of the core: bodies are numbered as headers are, behind them.
    fn level(&self, bucket: u64) -> u32 {
        (bucket % self.configuration.buckets() + 1).ilog2()
    }

    fn bucket_bytes(&self, bucket: u64) -> usize {
        self.configuration.bucket_beats(self.level(bucket)) * self.configuration.beat_bytes()
    }

    /// Returns whether a bucket of the core is one of the tree in memory. RAW ORAM of the core has its top levels in
    /// memory, too.
    fn is_on_bus(&self, bucket: u64) -> bool {
        (self.configuration.top_buckets()..self.configuration.buckets()).contains(&bucket)
    }

    /// Returns the number of plaintext bytes of a bucket of the core.
    fn plain_bytes(&self, bucket: u64) -> usize {
        let Configuration { scheme, .. } = self.configuration;
        let (header, block) = (HEADER_BYTES, self.configuration.tagged_bytes() as usize);
        let entry = match scheme {
            Scheme::Path => header + block,
            Scheme::Raw if bucket < self.configuration.buckets() => header,
            Scheme::Raw => block,
        };
        self.configuration.places(self.level(bucket)) as usize * entry
    }

    fn plaintext(&mut self, bucket: u64) -> &mut Vec<u8> {
        let bytes = self.plain_bytes(bucket);
        self.plaintexts.entry(bucket).or_insert_with(|| vec![0; bytes])
    }

    fn read(&mut self, slots: &[Slot], mut into: &mut [u8]) {
        let buckets = self.configuration.buckets();
        for slot in slots {
            let bucket = slot.bucket.0;
            if self.is_on_bus(bucket) {
                let (address, bytes) = (self.configuration.address(bucket), self.bucket_bytes(bucket));
                self.reads.push((address, bytes));
                self.buckets.push(bucket);
            }
            let is_body = bucket >= buckets;
            let bytes =
                if is_body { self.configuration.tagged_bytes() as usize } else { self.plain_bytes(bucket) };
            let (here, rest) = into.split_at_mut(bytes);
            here.copy_from_slice(&self.plaintext(bucket)[slot.index as usize * bytes..][..bytes]);
            into = rest;
        }
    }

    /// Writes a path.
    fn write(&mut self, buckets: &[Bucket], mut from: &[u8]) {
        let iv = self.paths;
        self.paths += 1;
        for bucket in buckets {
            let (here, rest) = from.split_at(self.plain_bytes(bucket.0));
            from = rest;
            self.plaintext(bucket.0).copy_from_slice(here);
        }
        let written_buckets: HashSet<u64> = buckets.iter().map(|bucket| bucket.0).collect();
        let trees = self.configuration.buckets();
        for bucket in buckets.iter().map(|bucket| bucket.0) {
            if !self.is_on_bus(bucket) {
                continue;
            }
            let mut bytes = self.header(bucket, iv, &written_buckets);
            match self.configuration.scheme {
                Scheme::Path => {
                    let body = self.path_body(bucket, iv);
                    bytes.extend(body);
                }
                Scheme::Raw if written_buckets.contains(&(trees + bucket)) => {
                    let body = self.raw_body(bucket);
                    bytes.extend(body);
                }
                Scheme::Raw => {}
            }
            self.writes.push((self.configuration.address(bucket), bytes));
        }
        self.written.extend(written_buckets);
    }

    /// The header of a bucket: the IV, then the entries, hidden.
    fn header(&mut self, bucket: u64, iv: u64, written_buckets: &HashSet<u64>) -> Vec<u8> {
        let shape = self.configuration;
        let stride = self.plain_bytes(bucket) / shape.places(self.level(bucket)) as usize;
        let plaintexts = self.plaintext(bucket).clone();
        let mut row = vec![0; shape.row_chunks() as usize * 16];
        for (place, entry) in plaintexts.chunks_exact(stride).enumerate() {
            let Some((block, leaf)) = block_header::read(entry) else { continue };
            let first = place * shape.entry_bits() as usize;
            put_bits(&mut row, first, shape.leaf_bits(), leaf.0);
            put_bits(&mut row, first + shape.leaf_bits() as usize, shape.address_bits(), block.0);
            put_bits(&mut row, first + shape.entry_bits() as usize - 1, 1, 1);
        }
        if shape.scheme == Scheme::Path {
            for (nth, below) in [2 * bucket + 1, 2 * bucket + 2].into_iter().enumerate() {
                let is_written = self.written.contains(&below) || written_buckets.contains(&below);
                let first = (shape.blocks_per_bucket * shape.entry_bits()) as usize + nth;
                put_bits(&mut row, first, 1, is_written.into());
            }
        }
        self.pads.apply(Part::Header, iv, bucket, &mut row);
        let mut header = iv.to_le_bytes().to_vec();
        debug_assert_eq!(header.len() as u32 * 8, IV_BITS);
        header.extend(row);
        header.resize(shape.header_beats() * shape.beat_bytes(), 0);
        header
    }

    fn path_body(&mut self, bucket: u64, iv: u64) -> Vec<u8> {
        let stride = HEADER_BYTES + self.configuration.tagged_bytes() as usize;
        let plaintexts = self.plaintext(bucket).clone();
        let mut body = self.body(plaintexts.chunks_exact(stride).map(|entry| &entry[HEADER_BYTES..]));
        self.pads.apply(Part::Body, iv, bucket, &mut body);
        body
    }

    fn raw_body(&mut self, bucket: u64) -> Vec<u8> {
        let body = self.configuration.buckets() + bucket;
        let count = self.body_writes.entry(bucket).or_default();
        *count += 1;
        let iv = *count;
        let plaintexts = self.plaintext(body).clone();
        let mut bytes = self.body(plaintexts.chunks_exact(self.configuration.tagged_bytes() as usize));
        self.pads.apply(Part::Body, iv, bucket, &mut bytes);
        bytes
    }

    /// Returns the blocks as in a body, followed by their tags, each within a beat.
    fn body<'a>(&self, blocks: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
        let shape = self.configuration;
        let tag_bytes = shape.tag_bits() as usize / 8;
        let (mut body, mut tags) = (Vec::new(), Vec::new());
        for (nth, block) in blocks.enumerate() {
            let (block, tag) = block.split_at(shape.block_bytes as usize);
            body.extend(block);
            tags.resize(
                nth / shape.tags_per_beat() * shape.beat_bytes() + nth % shape.tags_per_beat() * tag_bytes,
                0,
            );
            tags.extend(&tag[..tag_bytes]);
        }
        tags.resize(shape.tag_beats() * shape.beat_bytes(), 0);
        body.extend(tags);
        body
    }
}

/// Writes bits into a row, the lowest first.
fn put_bits(row: &mut [u8], first: usize, bits: u32, value: u64) {
    for bit in 0..bits as usize {
        row[(first + bit) / 8] |= ((value >> bit & 1) as u8) << ((first + bit) % 8);
    }
}

impl Store for GoldenMemory {
    type Error = Infallible;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), Infallible> {
        self.0.borrow_mut().read(slots, into);
        Ok(())
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), Infallible> {
        self.0.borrow_mut().write(buckets, from);
        Ok(())
    }
}

/// A tree of the core, driven as the controller is, with its own positions.
pub struct Golden {
    configuration: Configuration,
    memory: GoldenMemory,
    tree: Backend<GoldenMemory, ChaCha8Rng>,
    positions: HashMap<BlockId, Leaf>,
    random: ChaCha8Rng,
    session: Session,
}

impl Golden {
    /// An empty tree.
    ///
    /// # Panics
    /// If the core refuses the configuration.
    pub fn new(configuration: Configuration, key: &[u8; 16], seed: u64) -> Self {
        let memory = GoldenMemory::new(configuration, key);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let for_tree = ChaCha8Rng::from_rng(&mut random);
        let tree = Backend::new(&configuration.parameters(), Bucket(0), memory.clone(), for_tree)
            .expect("a configuration of the bench is one of the core");
        tree.set_fill_order(FillOrder::PushToLeaf);
        Golden { configuration, memory, tree, positions: HashMap::new(), random, session: Session::default() }
    }

    /// Does an operation, and all work pending after it.
    ///
    /// # Panics
    /// If the core fails: its memory never does.
    pub fn run(&mut self, operation: Operation) {
        let leaf = Leaf(u64::from(self.random.next_u32()) & ((1 << self.configuration.leaf_level) - 1));
        let before = self.memory.reads();
        let mut answer = None;
        let old = operation.block().and_then(|block| self.positions.get(&block).copied());
        let tree = &self.tree;
        finish_now(async {
            match &operation {
                Operation::Read(block) => {
                    tree.access_at(*block, PositionUpdate { old, new: leaf }, |payload| {
                        answer = Some(payload.to_vec())
                    })
                    .await
                }
                Operation::Write(block, data) => {
                    tree.access_at(*block, PositionUpdate { old, new: leaf }, |payload| {
                        answer = Some(payload.to_vec());
                        payload.copy_from_slice(data);
                    })
                    .await
                }
                Operation::Take(block) => {
                    tree.take_out(*block, old, |payload| answer = Some(payload.to_vec())).await
                }
                Operation::Put(block, data) => tree.put_in(*block, leaf, data),
                Operation::Dummy => tree.dummy().await,
            }
        })
        .expect("the core serves every operation");
        match &operation {
            Operation::Read(block) | Operation::Write(block, _) | Operation::Put(block, _) => {
                self.positions.insert(*block, leaf);
            }
            Operation::Take(block) => {
                self.positions.remove(block);
            }
            Operation::Dummy => {}
        }
        let path =
            if matches!(operation, Operation::Put(..)) { Leaf(0) } else { self.memory.path_of(before) };
        self.session.answers.extend(answer);
        self.session.requests.push(Request { operation, path, leaf });
        self.finish_pending_steps();
    }

    /// The blocks that have a position.
    pub fn is_in(&self, block: BlockId) -> bool {
        self.positions.contains_key(&block)
    }

    /// All that was shown so far.
    pub fn session(&self) -> Session {
        self.memory.with_traffic(&self.session)
    }

    /// All that was shown since the last time that this was called.
    pub fn take_session(&mut self) -> Session {
        self.memory.take_session_traffic(std::mem::take(&mut self.session))
    }

    /// Returns the number of evictions outside of the schedule so far.
    pub fn emergencies(&self) -> u64 {
        self.tree.emergencies()
    }

    fn finish_pending_steps(&mut self) {
        while self.tree.pending_steps() > 0 {
            let (before, emergencies) = (self.memory.reads(), self.tree.emergencies());
            finish_now(self.tree.step()).expect("the core completes its pending work");
            if self.configuration.scheme == Scheme::Path && self.tree.emergencies() > emergencies {
                self.session.drawn.push(self.memory.path_of(before));
            }
        }
    }
}
