//! An oblivious parallel RAM: m processors share one memory, and each requests a block in every round.
//!
//! Boyle, Chung, Pass, "Oblivious Parallel RAM and Applications", TCC 2016-A, say what is requested, and resolve
//! conflicts by oblivious sorts. Chen, Lin, Tessaro, "Oblivious Parallel RAM: Improved Efficiency and Generic
//! Constructions", TCC 2016-A, divide the tree: each processor has a subtree and its stash (Subtree-OPRAM). Chan, Shi,
//! "Circuit OPRAM: Unifying Statistically and Computationally Secure ORAMs and OPRAMs", TCC 2017, evict as Circuit ORAM
//! does. Each round evicts one path in each of 2m subtrees. This is Subtree-OPRAM with that eviction. It was built from
//! the ideas of the three, and not from their pseudocode.
//!
//! ```text
//! Round(r_1 .. r_m), r_i the request of processor i
//!     sort the requests by block, then by i; dummies come last          after this "processor p" has the p-th of them
//!     p tells p - 1 and p + 1 its block: the first request for a block speaks for all
//!     each p draws x'_p;  all tell all (a_p, x'_p) of the first ones;  x_p <- position[a_p];  position[a_p] <- x'_p
//!     each p that is not first, or whose block has no leaf:  x_p <- UniformRandom(0 .. 2^L - 1)
//!     p asks the processor of x_p's subtree, which reads P(x_p), takes a_p out, and sends it to p
//!     for d in 1, 2, 4, .., m / 2:  p tells p + d what it knows of its block: contents and new leaf
//!     p that is last for its block:  route (a_p, x'_p, contents) to the processor of x'_p's subtree, into its stash
//!         for k in 0, 1, .., lg m - 1:  p exchanges with p xor 2^k the blocks that differ from p in bit k
//!     sort the answers by i
//! Evict: each processor evicts two paths of its subtree in reverse lexicographic order, as Circuit ORAM does
//! ```
//!
//! **Differences from the papers.** The position map is flat; the papers recurse. Each processor has all of it, 4 bytes
//! for each block, and is told each change. One table stands for theirs here. Requests are sorted by Batcher's merge
//! exchange. Requests for one block take effect in the order of processors, as everywhere in this library. A PRAM lets
//! all read before one of them writes. One trusted thread plays all processors.
//!
//! **What the trace shows** (adversary `Full`): every operation of the stores with its processor, and sender, receiver
//! and length of every message. A round shows m requests, however many of them are dummies or for one block. Every
//! round is the same, except for the paths x_p. Each of these was drawn at the last request for its block, or is drawn
//! now. So they are uniform and independent, and with them who asks whom, and how many paths a processor reads. The
//! trace does not show the new leaves: the length of the routing's messages does not depend on their contents. `step`
//! reads the buckets of the next two paths of each subtree that are not held, and writes all held buckets. The trace
//! shows two more things, which are counted as [emergencies](Oram::emergencies). A message of the routing that has no
//! room for its blocks is followed by another one. The probability is below 2^-80 for each round
//! ([`routing_overflow_log2`]). A processor whose stash lacks room for a round evicts one path more.
//!
//! **The stash.** The blocks of all processors together come and go as in Circuit ORAM with batches of m. So Circuit
//! ORAM's bound, an extrapolation of simulations, holds for all stashes together, and for each.
//!
//! **Costs** of a round, K = L + 1 - top buckets of one slot a path. Memory: on line, at most m K slots are read in one
//! round trip. Off line, at most 2 m K are read in one round trip, and 3 m K written in another. Messages are sent in
//! steps. Each of the two sorts takes lg m (lg m + 1) / 2 steps, with at most m messages each. The neighbours take 1,
//! position map, passing on and routing together take 3 lg m, and the blocks take 2. [`MessageBytes`] has their
//! lengths.
//!
//! **Errors**: those of [`OramError`], never `StashFull`. Errors of the network are errors of the store. After any but
//! a refusal, and after a future that was dropped half-way, it answers [`OramError::Poisoned`] only.

#[cfg(feature = "inspect")]
mod inspect;
mod load;
mod parameters;
mod record;
mod routing;
mod steps;
mod sub_oram;

pub use load::routing_overflow_log2;
pub use parameters::{MessageBytes, ParallelParameters, ParallelParametersError};

use crate::concurrency::exclusive::Exclusive;
use crate::network::{Message, Network, Processor};
use crate::oram::{Access, Bounds, Oram, OramError};
use crate::permutation::sampling;
use crate::position_map::{Lookup, PositionMap};
use crate::store::Store;
use crate::tree::block_header::HEADER_BYTES;
use crate::types::Leaf;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use futures_util::future::try_join_all;
use rand_core::RngCore;
use routing::Butterfly;
use steps::{PlaceInRun, Places, exchange, message, place, spread};
use sub_oram::SubOram;

/// An oblivious parallel RAM over a store for each processor, and a network between them. One position map and one
/// randomness stand for those of all.
///
/// A batch is a round: its n-th access is the request of the n-th processor. Processors without an access make no
/// request.
pub struct ParallelOram<S, N, P, R> {
    parameters: ParallelParameters,
    stores: Vec<S>,
    network: N,
    positions: P,
    exclusive: Exclusive,
    /// True from a round to its evictions.
    eviction_pending: Cell<bool>,
    /// True if a processor lacks room for a round.
    is_crowded: Cell<bool>,
    emergencies: Cell<u64>,
    /// The state, unless an operation has taken it.
    state: RefCell<Option<State<R>>>,
}

struct State<R> {
    random: R,
    parts: Vec<SubOram>,
}

impl<S, N, P, R> ParallelOram<S, N, P, R>
where
    S: Store,
    N: Network<Error = S::Error>,
    P: PositionMap<Error = S::Error>,
    R: RngCore,
{
    /// An empty parallel ORAM: stores that were never written, a position map in which nothing is mapped. Buckets are
    /// numbered from 0; the n-th store has only those of the n-th [subtree](ParallelParameters::subtree).
    ///
    /// # Errors
    /// [`ParallelParametersError`].
    pub fn new(
        parameters: ParallelParameters,
        stores: Vec<S>,
        network: N,
        positions: P,
        random: R,
    ) -> Result<Self, ParallelParametersError> {
        parameters.validate()?;
        if stores.len() != parameters.processors as usize {
            let (stores, processors) = (stores.len(), parameters.processors);
            return Err(ParallelParametersError::Stores { stores, processors });
        }
        let processors = (0..parameters.processors).map(Processor);
        let parts = processors.map(|processor| SubOram::new(&parameters, processor)).collect();
        Ok(ParallelOram {
            parameters,
            stores,
            network,
            positions,
            exclusive: Exclusive::default(),
            eviction_pending: Cell::new(false),
            is_crowded: Cell::new(false),
            emergencies: Cell::new(0),
            state: RefCell::new(Some(State { random, parts })),
        })
    }

    /// The parameters of the ORAM.
    pub fn parameters(&self) -> &ParallelParameters {
        &self.parameters
    }

    /// Returns the number of blocks in the stash of each processor now; empty while an operation is in flight. Secret.
    pub fn stash_blocks(&self) -> Vec<usize> {
        let state = self.state.borrow();
        state.iter().flat_map(|state| &state.parts).map(SubOram::stash_blocks).collect()
    }

    /// Returns the number of bytes on the trusted side that outlast an operation, of all processors together: stashes,
    /// held buckets, and a position map each.
    pub fn trusted_bytes(&self) -> usize {
        let state = self.state.borrow();
        let parts: usize = state.iter().flat_map(|state| &state.parts).map(SubOram::trusted_bytes).sum();
        parts + self.parameters.processors as usize * self.positions.trusted_bytes()
    }

    /// Does a round up to the evictions.
    async fn round(
        &self,
        State { random, parts }: &mut State<R>,
        batch: &mut [Access<'_>],
    ) -> Result<(), OramError<S::Error>> {
        let mut places = self.requests(batch);
        places.sort(&self.network, record::by_block).await?;
        let runs = places.find_runs(&self.network).await?;
        let lookups = self.look_up(random, &places, &runs).await?;
        self.fetch(random, parts, &mut places, &lookups).await?;
        places.pass_on(&self.network).await?;
        self.put_back(parts, &places, &runs).await?;
        places.sort(&self.network, record::origin).await?;
        for (access, place) in batch.iter_mut().zip(0..) {
            if let (Access::Read(_, into), Some(value)) = (access, record::value(places.record(place))) {
                into.copy_from_slice(value);
            }
        }
        Ok(())
    }

    /// The requests in their order, one at each processor.
    fn requests(&self, batch: &[Access<'_>]) -> Places {
        let processors = self.parameters.processors as usize;
        let mut places = Places::new(processors, self.parameters.message_bytes().record);
        for origin in 0..processors {
            let access = batch.get(origin);
            let written = match access {
                Some(Access::Write(_, from)) => Some(&**from),
                _ => None,
            };
            record::write(places.record_mut(origin), access.and_then(Access::block), origin, written);
        }
        places
    }

    /// Looks the blocks of the first requests up, and gives each a new leaf. Every place draws one.
    async fn look_up(
        &self,
        random: &mut R,
        places: &Places,
        runs: &[PlaceInRun],
    ) -> Result<Vec<Lookup>, OramError<S::Error>> {
        let mut changes = Vec::new();
        for (place, PlaceInRun { is_first, .. }) in runs.iter().enumerate() {
            let block = record::block(places.record(place)).filter(|_| *is_first);
            let mut change = alloc::vec![0; 16];
            record::set_word(&mut change, 0, record::word_of(block));
            record::set_word(&mut change, 8, self.draw_leaf(random).0);
            changes.push(change);
        }
        let known = spread(&self.network, changes).await?;
        let lookup = |change: &[u8]| {
            let block = record::block_of(record::word(change, 0));
            Lookup { block, new: Leaf(record::word(change, 8)), old: None }
        };
        let mut lookups: Vec<Lookup> = known.chunks_exact(16).map(lookup).collect();
        self.positions.remap(&mut lookups).await?;
        Ok(lookups)
    }

    /// Lets the processor of each path read it and send the block, and records at each index what came.
    async fn fetch(
        &self,
        random: &mut R,
        parts: &mut [SubOram],
        places: &mut Places,
        lookups: &[Lookup],
    ) -> Result<(), OramError<S::Error>> {
        let mut requested = Vec::new();
        for (from, lookup) in lookups.iter().enumerate() {
            let drawn = self.draw_leaf(random);
            let (owner, leaf) = self.locate(lookup.old.unwrap_or(drawn))?;
            let mut request = [0; 16];
            record::set_word(&mut request, 0, record::word_of(lookup.block.filter(|_| lookup.old.is_some())));
            record::set_word(&mut request, 8, leaf.0);
            requested.push(message(from, owner, &request));
        }
        let requested = exchange(&self.network, requested).await?;

        let paths: Vec<Vec<Leaf>> = (0..parts.len())
            .map(|owner| {
                let own = requested.iter().filter(|request| place(request.to) == owner);
                own.map(|request| Leaf(record::word(&request.contents, 8))).collect()
            })
            .collect();
        let readers = parts.iter_mut().zip(&self.stores).zip(&paths);
        try_join_all(readers.map(|((part, store), paths)| part.read(paths, store))).await?;

        let mut answers = Vec::new();
        for Message { from, to, contents } in requested {
            let mut payload = alloc::vec![0; self.parameters.block_bytes as usize];
            let (block, leaf) =
                (record::block_of(record::word(&contents, 0)), Leaf(record::word(&contents, 8)));
            if let Some(block) = block {
                parts[place(to)].take_out(block, leaf, &mut payload)?;
            }
            answers.push(Message { from: to, to: from, contents: payload });
        }
        for Message { to, contents, .. } in exchange(&self.network, answers).await? {
            let (record, lookup) = (places.record_mut(place(to)), &lookups[place(to)]);
            if lookup.block.is_some() {
                record::set_leaf(record, lookup.new);
                if record::value(record).is_none() {
                    record::set_value(record, &contents);
                }
            }
        }
        Ok(())
    }

    /// Routes every block that was requested to its new subtree, from the last place that requested it.
    async fn put_back(
        &self,
        parts: &mut [SubOram],
        places: &Places,
        runs: &[PlaceInRun],
    ) -> Result<(), OramError<S::Error>> {
        let butterfly = Butterfly {
            bits: self.parameters.bits(),
            leaf_bits: self.parameters.leaf_level.0 - self.parameters.bits(),
            entry_bytes: HEADER_BYTES + self.parameters.block_bytes as usize,
        };
        let mut entries = Vec::new();
        for (place, PlaceInRun { is_last, .. }) in runs.iter().enumerate() {
            let record = places.record(place);
            let known = (record::block(record), record::leaf(record), record::value(record));
            entries.push(match known {
                (Some(block), Some(leaf), Some(value)) if *is_last => {
                    alloc::vec![routing::entry(block, leaf, value)]
                }
                _ => Vec::new(),
            });
        }
        let too_short = butterfly.route(&self.network, &mut entries).await?;
        self.emergencies.update(|emergencies| emergencies + too_short);
        for (part, entries) in parts.iter_mut().zip(&entries) {
            for (block, leaf, payload) in entries.iter().filter_map(|entry| routing::contents(entry)) {
                let (_, leaf) = self.locate(leaf)?;
                part.add_to_stash(block, leaf, payload)?;
            }
        }
        Ok(())
    }

    /// A uniform leaf of the whole tree.
    fn draw_leaf(&self, random: &mut R) -> Leaf {
        Leaf(sampling::below_power_of_two(random, 1 << self.parameters.leaf_level.0))
    }

    /// The processor whose subtree a leaf belongs to, and the leaf within it.
    fn locate(&self, leaf: Leaf) -> Result<(usize, Leaf), OramError<S::Error>> {
        let within = self.parameters.leaf_level.0 - self.parameters.bits();
        let owner = leaf.0 >> within;
        if owner >= self.parameters.processors.into() {
            return Err(OramError::Contradiction("a position lies beyond the tree"));
        }
        Ok((owner as usize, Leaf(leaf.0 & ((1 << within) - 1))))
    }

    /// Has each processor evict what is due, or a path more if it lacks room.
    async fn evict(&self, parts: &mut [SubOram]) -> Result<(), OramError<S::Error>> {
        let before: u64 = parts.iter().map(SubOram::emergencies).sum();
        let readers = parts.iter_mut().zip(&self.stores).map(|(part, store)| {
            let is_crowded = !part.has_room(&self.parameters);
            part.read_evicted(is_crowded, store)
        });
        try_join_all(readers).await?;
        let writers = parts.iter_mut().zip(&self.stores).map(|(part, store)| part.write_evicted(store));
        try_join_all(writers).await?;
        let after: u64 = parts.iter().map(SubOram::emergencies).sum();
        self.emergencies.update(|emergencies| emergencies + after - before);
        Ok(())
    }

    /// Puts the state back, and records whether a processor lacks room.
    fn put_down(&self, state: State<R>) {
        let has_room = |part: &SubOram| part.has_room(&self.parameters);
        self.is_crowded.set(!state.parts.iter().all(has_room));
        self.state.replace(Some(state));
    }
}

impl<S, N, P, R> Oram for ParallelOram<S, N, P, R>
where
    S: Store,
    N: Network<Error = S::Error>,
    P: PositionMap<Error = S::Error>,
    R: RngCore,
{
    type Error = S::Error;

    fn bounds(&self) -> Bounds {
        self.parameters.bounds()
    }

    /// Serves a round. Its n-th access is that of the n-th processor, and sees what those before it write.
    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<S::Error>> {
        let serve = async |batch: &mut [Access<'_>]| {
            let mut state = self.state.take().ok_or(OramError::Poisoned)?;
            self.eviction_pending.set(true);
            state.parts.iter_mut().for_each(SubOram::begin_round);
            self.round(&mut state, batch).await?;
            self.put_down(state);
            Ok(())
        };
        self.exclusive.access(self, batch, serve).await
    }

    fn pending_steps(&self) -> u64 {
        u64::from(self.must_step()) + self.positions.pending_steps()
    }

    fn must_step(&self) -> bool {
        self.eviction_pending.get() || self.is_crowded.get() || self.positions.must_step()
    }

    /// Does the evictions of a round; when none are due, one of each processor that lacks room, or a step of the
    /// position map's.
    async fn step(&self) -> Result<(), OramError<S::Error>> {
        let work = async || {
            if self.eviction_pending.replace(false) || self.is_crowded.get() {
                let mut state = self.state.take().ok_or(OramError::Poisoned)?;
                self.evict(&mut state.parts).await?;
                self.put_down(state);
                Ok(())
            } else {
                self.positions.step().await
            }
        };
        self.exclusive.step(work).await
    }

    fn emergencies(&self) -> u64 {
        self.emergencies.get() + self.positions.emergencies()
    }
}
