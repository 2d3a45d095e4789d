//! Faults and nothing else: every access of the program pages one page in and one out, and nothing is computed. Prints
//! microseconds per fault for each scheme, cipher and trap, and a computed floor. The floor is the costs of the bare
//! trap, the cipher and the copies in the same run, without bookkeeping.
//!
//! Rounds are interleaved. Every figure is the median of the rounds, and the minimum: on a busy machine, the minimum is
//! the pager's cost without interference. Floors are computed from medians or minimums accordingly.
//!
//! The program, which has one thread, and the handler thread are bound to one processor, except where a scheme runs on
//! several threads. The cost of another running thread of the process is among the parts.
#![allow(clippy::print_stdout, reason = "a bench prints")]

mod bare_trap;
mod parts;

use ameles_pager::fault_handling::FaultHandling;
use ameles_pager::options::{Handler, HandlerProcessor, Options};
use ameles_pager::page::PAGE_BYTES;
use ameles_pager::region::Region;
use ameles_pager::scheme::Scheme;
use ameles_seal::pages::PageCipher;
use parts::{Parts, Statistic};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::time::Instant;

/// The sizes of the paper's `random_writes`, and its resident pages under Keystone.
const PAGES: usize = 1024;
const RESIDENT: usize = 15;

/// The processors that the program and the handler thread run on.
const PROCESSOR: usize = 0;

const FAULTS: usize = 600;
const ROUNDS: usize = 11;

struct Row {
    scheme: Scheme,
    ratio: u64,
    cipher: PageCipher,
    fault_handling: FaultHandling,
    helper: Helper,
    /// The number of threads in the last round.
    threads_used: usize,
    micros: Vec<f64>,
}

/// The helper that shares the work of an eager or parallel scheme.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Helper {
    /// The pager chooses the number of threads.
    Auto,
    /// An additional thread.
    Thread,
    /// A process.
    Process,
}

impl Helper {
    fn of(scheme: Scheme) -> &'static [Helper] {
        match scheme {
            Scheme::Eager => &[Helper::Auto, Helper::Process],
            Scheme::Parallel | Scheme::EagerParallel => &[Helper::Auto, Helper::Thread, Helper::Process],
            _ => &[Helper::Auto],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Helper::Auto => "",
            Helper::Thread => "thread",
            Helper::Process => "process",
        }
    }
}

impl Row {
    fn options(&self) -> Options {
        let Row { scheme, ratio, cipher, fault_handling, helper, .. } = *self;
        Options {
            scheme,
            ratio,
            cipher,
            fault_handling,
            threads: (helper == Helper::Thread).then_some(2),
            second_process: helper == Helper::Process,
            handler: Handler {
                processor: if self.is_bound() {
                    HandlerProcessor::Bound(PROCESSOR)
                } else {
                    HandlerProcessor::Any
                },
                ..Handler::default()
            },
            resident: RESIDENT,
            ..Options::new(PAGES as u64)
        }
    }

    /// Returns whether the program and the handler thread share a processor.
    fn is_bound(&self) -> bool {
        self.helper != Helper::Thread
    }

    /// Measures microseconds per fault, after faults that fill the region once.
    fn measure(&mut self) {
        let mut region = Region::new(self.options()).expect("a region of this size fits");
        self.threads_used = region.threads();
        let _bound = self.is_bound().then(|| Bound::to(PROCESSOR));
        let memory = region.as_mut_slice();
        let touch = |memory: &mut [u8], nth: usize| memory[nth % PAGES * PAGE_BYTES] += 1;
        (0..PAGES + RESIDENT).for_each(|nth| touch(memory, nth));
        let begin = Instant::now();
        (PAGES + RESIDENT..PAGES + RESIDENT + FAULTS).for_each(|nth| touch(memory, nth));
        let micros = begin.elapsed().as_secs_f64() * 1e6 / FAULTS as f64;
        let evicted = region.counters().evictions as usize;
        assert_eq!(evicted, PAGES + FAULTS, "every touch faults and evicts");
        self.micros.push(micros);
    }

    /// Opened, sealed and copied pages of a fault, with the trap's own cost.
    fn floor(&self, parts: &Parts, of: Statistic) -> f64 {
        let (open, seal, copy) = (parts.open(of, self.cipher), parts.seal(of, self.cipher), parts.copy(of));
        let k = self.ratio as f64;
        let threads = self.threads_used as f64;
        let layout = self.scheme.layout(PAGES as u64, self.ratio).expect("the scheme takes this size");
        let work = match self.scheme {
            Scheme::Plain => open + seal,
            // The refreshed pages, the page that is held, which is copied into the buffer, and the page that is wanted.
            Scheme::DetWoOram | Scheme::Eager | Scheme::Parallel | Scheme::EagerParallel => {
                (k * open + (k + 1.0) * seal) / threads + copy + open
            }
            // Two paths: four pages in every bucket, or one of its four.
            Scheme::Path => 2.0 * 4.0 * (open + seal) * levels(layout.slots()),
            Scheme::Opam => 2.0 * (open + seal) * levels(layout.slots() / 4),
        };
        parts.trap(of, self.fault_handling) + work
    }
}

/// Binds this thread to a processor until it is dropped.
struct Bound(CpuSet);

impl Bound {
    fn to(processor: usize) -> Self {
        let before = sched_getaffinity(None).expect("every thread has an affinity");
        let mut only = CpuSet::new();
        only.set(processor);
        sched_setaffinity(None, &only).expect("there is a first processor");
        Bound(before)
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        sched_setaffinity(None, &self.0).expect("it was so before");
    }
}

/// Returns the number of levels of a tree of this many buckets.
fn levels(buckets: u64) -> f64 {
    f64::from((buckets + 1).ilog2())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn min(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn rows() -> Vec<Row> {
    // An argument that does not begin with a dash selects rows that contain it.
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let mut rows = Vec::new();
    for fault_handling in [FaultHandling::InThread, FaultHandling::HandlerThread] {
        for cipher in PageCipher::ALL {
            for scheme in Scheme::ALL {
                let ratios: &[u64] = if scheme.has_ratio() { &[3, 7, 15] } else { &[1] };
                let helper = Helper::of(scheme).iter().copied();
                for (helper, ratio) in
                    helper.flat_map(|helper| ratios.iter().map(move |ratio| (helper, *ratio)))
                {
                    if format!("{fault_handling} {cipher} {scheme}").contains(&filter) {
                        rows.push(Row {
                            scheme,
                            ratio,
                            cipher,
                            fault_handling,
                            helper,
                            threads_used: 1,
                            micros: Vec::new(),
                        });
                    }
                }
            }
        }
    }
    rows
}

fn main() {
    let mut rows = rows();
    let mut parts = Parts::default();
    for _ in 0..ROUNDS {
        parts.measure();
        rows.iter_mut().for_each(Row::measure);
    }
    parts.print();
    println!(
        "\n{PAGES} pages, {RESIDENT} resident, {FAULTS} faults a round, {ROUNDS} rounds; µs a fault: median, least"
    );
    println!(
        "{:15} {:21} {:15} {:>3} {:>7} {:>18} {:>18} {:>18} {:>18}",
        "trap", "cipher", "scheme", "K", "helper", "measured", "floor", "to floor", "to plain"
    );
    let of: [Statistic; 2] = [median, min];
    for row in &rows {
        let plain = rows.iter().find(|other| {
            (other.scheme, other.cipher, other.fault_handling)
                == (Scheme::Plain, row.cipher, row.fault_handling)
        });
        let micros = of.map(|of| of(&row.micros));
        let floor = of.map(|of| row.floor(&parts, of));
        let to_plain = of.map(|of| plain.map_or(f64::NAN, |plain| of(&row.micros) / of(&plain.micros)));
        let to_floor = [micros[0] / floor[0], micros[1] / floor[1]];
        let ratio = if row.scheme.has_ratio() { row.ratio.to_string() } else { String::new() };
        let pair = |[median, min]: [f64; 2]| format!("{median:>9.2} {min:>8.2}");
        println!(
            "{:15} {:21} {:15} {ratio:>3} {:>7} {} {} {} {}",
            row.fault_handling.name(),
            row.cipher.name(),
            row.scheme.name(),
            row.helper.name(),
            pair(micros),
            pair(floor),
            pair(to_floor),
            pair(to_plain),
        );
    }
}
