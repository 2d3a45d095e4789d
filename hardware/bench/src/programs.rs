//! The accesses of programs: what misses the last-level cache of the processor lab, and the dirty lines that leave it.

use crate::configuration::Configuration;
use crate::session::{Operation, Request, Session};
use ameles_core::types::{BlockId, Leaf};
use ameles_processor::cache::Cache;
use ameles_processor::trace::pages::{Order, PlacedMisses};
use ameles_processor::trace::{Kind, TraceError};
use ameles_traces::measure::LAST_LEVEL;
use ameles_traces::short;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::HashMap;

/// An access of a program to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramAccess {
    /// The block: a line of 64 bytes.
    pub block: BlockId,
    /// True if a dirty line leaves the cache.
    pub writes: bool,
}

/// The names of traces of real programs.
pub fn programs() -> impl Iterator<Item = &'static str> {
    short::names()
}

/// The accesses of a real program in a memory of that many lines, whose pages are placed at random; at most `max` of
/// them.
///
/// A miss of the last-level cache is a read, and a dirty line that is evicted for it is written after. The warm-up of
/// the trace fills the cache and does not count otherwise. `None` if no program has that name.
pub fn program_accesses(
    name: &str,
    lines: u64,
    max: usize,
) -> Option<Result<Vec<ProgramAccess>, TraceError>> {
    Some(short::open(name)?.and_then(|trace| {
        let warm_up = trace.warm_up() as usize;
        let (bytes, ways) = LAST_LEVEL;
        let mut cache = Cache::new(bytes, ways).expect("the lab's cache has a shape");
        let mut accesses = Vec::new();
        for (nth, miss) in PlacedMisses::new(trace, lines, Order::Random { seed: 1 }).enumerate() {
            let miss = miss?;
            let access = cache.access(miss.line, miss.kind == Kind::Store);
            if nth < warm_up {
                continue;
            }
            let of = |line: u64, writes| ProgramAccess { block: BlockId(line), writes };
            accesses.extend((!access.is_hit).then(|| of(miss.line.0, false)));
            accesses
                .extend(access.victim.filter(|victim| victim.is_dirty).map(|victim| of(victim.line.0, true)));
            if accesses.len() >= max {
                break;
            }
        }
        accesses.truncate(max);
        Ok(accesses)
    }))
}

/// Returns the consecutive blocks: the best possible locality.
pub fn scan(max: usize) -> Vec<ProgramAccess> {
    (0..max as u64).map(|nth| ProgramAccess { block: BlockId(nth), writes: false }).collect()
}

/// Returns the blocks at random: none.
pub fn rand(lines: u32, max: usize) -> Vec<ProgramAccess> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut block = || BlockId(u64::from(random.next_u32() % lines));
    (0..max).map(|_| ProgramAccess { block: block(), writes: false }).collect()
}

/// A session of the controller with its front end that makes these accesses, with the answers of correct memory.
///
/// It does not predict the bus: [`Bench::drive`](crate::Bench::drive) does not need that.
pub fn session_of(configuration: &Configuration, accesses: &[ProgramAccess]) -> Session {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut memory: HashMap<BlockId, Vec<u8>> = HashMap::new();
    let mut session = Session::default();
    for access in accesses {
        let zeros = || vec![0; configuration.block_bytes as usize];
        let held = memory.entry(access.block).or_insert_with(zeros);
        session.answers.push(held.clone());
        let operation = if access.writes {
            random.fill_bytes(held);
            Operation::Write(access.block, held.clone())
        } else {
            Operation::Read(access.block)
        };
        session.requests.push(Request { operation, path: Leaf(0), leaf: Leaf(0) });
    }
    // A path for each block that was never mapped: no more than a whole chain for each access.
    let chain = 1 + configuration.front_end_parameters().address_space().maps() as usize;
    session.drawn = (0..chain * accesses.len()).map(|_| Leaf(random.next_u32().into())).collect();
    session
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::Scheme;

    #[test]
    fn a_program_reads_what_it_misses_and_writes_what_leaves_dirty() {
        let lines = 1 << 20;
        let accesses = program_accesses("perl-hash", lines, 3000).unwrap().unwrap();
        assert_eq!(accesses.len(), 3000);
        assert!(accesses.iter().all(|access| access.block.0 < lines));
        let writes = accesses.iter().filter(|access| access.writes).count();
        assert!((300..1600).contains(&writes), "{writes} of 3000 are written: each with a read before it");
        assert_eq!(accesses, program_accesses("perl-hash", lines, 3000).unwrap().unwrap());
        assert!(program_accesses("none", lines, 1).is_none());
        assert!(programs().count() >= 8);
    }

    #[test]
    fn a_session_answers_with_what_was_written_last() {
        let configuration = Configuration::paper(Scheme::Raw).with_front_end();
        let access = |block, writes| ProgramAccess { block: BlockId(block), writes };
        let session = session_of(
            &configuration,
            &[access(5, false), access(5, true), access(6, true), access(5, false), access(5, true)],
        );
        let written = session.requests[1].operation.data().unwrap();
        assert_eq!(session.answers[..3], vec![vec![0; 64]; 3][..]);
        assert_eq!(session.answers[3..], [written.to_vec(), written.to_vec()]);
    }

    #[test]
    fn a_scan_goes_on_and_rand_goes_anywhere() {
        assert!(scan(100).iter().enumerate().all(|(nth, access)| access.block.0 == nth as u64));
        let rand = rand(1 << 20, 1000);
        let high = rand.iter().filter(|access| access.block.0 >= 1 << 19).count();
        assert!((400..600).contains(&high) && rand.iter().all(|access| access.block.0 < 1 << 20));
    }
}
