//! Faults while other programs use every processor: the eager and parallel schemes with a second process, against the
//! same scheme without one and against DetWoORAM. Rounds are interleaved; a ratio is that of one round, and its median
//! and range are printed.
#![allow(clippy::print_stdout, reason = "a bench prints")]

use ameles_pager::options::{Handler, HandlerProcessor, Options};
use ameles_pager::page::PAGE_BYTES;
use ameles_pager::region::Region;
use ameles_pager::scheme::Scheme;
use std::process::{Child, Command};
use std::time::Instant;

const PAGES: usize = 1024;
const RESIDENT: usize = 15;
const ROUNDS: usize = 9;

/// The number of measured faults. They take about a second: programs that share a processor get it for some
/// milliseconds at a time.
const FAULTS: usize = 40_000;

/// A program that always uses a processor.
struct Busy(Child);

impl Busy {
    fn start() -> Self {
        Busy(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("there is a shell"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let ended = self.0.kill().and_then(|()| self.0.wait());
        debug_assert!(ended.is_ok(), "{ended:?}");
    }
}

/// Measures microseconds per fault.
fn measure(scheme: Scheme, ratio: u64, second_process: bool) -> f64 {
    let options = Options {
        scheme,
        ratio,
        second_process,
        threads: (!second_process).then_some(1),
        handler: Handler { processor: HandlerProcessor::Together, ..Handler::default() },
        resident: RESIDENT,
        ..Options::new(PAGES as u64)
    };
    let mut region = Region::new(options).expect("a region of this size fits");
    let memory = region.as_mut_slice();
    let begin = Instant::now();
    for nth in 0..FAULTS {
        memory[nth % PAGES * PAGE_BYTES] += 1;
    }
    begin.elapsed().as_secs_f64() * 1e6 / FAULTS as f64
}

/// The least, the median and the most.
fn spread(mut ratios: Vec<f64>) -> String {
    ratios.sort_by(f64::total_cmp);
    format!("{:.2} ({:.2} to {:.2})", ratios[ratios.len() / 2], ratios[0], ratios[ratios.len() - 1])
}

fn main() {
    let busy = [Busy::start(), Busy::start()];
    println!(
        "{PAGES} pages, {RESIDENT} resident, {FAULTS} faults a run, {ROUNDS} rounds, {} busy loops",
        busy.len()
    );
    println!("{:15} {:>3} {:>24} {:>24}", "scheme", "K", "to the scheme alone", "to DetWoORAM");
    for scheme in [Scheme::Eager, Scheme::Parallel, Scheme::EagerParallel] {
        for ratio in [3, 15] {
            let rounds = (0..ROUNDS).map(|_| {
                let with = measure(scheme, ratio, true);
                (with / measure(scheme, ratio, false), with / measure(Scheme::DetWoOram, ratio, false))
            });
            let (alone, detworam) = rounds.unzip();
            println!("{:15} {ratio:>3} {:>24} {:>24}", scheme.name(), spread(alone), spread(detworam));
        }
    }
}
