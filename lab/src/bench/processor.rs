//! The speed of the processor lab: paths of IR-ORAM's Baseline a second, DRAM included, on one thread.

use super::BenchError;
use super::progress::Progress;
use super::report::{Bound, Report};
use super::resident::{reset_peak, resident_memory};
use super::sample::Sample;
use ameles_dram::{Layout, Memory, SubtreeLayout};
use ameles_processor::trace::synthetic::{Pattern, Shape, Synthetic};
use ameles_simulator::configuration::Configuration;
use ameles_simulator::machine::Machine;
use ameles_simulator::tree::filled::Contents;
use ameles_simulator::tree::steady_state::History;
use std::time::Instant;

/// The settings of the bench.
#[derive(Clone, Debug)]
pub struct ProcessorOptions {
    /// The number of levels of the tree, which is half full.
    pub levels: u32,
    /// The number of random loads of a repetition: each makes about three paths.
    pub loads: usize,
    /// The number of repetitions.
    pub repetitions: usize,
    /// The bound on the paths per second.
    pub goal: Option<f64>,
}

impl ProcessorOptions {
    /// 25 levels and 2^26 blocks.
    pub fn standard() -> Self {
        ProcessorOptions { levels: 25, loads: 100_000, repetitions: 5, goal: Some(60_000.0) }
    }
}

/// Runs the bench: draws a tree, and lets a trace of random loads and the DRAM alone take turns.
///
/// # Errors
/// [`BenchError`].
pub fn run(options: &ProcessorOptions, progress: &dyn Progress) -> Result<Report, BenchError> {
    let configuration = Configuration::baseline(options.levels);
    let lines = configuration.oram.user_blocks;
    let mut report = Report::new(format!("processor, {} levels, {lines} blocks, one thread", options.levels));
    reset_peak();
    progress.on_step("drawing the tree", 0, 1);
    let start = Instant::now();
    let contents = Contents::Steady(History::Random);
    let mut machine = Machine::new(configuration.clone(), contents, 1).map_err(BenchError::failed)?;
    let drawing_seconds = start.elapsed().as_secs_f64();
    let (mut rates, mut alone, mut cycles) = (Vec::new(), Vec::new(), Vec::new());
    for repetition in 0..options.repetitions {
        progress.on_step("measuring", repetition as u64, options.repetitions as u64);
        let seed = repetition as u64;
        let shape = Shape { pattern: Pattern::Random, lines, stores: 0.0, instructions: 40, seed };
        let trace = Synthetic::new(shape).map_err(BenchError::failed)?.take(options.loads);
        let start = Instant::now();
        let outcome = machine.run(trace, 0, |_| ()).map_err(BenchError::failed)?;
        let paths = outcome.counts.paths();
        rates.push(paths as f64 / start.elapsed().as_secs_f64());
        cycles.push(outcome.cycles.0 as f64 / paths as f64);
        alone.push(memory_alone(&configuration, paths)?);
    }
    let goal = options.goal.map(Bound::AtLeast);
    report.row("paths, ORAM and DRAM", "1/s", Sample::of(&rates), goal, None);
    report.row("paths, DRAM alone", "1/s", Sample::of(&alone), None, None);
    report.row("cycles a path", "cycles", Sample::of(&cycles), None, None);
    report.row("drawing the tree", "s", Sample::once(drawing_seconds), None, None);
    if let Some(memory) = resident_memory() {
        let gibibytes = Sample::once(memory.peak as f64 / f64::from(1 << 30));
        report.row("resident (VmHWM)", "GiB", gibibytes, Some(Bound::AtMost(2.0)), None);
    }
    report.notes.push("DRAM alone: as many random paths read and written in turn, no ORAM: the floor".into());
    Ok(report)
}

/// Reads and writes random paths alternately, without an ORAM. Returns paths per second.
fn memory_alone(configuration: &Configuration, paths: u64) -> Result<f64, BenchError> {
    let top = configuration.oram.top_levels as usize;
    let levels = configuration.oram.levels as usize;
    let slots: Vec<u32> = (0..levels).map(|level| if level < top { 0 } else { 4 }).collect();
    let layout =
        SubtreeLayout::new(&slots, top, 7, &configuration.memory.geometry).map_err(BenchError::failed)?;
    let mut memory = Memory::new(&configuration.memory).map_err(BenchError::failed)?;
    let mut path = Vec::new();
    let mut leaf = 1u64;
    let start = Instant::now();
    for _ in 0..paths {
        // The upper bits of a linear congruential generator, with Knuth's constants.
        leaf = leaf.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        layout.path((leaf >> 32) & ((1 << (levels - 1)) - 1), &mut path);
        let reads = memory.read(&path).map_err(BenchError::failed)?;
        memory.wait(reads);
        let writes = memory.write(&path).map_err(BenchError::failed)?;
        memory.wait(writes);
    }
    Ok(paths as f64 / start.elapsed().as_secs_f64())
}
