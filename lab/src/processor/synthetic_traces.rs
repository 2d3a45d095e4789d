//! The synthetic traces, which begin with the last-level cache that their own pattern fills.
//!
//! A trace shorter than the cache would never evict a line, so it would write nothing back. Like the traces of real
//! programs, these begin with the contents of a cache, in the order of eviction, dirty lines as stores.

use super::options::Options;
use super::settings::Setting;
use ameles_processor::trace::synthetic::{Pattern, Shape, Synthetic};
use ameles_processor::trace::{Kind, Miss};
use ameles_processor::units::Line;
use ameles_simulator::configuration::Configuration;

/// Misses of a trace after its warm-up.
const MISSES: usize = 40_000;

/// Accesses that fill the cache, for each of its lines: random ones need several before every set is full, and popular
/// lines hit.
const ACCESSES_PER_LINE: u64 = 8;

/// Returns the number of misses that only warm the cache of the options, and all misses, over this many lines.
pub(super) fn misses(
    options: &Options,
    pattern: Pattern,
    lines: u64,
) -> (u64, impl Iterator<Item = Miss> + use<>) {
    let shape = Shape { pattern, lines, stores: 0.5, instructions: 40, seed: options.seed() };
    let mut trace = Synthetic::new(shape).expect("a sound shape");
    let warm_up = contents(options, &mut trace);
    (warm_up.len() as u64, warm_up.into_iter().chain(trace.take(MISSES)))
}

/// The contents of the last-level cache after the first accesses of a trace.
fn contents(options: &Options, trace: &mut Synthetic) -> Vec<Miss> {
    let machine = Setting::apply_all(&options.settings, Configuration::baseline(options.levels));
    let mut cache = machine.cache().expect("the configurations were checked");
    let accesses = machine.cache_bytes / 64 / machine.block_lines * ACCESSES_PER_LINE;
    for Miss { line, kind, .. } in trace.take(accesses as usize) {
        cache.access(Line(line.0 / machine.block_lines), kind == Kind::Store);
    }
    let record = |(line, is_dirty): (Line, bool)| {
        let kind = if is_dirty { Kind::Store } else { Kind::Load };
        Miss { instructions: 0, kind, line: Line(line.0 * machine.block_lines) }
    };
    cache.lines().map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::preset::Preset;

    /// Misses of the cache, and dirty lines that leave it, in windows of this many accesses.
    fn windows(options: &Options, warm_up: usize, trace: &[Miss], window: usize) -> Vec<(f64, f64)> {
        let machine = Setting::apply_all(&options.settings, Configuration::baseline(options.levels));
        let mut cache = machine.cache().unwrap();
        let mut access = |miss: &Miss| {
            let access = cache.access(Line(miss.line.0 / machine.block_lines), miss.kind == Kind::Store);
            (!access.is_hit, access.victim.is_some_and(|victim| victim.is_dirty))
        };
        for miss in &trace[..warm_up] {
            access(miss);
        }
        let counted = trace[warm_up..].chunks_exact(window).map(|window| {
            let all: Vec<(bool, bool)> = window.iter().map(&mut access).collect();
            let count = |of: fn(&(bool, bool)) -> bool| all.iter().filter(|access| of(access)).count() as f64;
            (count(|access| access.0), count(|access| access.1))
        });
        counted.collect()
    }

    #[test]
    fn write_backs_come_from_the_first_miss_on_as_often_as_later() {
        for (set, levels) in [(None, 20), (Some(["llc=65536", "block=256"]), 18)] {
            let mut options = Options { levels, ..Options::quick(Preset::Machine) };
            set.into_iter().flatten().for_each(|set| options.set(set).unwrap());
            for pattern in [Pattern::Scan, Pattern::Random, Pattern::Zipf { exponent: 1.0 }] {
                let (warm_up, trace) = misses(&options, pattern, options.lines());
                let trace: Vec<Miss> = trace.collect();
                assert_eq!(trace.len() - warm_up as usize, MISSES);
                let windows = windows(&options, warm_up as usize, &trace, 10_000);
                let rate = |nth: usize| windows[nth].1 / windows[nth].0;
                // Half of all accesses store; of the lines of a block of 256 bytes, one is enough.
                assert!(
                    windows.iter().all(|(misses, written)| *misses > 1000.0 && *written > 0.4 * misses),
                    "{pattern:?} {windows:?}"
                );
                assert!((rate(0) / rate(3) - 1.0).abs() < 0.06, "{pattern:?} {windows:?}");
            }
        }
    }

    #[test]
    fn a_memory_within_the_cache_has_no_misses_after_its_warm_up() {
        let options = Options { levels: 11, ..Options::quick(Preset::Machine) };
        let (warm_up, trace) = misses(&options, Pattern::Random, options.lines());
        assert_eq!(warm_up, 4096);
        let trace: Vec<Miss> = trace.collect();
        assert!(
            windows(&options, warm_up as usize, &trace, 10_000).iter().all(|window| *window == (0.0, 0.0))
        );
    }
}
