//! Compares the model with DRAMsim3 (through the crate `dramsim3`) on the same streams of requests: the cycles from
//! the first request to the last read that is done. Then it replaces rules of our scheduler by those of DRAMsim3, to
//! show which of them makes the difference.
//!
//!     cargo run --release --manifest-path simulation/dram/dramsim3/Cargo.toml -- [paths] [memories]
//!
//! It needs CMake and a C++ compiler.

#[path = "../../benches/random/mod.rs"]
mod random;

mod ini;
mod streams;
mod variant;

use ameles_dram::{
    CommandBus, Cycle, DramError, Fast, PlainLayout, Queues, SameGroup, Specification, SubtreeLayout,
};
use std::error::Error;
use streams::{Step, ours, paths, random as random_blocks, run, theirs};
use variant::{COMMAND_QUEUES, FOUR_HITS, TURNS, TWO_BUSES, Variant, WRITES_OF_RANKS};

/// The memory that both model: with queues and refreshes that DRAMsim3 can express, and without the rules that it lacks.
/// Its drains have no marks; from 9 writes to none is what comes nearest to "more than 8, until all have moved on". With
/// marks of 64 and 0, random reads and writes at once take 27 % less time in DDR3 than in DRAMsim3.
fn comparable(memory: &Specification) -> Specification {
    let mut memory = with_all_rules(memory);
    memory.command_bus = CommandBus::default();
    memory.timing.t_rtw = None;
    memory.same_group = memory.same_group.map(|group| SameGroup { t_ccd_write: None, ..group });
    memory
}

/// The same with the rules that DRAMsim3 lacks.
fn with_all_rules(memory: &Specification) -> Specification {
    let mut memory = memory.clone();
    memory.queues = Queues { read: 64, write: 64, high: 9, low: 0 };
    memory.refresh.batch = 1;
    memory.refresh.stagger = Cycle(memory.refresh.interval.0 / u64::from(memory.geometry.ranks));
    memory
}

/// The same memory with rows for the tree of 25 levels.
fn with_room(mut memory: Specification) -> Specification {
    while memory.geometry.bytes().0 < 16 << 30 {
        memory.geometry.rows *= 2;
    }
    memory
}

/// A stream; its memory has super-rows or spreads blocks over the banks first.
struct Stream {
    name: &'static str,
    is_in_rows: bool,
    steps: Vec<Step>,
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

/// The time of a stream in our model with some rules of DRAMsim3. A request takes a cycle to come into a bank's queue,
/// which is one of those that are taken off DRAMsim3's time.
fn with_rules(rules: u8, memory: &Specification, steps: &[Step]) -> Result<u64, DramError> {
    const NOT_QUEUES: u8 = TURNS | FOUR_HITS | WRITES_OF_RANKS | TWO_BUSES;
    const ALL: u8 = COMMAND_QUEUES | NOT_QUEUES;
    let time = match rules {
        0 => ours::<Variant<0>>(memory, steps),
        COMMAND_QUEUES => ours::<Variant<COMMAND_QUEUES>>(memory, steps),
        TURNS => ours::<Variant<TURNS>>(memory, steps),
        FOUR_HITS => ours::<Variant<FOUR_HITS>>(memory, steps),
        WRITES_OF_RANKS => ours::<Variant<WRITES_OF_RANKS>>(memory, steps),
        TWO_BUSES => ours::<Variant<TWO_BUSES>>(memory, steps),
        ALL => ours::<Variant<ALL>>(memory, steps),
        _ => unreachable!("RULES has no such set"),
    }?;
    Ok(time - if rules & COMMAND_QUEUES == 0 { 0 } else { steps.len() as u64 })
}

/// The rules of DRAMsim3 that are tried.
const RULES: [(&str, u8); 7] = [
    ("none", 0),
    ("queues", COMMAND_QUEUES),
    ("turns", TURNS),
    ("4 hits", FOUR_HITS),
    ("writes", WRITES_OF_RANKS),
    ("2 buses", TWO_BUSES),
    ("all", COMMAND_QUEUES | TURNS | FOUR_HITS | WRITES_OF_RANKS | TWO_BUSES),
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
- 2 buses: HBM has a bus for row commands and one for reads and writes
A read of DRAMsim3 takes 2 cycles more, one before its first command and one after its burst: taken off. Its writes are
done in the cycle after their submission, so the time ends with the last read.
";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments.next().map_or(Ok(2000), |text| text.parse())?;
    let names: Vec<String> = arguments.collect();
    let is_chosen = |name: &&&str| names.is_empty() || names.iter().any(|chosen| chosen == **name);
    let percent = |ours: u64, theirs: u64| 100.0 * (ours as f64 / theirs as f64 - 1.0);
    for name in Specification::PRESETS.iter().filter(is_chosen) {
        let full = with_room(Specification::preset(name).ok_or("an unknown memory")?);
        print!(
            "\n{name:<8} {:<35} {:>11} {:>9} {:>8}",
            "cycles of the DRAM", "ameles-dram", "DRAMsim3", "complete"
        );
        RULES.iter().for_each(|(rule, _)| print!(" {rule:>8}"));
        println!();
        for Stream { name, is_in_rows, steps } in streams(&full, count)? {
            let arranged = |memory: Specification| if is_in_rows { memory.with_super_rows() } else { memory };
            let memory = arranged(comparable(&full));
            let (time, theirs) = (ours::<Fast>(&memory, &steps)?, theirs(&memory, &steps)?);
            let complete = ours::<Fast>(&arranged(with_all_rules(&full)), &steps)?;
            print!("{name:<44} {time:>11} {theirs:>9} {:>+7.1}%", percent(complete, theirs));
            for (_, rules) in RULES {
                print!(" {:>+7.1}%", percent(with_rules(rules, &memory, &steps)?, theirs));
            }
            println!();
        }
    }
    print!("\n{LEGEND}");
    Ok(())
}
