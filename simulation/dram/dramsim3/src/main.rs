//! Compares the model with DRAMsim3 (through the crate `dramsim3`) on the same streams of requests: the cycles from
//! the first request to the last read that is done.
//!
//!     cargo run --release --manifest-path simulation/dram/dramsim3/Cargo.toml -- [paths]
//!
//! It needs CMake and a C++ compiler. The rules that differ are printed below the table.

#[path = "../../benches/random/mod.rs"]
mod random;

use dramsim3::MemorySystem;
use ameles_dram::{
    Block, Cycle, Direction, DramError, Field, Layout, Memory, PlainLayout, Queues, Specification,
    SubtreeLayout,
};
use random::Random;
use std::io::Write;

/// The rules of DRAMsim3's scheduler that differ, as its source has them.
const RULES: &str = "\
Rules of DRAMsim3 that differ:
- Reads that come while writes wait. A drain begins with more than 8 queued writes when no command is queued, or with
  a full write buffer. Writes move into queues of commands, one a bank, and reads after them: there both stand
  together, so a row is opened for one direction while blocks move in the other, and the bus turns more often.
  Here only one direction is active. The streams of paths with reads and writes at once differ by up to 10 %; that is
  gone when the reads come long after the writes.
- Order. Banks take turns, and the oldest request of a bank comes first; a row of one bank may be opened before a block
  of another is moved. A row is closed after 4 hits, though more are queued, for an older request of its bank.
- Pipeline. A read takes 2 cycles more, one before its first command and one after its burst: taken off above.
- Writes of two ranks follow each other without t_rtrs.
- A write is done in the cycle after its submission, so the time ends with the last read.
";

/// The requests of a step: writes are submitted, after a pause the reads, and the next step begins when these are done.
struct Step {
    writes: Vec<Block>,
    /// Cycles between the two.
    pause: u64,
    reads: Vec<Block>,
}

/// The cycles that a read spends in DRAMsim3 before and after its commands, when nothing else is there.
const PIPELINE: u64 = 2;

/// The memory that both model: USIMM's, with what DRAMsim3 can express of queues and refreshes. Its drains have no
/// marks; from 9 writes to none is what comes nearest to "more than 8, until all have moved on". With marks of 64 and
/// 0, random reads and writes at once take 27 % less time than in DRAMsim3.
fn specification() -> Specification {
    let mut specification = Specification::usimm();
    specification.queues = Queues { read: 64, write: 64, high: 9, low: 0 };
    (specification.refresh.batch, specification.refresh.stagger) = (1, Cycle(3120));
    specification
}

fn ini(specification: &Specification) -> String {
    let timing = &specification.timing;
    let geometry = &specification.geometry;
    // Two letters a field, from the highest bit.
    let name = |field: &Field| match field {
        Field::Channel => "ch",
        Field::Rank => "ra",
        Field::Bank => "bgba",
        Field::Row => "ro",
        Field::Column => "co",
    };
    let mapping: String = geometry.order.iter().rev().map(name).collect();
    let megabytes = (geometry.bytes().0 / u64::from(geometry.channels)) >> 20;
    format!(
        "[dram_structure]\nprotocol = DDR3\nbankgroups = 1\nbanks_per_group = {}\nrows = {}\ncolumns = {}\n\
         device_width = 8\nBL = 8\n[timing]\ntCK = 1.25\nAL = 0\nCL = {}\nCWL = {}\ntRCD = {}\ntRP = {}\ntRAS = {}\n\
         tRFC = {}\ntREFI = {}\nREFI = {}\ntRPRE = 0\ntWPRE = 0\ntRRD_S = {}\ntRRD_L = {}\ntWTR_S = {}\ntWTR_L = {}\n\
         tFAW = {}\ntWR = {}\ntRTP = {}\ntCCD_S = {}\ntCCD_L = {}\ntRTRS = {}\n[system]\nchannel_size = {megabytes}\n\
         channels = {}\nbus_width = 64\naddress_mapping = {mapping}\nqueue_structure = PER_BANK\n\
         refresh_policy = RANK_LEVEL_STAGGERED\nrow_buf_policy = OPEN_PAGE\ncmd_queue_size = 16\n\
         trans_queue_size = {}\n[other]\nepoch_period = 100000000\noutput_level = 0\n",
        geometry.banks,
        geometry.rows,
        geometry.columns * 8,
        timing.t_cas.0,
        timing.t_cwd.0,
        timing.t_rcd.0,
        timing.t_rp.0,
        timing.t_ras.0,
        specification.refresh.duration.0,
        specification.refresh.interval.0,
        specification.refresh.interval.0,
        timing.t_rrd.0,
        timing.t_rrd.0,
        timing.t_wtr.0,
        timing.t_wtr.0,
        timing.t_faw.0,
        timing.t_wr.0,
        timing.t_rtp.0,
        timing.t_ccd.0,
        timing.t_ccd.0,
        timing.t_rtrs.0,
        geometry.channels,
        specification.queues.read,
    )
}

fn ours(specification: &Specification, steps: &[Step]) -> Result<u64, DramError> {
    let mut memory = Memory::new(specification)?;
    let mut last = Cycle(0);
    for step in steps {
        memory.post(Direction::Write, &step.writes)?;
        memory.advance(memory.now() + Cycle(step.pause));
        let batch = memory.read(&step.reads)?;
        last = memory.wait(batch);
    }
    Ok(last.0)
}

fn theirs(specification: &Specification, steps: &[Step]) -> std::io::Result<u64> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("usimm.ini");
    std::fs::File::create(&path)?.write_all(ini(specification).as_bytes())?;
    let mut memory = MemorySystem::new(&path, folder.path()).expect("paths without a zero byte");
    let bytes = specification.geometry.block_bytes.0;
    let mut now = 0;
    for step in steps {
        let mut left: Vec<(u64, bool)> = step.writes.iter().map(|block| (block.0 * bytes, true)).collect();
        let mut pending = step.reads.len();
        let begin = now + step.pause;
        while now < begin || pending > 0 {
            if now == begin {
                left.extend(step.reads.iter().map(|block| (block.0 * bytes, false)));
            }
            left.retain(|(address, is_write)| {
                !(memory.can_add(*address, *is_write) && memory.add(*address, *is_write))
            });
            memory.tick(|_, is_write| pending -= usize::from(!is_write));
            now += 1;
        }
    }
    Ok(now)
}

/// Random paths: each is read, and written with a pause before the next, or not at all.
fn paths(layout: &impl Layout, count: u64, pause: Option<u64>) -> Vec<Step> {
    let mut random = Random(7);
    let (mut written, mut reads) = (Vec::new(), Vec::new());
    let mut step = |_| {
        layout.path(random.below(1 << (layout.slots().len() - 1)), &mut reads);
        let writes =
            if pause.is_some() { std::mem::replace(&mut written, reads.clone()) } else { Vec::new() };
        Step { writes, pause: pause.unwrap_or(0), reads: reads.clone() }
    };
    (0..count).map(&mut step).collect()
}

/// Random blocks, this many reads and writes at once.
fn random(count: u64, reads: u64, writes: u64, specification: &Specification) -> Vec<Step> {
    let mut random = Random(reads);
    let mut blocks =
        |count| (0..count).map(|_| Block(random.below(specification.geometry.blocks()))).collect();
    (0..count).map(|_| Step { writes: blocks(writes), pause: 0, reads: blocks(reads) }).collect()
}

/// Consecutive blocks, this many at once.
fn run(count: u64, blocks: u64) -> Vec<Step> {
    let step = |nth| {
        let reads = (nth * blocks..(nth + 1) * blocks).map(Block).collect();
        Step { writes: Vec::new(), pause: 0, reads }
    };
    (0..count).map(step).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args().nth(1).map_or(Ok(5000), |text| text.parse())?;
    let banks = specification();
    let rows = banks.clone().with_super_rows();
    let slots: Vec<u32> = (0..25).map(|level| if level < 10 { 0 } else { 4 }).collect();
    let subtrees = SubtreeLayout::new(&slots, 0, 7, &rows.geometry)?;
    let plain = PlainLayout::new(&slots, &rows.geometry)?;
    let streams = [
        ("random reads one by one", &banks, random(count * 4, 1, 0, &banks)),
        ("blocks in a row, 64 at once", &banks, run(count, 64)),
        ("random, 60 reads at once", &banks, random(count, 60, 0, &banks)),
        ("random, 60 reads and 60 writes at once", &banks, random(count, 60, 60, &banks)),
        ("paths read only: subtrees, super-rows", &rows, paths(&subtrees, count, None)),
        ("paths read only: subtrees, banks first", &banks, paths(&subtrees, count, None)),
        ("paths read only: plain, super-rows", &rows, paths(&plain, count, None)),
        ("paths, reads long after writes: super-rows", &rows, paths(&subtrees, count, Some(400))),
        ("paths, reads long after writes: banks first", &banks, paths(&subtrees, count, Some(400))),
        ("paths, reads with writes: super-rows", &rows, paths(&subtrees, count, Some(0))),
        ("paths, reads with writes: banks first", &banks, paths(&subtrees, count, Some(0))),
        ("paths, reads with writes: plain", &rows, paths(&plain, count, Some(0))),
    ];
    println!("{:<44} {:>11} {:>11} {:>8}", "cycles of the DRAM", "ameles-dram", "DRAMsim3", "ours");
    for (name, specification, steps) in &streams {
        let ours = ours(specification, steps)?;
        let theirs = theirs(specification, steps)? - PIPELINE * steps.len() as u64;
        let difference = 100.0 * (ours as f64 / theirs as f64 - 1.0);
        println!("{name:<44} {ours:>11} {theirs:>11} {difference:>+7.1}%");
    }
    print!("{RULES}");
    Ok(())
}
