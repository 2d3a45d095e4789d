//! Compares the model with DRAMsim3 (through the crate `dramsim3`) on the same streams of requests. The figure is the
//! cycles from the first request to the last read that is done. Then it replaces rules of our scheduler by those of
//! DRAMsim3, to show which of them makes the difference.
//!
//!     cargo run --release --manifest-path simulation/dram/dramsim3/Cargo.toml -- [paths] [memories]
//!
//! It needs CMake and a C++ compiler.
//!
//! DRAMsim3 knows neither DDR5 nor LPDDR5 nor HBM3. Ramulator 2.1 does: with `RAMULATOR`, the folder of its built
//! source, the same streams run there instead. In that folder (libraries: `yaml-cpp`, `fmt`):
//!
//!     cmake -B build -DRAMULATOR_PYTHON_BINDINGS=OFF . && make -C build
//!     g++ -O2 -std=c++20 AMELES/simulation/dram/dramsim3/ramulator/driver.cc -Isrc -L. -lramulator -lyaml-cpp -lfmt \
//!         -Wl,-rpath,$PWD -o driver
//!     PYTHONPATH=python python3 AMELES/simulation/dram/dramsim3/ramulator/configure.py \
//!         ddr5 AMELES/simulation/dram/src/ddr5.toml > ddr5.yaml    # and so for each memory; ddr3 has usimm.toml

#[path = "../../benches/random/mod.rs"]
mod random;

mod gaps;
mod ini;
mod ramulator;
mod streams;
mod variant;

use ameles_dram::{
    CommandBus, Cycle, DramError, Fast, PlainLayout, Queues, SameGroup, Specification, SubtreeLayout,
};
use ramulator::{ramulator, without_missing_ranks};
use std::error::Error;
use std::path::{Path, PathBuf};
use streams::{Step, ours, paths, random as random_blocks, run, theirs};
use variant::{
    COMMAND_QUEUES, FIRST_READY, FOUR_HITS, LONG_DRAINS, TURNS, TWO_BUSES, Variant, WRITES_OF_RANKS,
};

/// The memory that both model: with queues and refreshes that DRAMsim3 can express, and without the rules that it
/// lacks. Its drains have no marks; from 9 writes to none is what comes nearest to "more than 8, until all have moved
/// on". With marks of 64 and 0, random reads and writes at once take 27 % less time in DDR3 than in DRAMsim3.
fn comparable(memory: &Specification) -> Specification {
    let mut memory = with_all_rules(memory);
    memory.command_bus = CommandBus::default();
    memory.timing.t_rtw = None;
    memory.same_group = memory.same_group.map(|group| SameGroup { t_ccd_write: None, ..group });
    memory
}

/// The memory with the rules that DRAMsim3 lacks.
fn with_all_rules(memory: &Specification) -> Specification {
    let mut memory = memory.clone();
    memory.queues = Queues { read: 64, write: 64, high: 9, low: 0 };
    memory.refresh.batch = 1;
    memory.refresh.stagger = Cycle(memory.refresh.interval.0 / u64::from(memory.geometry.ranks));
    memory
}

/// A stream; its memory has super-rows or spreads blocks over the banks first.
struct Stream {
    name: &'static str,
    is_in_rows: bool,
    steps: Vec<Step>,
}

impl Stream {
    /// A memory as the stream wants it.
    fn arranged(&self, memory: Specification) -> Specification {
        if self.is_in_rows { memory.with_super_rows() } else { memory }
    }
}

fn streams(banks: &Specification, count: u64) -> Result<Vec<Stream>, DramError> {
    let rows = banks.clone().with_super_rows();
    let slots: Vec<u32> = (0..25).map(|level| if level < 10 { 0 } else { 4 }).collect();
    let fits = |levels: &usize| 4 * ((1 << levels) - 1) <= rows.geometry.super_row_blocks();
    let height = (1..=7).rev().find(fits).unwrap_or(1);
    let subtrees = SubtreeLayout::new(&slots, 0, height, &rows.geometry)?;
    let plain = PlainLayout::new(&slots, &rows.geometry)?;
    let stream = |name, is_in_rows, steps| Stream { name, is_in_rows, steps };
    Ok(vec![
        stream("random reads one by one", false, random_blocks(count * 4, 1, 0, banks)),
        stream("blocks in a row, 64 at once", false, run(count, 64)),
        stream("random, 60 reads at once", false, random_blocks(count, 60, 0, banks)),
        stream("paths read only: subtrees, super-rows", true, paths(&subtrees, count, None)),
        stream("paths read only: subtrees, banks first", false, paths(&subtrees, count, None)),
        stream("paths read only: plain, super-rows", true, paths(&plain, count, None)),
        stream("random, 60 reads and 60 writes at once", false, random_blocks(count, 60, 60, banks)),
        stream("paths, reads long after writes: super-rows", true, paths(&subtrees, count, Some(400))),
        stream("paths, reads long after writes: banks first", false, paths(&subtrees, count, Some(400))),
        stream("paths, reads with writes: super-rows", true, paths(&subtrees, count, Some(0))),
        stream("paths, reads with writes: banks first", false, paths(&subtrees, count, Some(0))),
        stream("paths, reads with writes: plain", true, paths(&plain, count, Some(0))),
    ])
}

/// The time of a stream in our model with some rules of DRAMsim3. A request takes a cycle to enter a bank's queue. This
/// cycle is among the cycles that are subtracted from DRAMsim3's time.
fn with_rules(rules: u8, memory: &Specification, steps: &[Step]) -> Result<u64, DramError> {
    const ALL: u8 = COMMAND_QUEUES | TURNS | FOUR_HITS | WRITES_OF_RANKS;
    const RAMULATOR: u8 = LONG_DRAINS | FIRST_READY | WRITES_OF_RANKS | TWO_BUSES;
    let time = match rules {
        0 => ours::<Variant<0>>(memory, steps),
        COMMAND_QUEUES => ours::<Variant<COMMAND_QUEUES>>(memory, steps),
        TURNS => ours::<Variant<TURNS>>(memory, steps),
        FOUR_HITS => ours::<Variant<FOUR_HITS>>(memory, steps),
        WRITES_OF_RANKS => ours::<Variant<WRITES_OF_RANKS>>(memory, steps),
        TWO_BUSES => ours::<Variant<TWO_BUSES>>(memory, steps),
        ALL => ours::<Variant<ALL>>(memory, steps),
        LONG_DRAINS => ours::<Variant<LONG_DRAINS>>(memory, steps),
        FIRST_READY => ours::<Variant<FIRST_READY>>(memory, steps),
        RAMULATOR => ours::<Variant<RAMULATOR>>(memory, steps),
        _ => unreachable!("RULES has no such set"),
    }?;
    Ok(time - if rules & COMMAND_QUEUES == 0 { 0 } else { steps.len() as u64 })
}

/// The rules of DRAMsim3 that are tried.
const RULES: [(&str, u8); 6] = [
    ("none", 0),
    ("queues", COMMAND_QUEUES),
    ("turns", TURNS),
    ("4 hits", FOUR_HITS),
    ("writes", WRITES_OF_RANKS),
    ("all", COMMAND_QUEUES | TURNS | FOUR_HITS | WRITES_OF_RANKS),
];

/// The rules of Ramulator that are tried.
const RAMULATOR_RULES: [(&str, u8); 6] = [
    ("none", 0),
    ("drains", LONG_DRAINS),
    ("ready", FIRST_READY),
    ("writes", WRITES_OF_RANKS),
    ("2 buses", TWO_BUSES),
    ("all", LONG_DRAINS | FIRST_READY | WRITES_OF_RANKS | TWO_BUSES),
];

/// The meaning of the columns.
const LEGEND: &str = "\
The two times are with the rules that both have; the percentages compare our time with DRAMsim3's:
- complete: with our rules that DRAMsim3 lacks (t_rtw, t_ccd_write, commands of two cycles)
- none: without a rule of DRAMsim3. The columns after it have one of its rules each in place of ours, the last has all:
- queues: reads and writes move, one a cycle, into queues of 16 commands, one a bank, and stand there together; writes
  move when the write buffer is full, or has more than 8 and all queues are empty
- turns: banks take turns, and of a bank the first request comes whose next command can be issued
- 4 hits: a row is closed after 4 hits, though more are queued, for the oldest request of its bank
- writes: writes of two ranks follow each other without t_rtrs
A read of DRAMsim3 takes 2 cycles more, one before its first command and one after its burst: taken off. Its writes are
done in the cycle after their submission, so the time ends with the last read.
";

/// The same comparison with Ramulator.
const RAMULATOR_LEGEND: &str = "\
- complete: our scheduler; the columns after it lack our rules t_rtw, t_ccd_write and commands of two cycles
- none: without a rule of Ramulator. The columns after it have one of its rules each in place of ours, the last has all:
- drains: writes that have begun, also because there is no read, continue down to fewer than the low mark
- ready: the oldest request comes whose next command can be issued, whatever that is. First come the requests for which
  a row was opened, of both directions: no other closes that row, and they count no more as queued
- writes: writes of two ranks follow each other without t_rtrs
- 2 buses: HBM has a bus for row commands and one for reads and writes
Ramulator's next step begins in the cycle after the last read: a cycle a step is taken off. It counts the times from the
second cycle of a command of two, and its controller of HBM has one pair of queues for two pseudo channels.
";

/// Our time in percent of another, above or below.
fn percent(ours: u64, theirs: u64) -> f64 {
    100.0 * (ours as f64 / theirs as f64 - 1.0)
}

/// The table of a memory, compared with DRAMsim3.
fn compare_with_dramsim3(name: &str, memory: &Specification, count: u64) -> Result<(), Box<dyn Error>> {
    print!(
        "\n{name:<8} {:<35} {:>11} {:>9} {:>8}",
        "cycles of the DRAM", "ameles-dram", "DRAMsim3", "complete"
    );
    RULES.iter().for_each(|(rule, _)| print!(" {rule:>8}"));
    println!();
    for stream in streams(memory, count)? {
        let comparable = stream.arranged(comparable(memory));
        let (time, theirs) = (ours::<Fast>(&comparable, &stream.steps)?, theirs(&comparable, &stream.steps)?);
        let complete = ours::<Fast>(&stream.arranged(with_all_rules(memory)), &stream.steps)?;
        print!("{:<44} {time:>11} {theirs:>9} {:>+7.1}%", stream.name, percent(complete, theirs));
        for (_, rules) in RULES {
            print!(" {:>+7.1}%", percent(with_rules(rules, &comparable, &stream.steps)?, theirs));
        }
        println!();
    }
    Ok(())
}

/// The table of a memory, compared with Ramulator.
fn compare_with_ramulator(
    folder: &Path,
    name: &str,
    memory: &Specification,
    count: u64,
) -> Result<(), Box<dyn Error>> {
    let memory = without_missing_ranks(name, memory.clone());
    print!(
        "\n{name:<8} {:<35} {:>11} {:>9} {:>8}",
        "cycles of the DRAM", "ameles-dram", "Ramulator", "complete"
    );
    RAMULATOR_RULES.iter().for_each(|(rule, _)| print!(" {rule:>8}"));
    println!();
    for stream in streams(&memory, count)? {
        let memory = stream.arranged(memory.clone());
        let time = ours::<Fast>(&memory, &stream.steps)?;
        let theirs = ramulator(folder, name, &memory, &stream.steps)?;
        print!("{:<44} {time:>11} {theirs:>9} {:>+7.1}%", stream.name, percent(time, theirs));
        for (_, rules) in RAMULATOR_RULES {
            print!(" {:>+7.1}%", percent(with_rules(rules, &memory, &stream.steps)?, theirs));
        }
        println!();
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let names: Vec<String> = arguments.collect();
    let ramulator = std::env::var_os("RAMULATOR").map(PathBuf::from);
    for name in Specification::PRESETS {
        if !names.is_empty() && !names.iter().any(|chosen| chosen == name) {
            continue;
        }
        let memory = Specification::preset(name).ok_or("an unknown memory")?;
        match &ramulator {
            Some(folder) => compare_with_ramulator(folder, name, &memory, count)?,
            None => compare_with_dramsim3(name, &memory, count)?,
        }
    }
    print!("\n{}", if ramulator.is_some() { RAMULATOR_LEGEND } else { LEGEND });
    Ok(())
}
