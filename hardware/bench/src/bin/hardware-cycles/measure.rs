//! Runs whose means are reported. Requests come back to back, as soon as the controller accepts them, or alone, each
//! after the answer of the previous one.

use ameles_core::types::BlockId;
use ameles_hardware_bench::{
    Bench, Configuration, Design, DesignBuilder, Dram, Faults, Golden, Operation, Pace, Run, Scheme, Session,
};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::error::Error;

/// The key of all runs of a backend.
pub(crate) const KEY: [u8; 16] = *b"a key of reports";

/// Accesses whose means are reported, and those before them.
#[derive(Clone, Copy)]
pub(crate) struct Length {
    pub(crate) before: usize,
    pub(crate) measured: usize,
}

/// The length of runs of the paper's configurations.
pub(crate) const LONG: Length = Length { before: 500, measured: 2000 };

/// Means over an access.
pub(crate) struct Means {
    /// The number of cycles.
    pub(crate) cycles: f64,
    /// The number of beats that were read and written.
    pub(crate) beats: f64,
    /// The number of blocks of AES.
    pub(crate) chunks: f64,
}

/// Reads of random blocks from a backend, with all that they must show.
pub(crate) fn random_reads(configuration: &Configuration, length: Length) -> Session {
    let mut golden = Golden::new(*configuration, &KEY, 1);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..length.before + length.measured {
        golden.run(Operation::Read(BlockId(u64::from(random.next_u32() % configuration.blocks))));
    }
    golden.session()
}

/// Runs a session over the paper's ideal memory, or over DRAM, and compares all that it shows.
pub(crate) fn run(
    builder: &DesignBuilder,
    configuration: &Configuration,
    session: &Session,
    dram: Option<Dram>,
) -> Result<(Run, Bench), Box<dyn Error>> {
    let design = builder.design(configuration, None)?;
    let mut bench = Bench::new(&design, *configuration, Pace::IDEAL, Faults::default(), 1)?;
    if let Some(dram) = dram {
        bench.attach_dram(dram)?;
    }
    bench.load_key(&KEY);
    let run = bench.run(session)?;
    Ok((run, bench))
}

/// Means of a run in which each request has an answer.
pub(crate) fn means(run: &Run, length: Length) -> Means {
    let (before, last) = (length.before - 1, length.before + length.measured - 1);
    let (begin, end) = (run.answers[before], run.answers[last]);
    let passed = |cycles: &[u64]| cycles.iter().filter(|cycle| (begin..end).contains(cycle)).count();
    let beats = passed(&run.traffic.read_beats) + passed(&run.traffic.write_beats);
    let per_access = |total: f64| total / length.measured as f64;
    Means {
        cycles: per_access((end - begin) as f64),
        beats: per_access(beats as f64),
        chunks: per_access(f64::from(run.aes_chunks[last] - run.aes_chunks[before])),
    }
}

/// Returns the session with a user who sends a request only after the answer of the previous one.
pub(crate) fn one_at_a_time(session: &Session) -> Session {
    Session { wait: 1, ..session.clone() }
}

/// The mean of the cycles from taking a request to its answer.
pub(crate) fn mean_latency(run: &Run, length: Length) -> f64 {
    let measured = length.before..length.before + length.measured;
    measured.map(|nth| run.answers[nth] - run.requests[nth]).sum::<u64>() as f64 / length.measured as f64
}

/// Runs a session of a whole controller over the paper's ideal memory, and compares its answers.
pub(crate) fn drive(
    design: &Design,
    configuration: Configuration,
    session: &Session,
) -> Result<Run, Box<dyn Error>> {
    let mut bench = Bench::new(design, configuration, Pace::IDEAL, Faults::default(), 1)?;
    bench.load_key(&KEY);
    if configuration.tag_bits() > 0 {
        bench.load_key(b"a key of tags...");
    }
    let run = bench.drive(session)?;
    if run.answer_contents != session.answers {
        return Err("an answer is wrong".into());
    }
    Ok(run)
}

/// The mean number of paths of an access, without evictions. RAW ORAM has one path of an eviction after A paths of
/// accesses.
pub(crate) fn paths(configuration: &Configuration, run: &Run, length: Length) -> f64 {
    let (begin, end) = (run.answers[length.before - 1], run.answers[length.before + length.measured - 1]);
    let of_root = run.traffic.reads.iter().filter(|read| read.address == 0);
    let read = of_root.filter(|read| (begin..end).contains(&read.cycle)).count() as f64;
    let rate = f64::from(configuration.eviction_rate);
    let of_accesses = if configuration.scheme == Scheme::Raw { rate / (rate + 1.0) } else { 1.0 };
    read * of_accesses / length.measured as f64
}
