//! Computes the public schedule of a parallel ORAM independently: from the parameters and the traces of all processors
//! alone, messages included.

use super::super::array_model::Operation;
use super::super::driver::{Event, Work};
use super::super::trace_store::{ProcessorAction, SentMessage, TraceEntry};
use super::observer::{Observations, Observer, ShownLeaf, ensure};
use super::path::{FullObserver, Tree};
use super::reverse_bits::reverse_bits;
use super::sorting;
use crate::network::Processor;
use crate::schemes::parallel::ParallelParameters;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

/// The observer of a parallel ORAM with a flat position map, from its first round on. The adversary sees all traces:
/// each operation with its processor, and the ends and the length of each message.
///
/// The trace shows leaves in the order of places. [`in_order_of_places`] gives the place of each request.
pub fn observer(parameters: &ParallelParameters, seed: u64) -> Box<dyn Observer> {
    let processors = parameters.processors as usize;
    let bits = parameters.processors.ilog2();
    let (leaf_level, top) = (parameters.leaf_level.0 - bits, parameters.top.0 - bits);
    let part = |nth: u64| {
        let tree = Tree { leaf_level, top, first: nth * ((2 << leaf_level) - (1 << top)) };
        let paths = FullObserver::new(tree, seed.wrapping_mul(1 << 11).wrapping_add(nth));
        Part { paths, held: Vec::new() }
    };
    Box::new(ParallelObserver {
        block_bytes: parameters.block_bytes as usize,
        routed: parameters.message_bytes().routed,
        leaf_level,
        parts: (0..processors as u64).map(part).collect(),
        works: VecDeque::new(),
        has_begun: false,
        empty_batch: false,
        waiting: 0,
        is_eviction_due: false,
        will_be_due: false,
        rounds: 0,
        evictions: 0,
        observations: Observations::default(),
    })
}

/// The requests of a round in the order in which the processors request paths. They are in the order of blocks, one for
/// each block. Every other processor sends a dummy.
pub fn in_order_of_places(round: &[Operation], processors: usize) -> Vec<Operation> {
    let block = |operation: &Operation| match operation {
        Operation::Read(block) | Operation::Write(block, _) => Some(*block),
        Operation::Dummy => None,
    };
    let mut places = round.to_vec();
    places.sort_by_key(|operation| block(operation).map_or(u64::MAX, |block| block.0));
    for place in (1..places.len()).rev() {
        if block(&places[place]) == block(&places[place - 1]) {
            places[place] = Operation::Dummy;
        }
    }
    if !places.is_empty() {
        places.resize(processors, Operation::Dummy);
    }
    places
}

/// Something that is due.
#[derive(Clone, Debug)]
enum Due {
    /// Exactly these messages.
    Messages(Vec<SentMessage>),
    /// A message from each processor to the one whose path it requests, unless that is itself.
    Requests,
    /// A processor reads the paths of the requests with these indices.
    Reads(usize, Vec<usize>),
    /// A processor reads the buckets of two paths that it does not hold.
    Evicts(usize),
    /// A processor writes the buckets that it holds.
    Writes(usize),
}

/// A processor's subtree, and the buckets of it that were read and not written.
struct Part {
    paths: FullObserver,
    held: Vec<u64>,
}

struct ParallelObserver {
    block_bytes: usize,
    /// The lengths of the messages of the butterfly.
    routed: Vec<usize>,
    /// The level of the leaves of a subtree.
    leaf_level: u32,
    parts: Vec<Part>,
    /// The started tasks in the order in which they run, each with what is due.
    works: VecDeque<(Work, VecDeque<Due>)>,
    /// True if the first of them has shown something.
    has_begun: bool,
    /// True while a batch without accesses is in flight.
    empty_batch: bool,
    /// The number of operations that the stores and the network have not ended.
    waiting: usize,
    /// True if evictions are due; true if they will be when all tasks have ended.
    is_eviction_due: bool,
    will_be_due: bool,
    rounds: usize,
    evictions: u64,
    observations: Observations,
}

fn sent(from: usize, to: usize, bytes: usize) -> SentMessage {
    let [from, to] = [from, to].map(|place| Processor(place as u32));
    SentMessage { from, to, bytes }
}

impl ParallelObserver {
    fn processors(&self) -> usize {
        self.parts.len()
    }

    /// All that a round shows, up to who requests which path.
    fn round(&self) -> VecDeque<Due> {
        let m = self.processors();
        let record = 32 + self.block_bytes;
        let doubling = || (0..m.ilog2()).map(|step| 1usize << step);
        let sort = || {
            let both = |(one, other): (u64, u64)| {
                let (one, other) = (one as usize, other as usize);
                [sent(one, other, record), sent(other, one, record)]
            };
            sorting::stages(m as u64)
                .into_iter()
                .map(move |driver| driver.into_iter().flat_map(both).collect())
        };
        let neighbours = (1..m).flat_map(|p| [sent(p - 1, p, 8), sent(p, p - 1, 8)]).collect();
        let mut steps: Vec<Vec<SentMessage>> = sort().chain([neighbours]).collect();
        steps.extend(doubling().map(|d| (0..m).map(|p| sent(p, p ^ d, 16 * d)).collect()));
        let mut due: VecDeque<Due> = steps.into_iter().map(Due::Messages).collect();
        due.push_back(Due::Requests);
        let mut steps: Vec<Vec<SentMessage>> = Vec::new();
        steps.extend(doubling().map(|d| (d..m).map(|p| sent(p - d, p, record)).collect()));
        let routing = doubling().zip(&self.routed);
        steps.extend(routing.map(|(d, bytes)| (0..m).map(|p| sent(p, p ^ d, *bytes)).collect()));
        steps.extend(sort());
        due.extend(steps.into_iter().map(Due::Messages));
        due.retain(|due| !matches!(due, Due::Messages(messages) if messages.is_empty()));
        due
    }

    fn evictions(&self) -> VecDeque<Due> {
        let all = || 0..self.processors();
        all().map(Due::Evicts).chain(all().map(Due::Writes)).collect()
    }

    /// Records which processor each processor sends a request to, and the work that follows.
    fn request(&mut self, messages: &[SentMessage]) -> Result<(), String> {
        let m = self.processors();
        let mut owners: Vec<usize> = (0..m).collect();
        for message in messages {
            let (from, to) = (message.from.0 as usize, message.to.0 as usize);
            let is_request = from < m && to < m && from != to && message.bytes == 16;
            ensure(is_request && owners[from] == from, || format!("{message:?} among the requests"))?;
            owners[from] = to;
        }
        ensure(messages.is_sorted_by_key(|message| message.from), || String::from("requests out of order"))?;
        let mut due = VecDeque::new();
        for owner in 0..m {
            let places: Vec<usize> = (0..m).filter(|place| owners[*place] == owner).collect();
            if !places.is_empty() {
                due.push_back(Due::Reads(owner, places));
            }
        }
        let answered = (0..m).filter(|place| owners[*place] != *place);
        let answers: Vec<SentMessage> = answered.map(|p| sent(owners[p], p, self.block_bytes)).collect();
        if !answers.is_empty() {
            due.push_back(Due::Messages(answers));
        }
        if let Some((_, rest)) = self.works.front_mut() {
            due.append(rest);
            *rest = due;
        }
        Ok(())
    }

    /// Checks the reads of the paths of some requests, and records their leaves.
    fn read(&mut self, owner: usize, places: &[usize], entry: &TraceEntry) -> Result<(), String> {
        let TraceEntry::Read(slots) = entry else { return Err(format!("a round wrote: {entry:?}")) };
        let Part { paths, held } = &mut self.parts[owner];
        paths.begin_access(places.len());
        paths.read(slots)?;
        held.extend(slots.iter().map(|slot| slot.bucket.0));
        let leaves = mem::take(&mut paths.observations.leaves);
        let first = (self.rounds - 1) * self.parts.len();
        for (place, shown) in places.iter().zip(leaves) {
            let leaf = (owner as u64) << self.leaf_level | shown.leaf;
            self.observations.leaves.push(ShownLeaf { access: Some(first + place), leaf });
        }
        // Readers come in the order of their numbers, which are part of the leaves.
        self.observations.leaves[first..].sort_unstable_by_key(|shown| shown.access);
        self.observations.add("slots read on line", slots.len() as u64);
        Ok(())
    }

    fn evict(&mut self, processor: usize, entry: &TraceEntry) -> Result<(), String> {
        let TraceEntry::Read(slots) = entry else { return Err(format!("wrote before it read: {entry:?}")) };
        let Part { paths, held } = &mut self.parts[processor];
        let before = held.len();
        for eviction in [2 * self.evictions, 2 * self.evictions + 1] {
            for bucket in paths.tree.apart(reverse_bits(self.leaf_level, eviction), &[]) {
                if !held.contains(&bucket) {
                    held.push(bucket);
                }
            }
        }
        let read: Vec<u64> = slots.iter().map(|slot| slot.bucket.0).collect();
        ensure(read == held[before..], || format!("read {read:?}, due are {:?}", &held[before..]))
    }

    fn write(&mut self, processor: usize, entry: &TraceEntry) -> Result<(), String> {
        let TraceEntry::Write(buckets) = entry else { return Err(format!("read again: {entry:?}")) };
        let Part { paths, held } = &mut self.parts[processor];
        let written: Vec<u64> = buckets.iter().map(|bucket| bucket.0).collect();
        ensure(written == *held, || format!("wrote {written:?}, held are {held:?}"))?;
        held.clear();
        paths.held.clear();
        self.observations.add("buckets written", written.len() as u64);
        Ok(())
    }

    fn begins(&mut self) {
        let Some((work, _)) = self.works.front() else { return };
        if mem::replace(&mut self.has_begun, true) {
            return;
        }
        self.is_eviction_due = *work == Work::Access;
        self.rounds += usize::from(self.is_eviction_due);
    }

    fn acted(&mut self, work: Work, act: &ProcessorAction) -> Result<(), String> {
        self.waiting += 1;
        self.begins();
        let due = self.works.front_mut().filter(|(of, _)| *of == work).and_then(|(_, due)| due.pop_front());
        let due = due.ok_or_else(|| format!("{work:?} did {act:?}, and nothing was due"))?;
        match (&due, act) {
            (Due::Messages(messages), ProcessorAction::Messages(sent)) => {
                ensure(messages == sent, || format!("sent {sent:?}, due were {messages:?}"))
            }
            (Due::Requests, ProcessorAction::Messages(sent)) => self.request(sent),
            (Due::Requests, ProcessorAction::StoreRequest(..)) => {
                // Each asks itself.
                self.request(&[])?;
                self.waiting -= 1;
                self.acted(work, act)
            }
            (Due::Reads(owner, places), ProcessorAction::StoreRequest(processor, entry))
                if processor.0 as usize == *owner =>
            {
                self.read(*owner, places, entry)
            }
            (Due::Evicts(of), ProcessorAction::StoreRequest(processor, entry))
                if processor.0 as usize == *of =>
            {
                self.evict(*of, entry)
            }
            (Due::Writes(of), ProcessorAction::StoreRequest(processor, entry))
                if processor.0 as usize == *of =>
            {
                self.write(*of, entry)
            }
            _ => Err(format!("{act:?}, due was {due:?}")),
        }
    }

    fn ends(&mut self, work: Work) -> Result<(), String> {
        if work == Work::Access && mem::take(&mut self.empty_batch) {
            return Ok(());
        }
        let first = self.works.pop_front();
        let (of, due) = first.ok_or_else(|| format!("{work:?} ended, and had not begun"))?;
        ensure(of == work && due.is_empty(), || format!("{work:?} ended; of {of:?} {due:?} is due"))?;
        if work != Work::Access && mem::take(&mut self.has_begun) {
            self.evictions += 1;
        }
        self.has_begun = false;
        Ok(())
    }
}

impl Observer for ParallelObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Pending { pending_steps, must_step } => {
                let due = (u64::from(self.is_eviction_due), self.is_eviction_due);
                ensure((*pending_steps, *must_step) == due, || {
                    format!("pending: {pending_steps}, {must_step}")
                })
            }
            Event::AccessBegins(0) => {
                self.empty_batch = true;
                Ok(())
            }
            Event::AccessBegins(_) => {
                ensure(!self.will_be_due, || {
                    String::from("a round begins before the evictions of the last")
                })?;
                self.will_be_due = true;
                let round = self.round();
                self.works.push_back((Work::Access, round));
                Ok(())
            }
            Event::StepBegins(nth) => {
                let due = if mem::take(&mut self.will_be_due) { self.evictions() } else { VecDeque::new() };
                self.works.push_back((Work::Step(*nth), due));
                Ok(())
            }
            Event::ProcessorAction(work, act) => self.acted(*work, act),
            Event::StoreRequest(..) | Event::Redraws { .. } => Err(format!("no processor's: {event:?}")),
            Event::StoreAnswer(..) => {
                self.waiting -= 1;
                Ok(())
            }
            Event::Ends(work) => self.ends(*work),
            Event::Quiescent => ensure(self.works.is_empty() || self.waiting > 0, || {
                format!("{:?} lingers", self.works.front())
            }),
            Event::Recovers(_) | Event::Yields(_) => Ok(()),
        }
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}
