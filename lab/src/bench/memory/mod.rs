//! Measures an ORAM over sealed memory, driven by one thread, compared with the same accesses on a plain array.
//!
//! Half of the accesses read, half write, with uniform blocks, over a vault in which every block was written before.
//! An access ends when its off-line work is done, so nothing is pending at the end.

mod arrays;
mod target;

use super::BenchError;
use super::progress::Progress;
use super::report::{Bound, Report, TrustedMemory, bytes};
use super::resident::{Resident, reset_peak, resident_memory};
use super::sample::Sample;
use ameles_core::schemes::circuit::CircuitParameters;
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::ring::RingParameters;
use ameles_seal::cipher::Cipher;
use ameles_seal::sealed::sealed_layout;
use ameles_seal::slot_format::SlotFormat;
use arrays::{PlainArray, SealedArray};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};
use target::{Target, circuit_over_sealed_memory, path_over_sealed_memory, ring_over_sealed_memory};

/// The scheme that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryScheme {
    /// Path ORAM, a bucket sealed as one slot.
    Path,
    /// Ring ORAM, each block sealed as its own slot.
    Ring,
    /// Circuit ORAM, a bucket sealed as one slot.
    Circuit,
}

/// The settings of the bench.
#[derive(Clone, Debug)]
pub struct MemoryOptions {
    /// N: the number of blocks, all of them written before anything is measured.
    pub capacity: u64,
    /// The size of a block in bytes.
    pub block_bytes: u32,
    /// The scheme.
    pub scheme: MemoryScheme,
    /// Ring ORAM's A. The default is the value that moves the fewest bytes.
    pub eviction_rate: Option<u32>,
    /// The cipher that seals the slots.
    pub cipher: Cipher,
    /// The stash and the top of the tree take at most this share of the payload: 32 means 1/32.
    pub trusted_share: u64,
    /// The number of accesses between filling and measuring.
    pub warm_up: u64,
    /// The number of times that each of the things compared is measured.
    pub repetitions: usize,
    /// The time that each repetition lasts.
    pub slice: Duration,
    /// The bound on the accesses per second.
    pub goal: Option<f64>,
    /// The bound on the resident memory, in multiples of the payload.
    pub goal_resident: Option<f64>,
}

impl MemoryOptions {
    /// 2^20 blocks of 64 bytes.
    pub fn small_blocks() -> Self {
        MemoryOptions {
            capacity: 1 << 20,
            block_bytes: 64,
            scheme: MemoryScheme::Path,
            eviction_rate: None,
            cipher: Cipher::default(),
            trusted_share: 32,
            warm_up: 1 << 20,
            repetitions: 9,
            slice: Duration::from_secs(1),
            goal: Some(100_000.0),
            goal_resident: None,
        }
    }

    /// 2^17 blocks of 4 KiB.
    pub fn pages() -> Self {
        MemoryOptions {
            capacity: 1 << 17,
            block_bytes: 4096,
            scheme: MemoryScheme::Ring,
            // An eviction then fits a second-level cache.
            eviction_rate: Some(13),
            warm_up: 1 << 17,
            goal: Some(20_000.0),
            goal_resident: Some(2.5),
            ..Self::small_blocks()
        }
    }

    fn check(&self) -> Result<(), BenchError> {
        if self.repetitions == 0 || self.slice.is_zero() {
            return Err(BenchError::Options("give at least one repetition of some length".into()));
        }
        if self.capacity == 0 || self.trusted_share == 0 {
            return Err(BenchError::Options("give at least one block, and a share of at least 1".into()));
        }
        Ok(())
    }
}

/// Runs the bench: fills the vault, then lets ORAM and arrays take turns.
///
/// # Errors
/// [`BenchError`].
pub fn run(options: &MemoryOptions, progress: &dyn Progress) -> Result<Report, BenchError> {
    options.check()?;
    let payload = options.capacity * u64::from(options.block_bytes);
    let mut report = Report::new(format!(
        "memory, {} blocks of {}, one thread",
        options.capacity,
        bytes(options.block_bytes.into())
    ));
    reset_peak();
    let (mut oram, stored) = build(options, &mut report)?;
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut buffer = vec![7; options.block_bytes as usize];
    for block in 0..options.capacity {
        if block.is_multiple_of(options.capacity.div_ceil(50)) {
            progress.on_step("filling", block, options.capacity);
        }
        oram.access(block, true, &mut buffer)?;
    }
    progress.on_step("warming up", 0, 1);
    for _ in 0..options.warm_up {
        access(&mut *oram, &mut random, options.capacity, &mut buffer)?;
    }
    let resident_memory = resident_memory();
    let trusted = oram.trusted();

    let arrays: [Box<dyn Target>; 2] = [
        Box::new(PlainArray::new(options.capacity, options.block_bytes)),
        Box::new(SealedArray::new(options.capacity, options.block_bytes, options.cipher)?),
    ];
    let [mut plain, mut sealed] = arrays;
    let mut measured = [const { Vec::new() }; 3];
    for repetition in 0..options.repetitions {
        progress.on_step("measuring", repetition as u64, options.repetitions as u64);
        for (target, rates) in [&mut oram, &mut plain, &mut sealed].into_iter().zip(&mut measured) {
            rates.push(rate(&mut **target, &mut random, options, &mut buffer)?);
        }
    }
    let rates = Rates { measured };
    rates.report(&mut report, options, trusted);
    if let Some(Resident { now, peak }) = resident_memory {
        let times = |bytes: u64| Sample::once(bytes as f64 / payload as f64);
        report.row(
            "resident (VmHWM)",
            "× payload",
            times(peak),
            options.goal_resident.map(Bound::AtMost),
            trusted,
        );
        report.row("resident (VmRSS)", "× payload", times(now), None, trusted);
    }
    if let Some(trusted) = trusted {
        let share = Sample::once(trusted.stash_and_top as f64 / payload as f64);
        let max = Bound::AtMost(1.0 / options.trusted_share as f64);
        report.row("stash and tree top", "× payload", share, Some(max), Some(trusted));
    }
    report.row("stored", "× payload", Sample::once(stored as f64 / payload as f64), None, trusted);
    report.notes.push(
        "resident: the whole process with the vault filled and warm, before the arrays were made".into(),
    );
    Ok(report)
}

/// Accesses of one repetition, a second of time and a second of processor time.
#[derive(Clone, Copy)]
struct Rate {
    per_second: f64,
    per_processor_second: f64,
}

struct Rates {
    /// ORAM, plain array, sealed array.
    measured: [Vec<Rate>; 3],
}

impl Rates {
    fn report(&self, report: &mut Report, options: &MemoryOptions, trusted: Option<TrustedMemory>) {
        let per_second = |rates: &[Rate]| Sample::of(rates.iter().map(|rate| rate.per_second));
        let per_processor_second =
            |rates: &[Rate]| Sample::of(rates.iter().map(|rate| rate.per_processor_second));
        let [oram, plain, sealed] = &self.measured;
        let slower = |baseline: &[Rate]| {
            let ratios: Vec<f64> = baseline
                .iter()
                .zip(oram)
                .map(|(baseline, oram)| baseline.per_processor_second / oram.per_processor_second)
                .collect();
            Sample::of(&ratios)
        };
        let unit = "accesses/s";
        report.row("ORAM", unit, per_second(oram), options.goal.map(Bound::AtLeast), trusted);
        report.row("ORAM, of processor time", unit, per_processor_second(oram), None, trusted);
        report.row("plain array", unit, per_second(plain), None, None);
        report.row("plain array, of processor time", unit, per_processor_second(plain), None, None);
        report.row("array of sealed blocks", unit, per_second(sealed), None, None);
        report.row(
            "array of sealed blocks, of processor time",
            unit,
            per_processor_second(sealed),
            None,
            None,
        );
        report.row("ORAM against plain array", "× slower", slower(plain), None, trusted);
        report.row("ORAM against sealed blocks", "× slower", slower(sealed), None, trusted);
        let processor_shares: Vec<f64> =
            self.measured.iter().flatten().map(|rate| rate.per_second / rate.per_processor_second).collect();
        report.set(
            "processor",
            format!("the bench's thread had {:.0} % of one", 100.0 * Sample::of(&processor_shares).median),
        );
        let half = oram.len() / 2;
        if half > 0 {
            let drift =
                per_processor_second(&oram[half..]).median / per_processor_second(&oram[..half]).median - 1.0;
            report.set(
                "drift from the first half of the repetitions to the second",
                format!("{:+.1} %", 100.0 * drift),
            );
        }
    }
}

/// Runs accesses for a while.
fn rate(
    target: &mut dyn Target,
    random: &mut ChaCha8Rng,
    options: &MemoryOptions,
    buffer: &mut [u8],
) -> Result<Rate, BenchError> {
    let (start, processor) = (Instant::now(), processor_time());
    let mut accesses = 0u64;
    loop {
        // The clock is read once for many accesses.
        for _ in 0..256 {
            access(target, random, options.capacity, buffer)?;
        }
        accesses += 256;
        let elapsed = start.elapsed();
        if elapsed >= options.slice {
            let elapsed_processor = processor_time() - processor;
            return Ok(Rate {
                per_second: accesses as f64 / elapsed.as_secs_f64(),
                per_processor_second: accesses as f64
                    / elapsed_processor.as_secs_f64().max(f64::MIN_POSITIVE),
            });
        }
    }
}

fn access(
    target: &mut dyn Target,
    random: &mut ChaCha8Rng,
    capacity: u64,
    buffer: &mut [u8],
) -> Result<(), BenchError> {
    let drawn = random.next_u64();
    target.access((drawn >> 1) % capacity, drawn & 1 == 1, buffer)
}

/// The time that this thread has had of a processor.
fn processor_time() -> Duration {
    let elapsed_processor = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(elapsed_processor.tv_sec.unsigned_abs(), elapsed_processor.tv_nsec.unsigned_abs() as u32)
}

/// The ORAM, and the maximum that it stores.
fn build(options: &MemoryOptions, report: &mut Report) -> Result<(Box<dyn Target>, u64), BenchError> {
    let (capacity, block_bytes) = (options.capacity, options.block_bytes);
    let trusted_blocks = capacity / options.trusted_share;
    let (scheme, layout, oram) = match options.scheme {
        MemoryScheme::Path => {
            let parameters = PathParameters::for_capacity(capacity, block_bytes, trusted_blocks, 1);
            let parameters = parameters.map_err(BenchError::failed)?;
            let scheme = format!("Path ORAM, {parameters:?}");
            (scheme, parameters.layout(), path_over_sealed_memory(parameters, options.cipher)?)
        }
        MemoryScheme::Circuit => {
            let parameters = CircuitParameters::for_capacity(capacity, block_bytes, trusted_blocks, 1);
            let parameters = parameters.map_err(BenchError::failed)?;
            let scheme = format!("Circuit ORAM, {parameters:?}");
            (scheme, parameters.layout(), circuit_over_sealed_memory(parameters, options.cipher)?)
        }
        MemoryScheme::Ring => {
            let parameters = ring_parameters(options, trusted_blocks)?;
            let scheme = format!("Ring ORAM, {parameters:?}");
            (scheme, parameters.layout(), ring_over_sealed_memory(parameters, options.cipher)?)
        }
    };
    report.set("scheme", scheme);
    report.set("position map", "flat, on the trusted side");
    report.set("sealing", options.cipher);
    Ok((oram, sealed_layout(&layout, SlotFormat::Counted).bytes().0))
}

fn ring_parameters(options: &MemoryOptions, trusted_blocks: u64) -> Result<RingParameters, BenchError> {
    let (capacity, block_bytes) = (options.capacity, options.block_bytes);
    let Some(rate) = options.eviction_rate else {
        return Ok(RingParameters::for_capacity(capacity, block_bytes, trusted_blocks, 1));
    };
    RingParameters::for_rate(capacity, block_bytes, trusted_blocks, 1, rate).ok_or_else(|| {
        BenchError::Options(format!("A = {rate} needs more trusted memory than {trusted_blocks} blocks"))
    })
}
