//! Random loads and random memories, and what a memory does under a load.

use ameles_dram::scheduler::Scheduler;
use ameles_dram::{
    Block, Command, CommandBus, Counts, Cycle, Direction, Layout, Memory, Observer, Queues, Refresh,
    RequestId, SameGroup, Specification, SubtreeLayout, Timing,
};
use proptest::prelude::*;

/// A part of a load.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The cycles that pass before the step.
    pub gap: u64,
    pub direction: Direction,
    pub blocks: Vec<Block>,
    /// True if the controller waits for the step.
    pub is_awaited: bool,
}

/// All that can be seen of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub commands: Vec<Command>,
    pub done: Vec<(RequestId, Cycle)>,
}

impl Observer for Record {
    fn on_command(&mut self, command: &Command) {
        self.commands.push(*command);
    }

    fn on_done(&mut self, request: RequestId, cycle: Cycle) {
        self.done.push((request, cycle));
    }
}

impl Record {
    /// The record in an order that does not depend on when channels ran.
    pub(crate) fn sorted(mut self) -> Self {
        self.commands.sort_by_key(|command| (command.channel, command.cycle));
        self.done.sort_unstable();
        self
    }
}

/// The cycles of the awaited steps, the record, the counts and the last cycle.
pub(crate) type Outcome = (Vec<Cycle>, Record, Counts, Cycle);

/// Runs a load to its end.
pub(crate) fn run<S: Scheduler>(specification: &Specification, load: &[Step]) -> Outcome {
    let mut memory = Memory::<S, Record>::with_observer(specification, Record::default()).unwrap();
    let mut awaited = Vec::new();
    for step in load {
        memory.advance(memory.now() + Cycle(step.gap));
        if step.is_awaited {
            let batch = match step.direction {
                Direction::Read => memory.read(&step.blocks).unwrap(),
                Direction::Write => memory.write(&step.blocks).unwrap(),
            };
            awaited.push(memory.wait(batch));
        } else {
            memory.post(step.direction, &step.blocks).unwrap();
        }
    }
    let end = memory.finish();
    let counts = memory.counts();
    (awaited, memory.into_observer().sorted(), counts, end)
}

/// Runs a load like a controller that checks the memory every `every` cycles.
pub(crate) fn run_looking<S: Scheduler>(specification: &Specification, load: &[Step], every: u64) -> Outcome {
    let mut memory = Memory::<S, Record>::with_observer(specification, Record::default()).unwrap();
    let mut awaited = Vec::new();
    for step in load {
        let next = memory.now() + Cycle(step.gap);
        while memory.now() < next {
            memory.advance(next.min(memory.now() + Cycle(every)));
            memory.counts();
        }
        if step.is_awaited {
            let batch = match step.direction {
                Direction::Read => memory.read(&step.blocks).unwrap(),
                Direction::Write => memory.write(&step.blocks).unwrap(),
            };
            let done = loop {
                if let Some(done) = memory.done(&batch) {
                    break done;
                }
                memory.advance(memory.now() + Cycle(1));
            };
            assert_eq!(memory.wait(batch), done);
            awaited.push(done);
        } else {
            memory.post(step.direction, &step.blocks).unwrap();
        }
    }
    let end = memory.finish();
    let counts = memory.counts();
    (awaited, memory.into_observer().sorted(), counts, end)
}

fn timing() -> impl Strategy<Value = Timing> {
    proptest::array::uniform14(0..24u64).prop_map(|times| {
        let [t_rcd, t_rp, t_cas, t_cwd, t_rc, t_ras, t_rrd, t_faw, t_wr, t_wtr, t_rtp, t_ccd, t_rtrs, burst] =
            times.map(Cycle);
        Timing {
            t_rcd,
            t_rcd_write: None,
            t_rp,
            t_cas,
            t_cwd,
            t_rc: t_ras + t_rc,
            t_ras,
            t_rrd,
            t_faw: t_faw * 3,
            t_wr,
            t_wtr,
            t_rtp,
            t_ccd,
            t_rtw: None,
            t_rtrs,
            burst: Cycle(burst.0 / 3 + 1),
        }
    })
}

/// A memory of a kind newer than DDR3. Bank groups take longer for their own commands, blocks have several bursts, and
/// commands take several cycles.
fn with_groups(mut memory: Specification, (groups, bursts): (u32, u32), more: [u64; 8]) -> Specification {
    let [rrd, wtr, ccd, ccd_write, rcd_write, rtw, activate, column] = more;
    memory.geometry.groups = memory.geometry.banks.min(1 << groups);
    memory.geometry.bursts = 1 << bursts;
    memory.command_bus = CommandBus { activate: Cycle(activate / 3 + 1), column: Cycle(column / 3 + 1) };
    let Timing { t_rrd, t_wtr, t_ccd, .. } = memory.timing;
    let t_ccd = t_ccd + Cycle(ccd);
    memory.same_group = Some(SameGroup {
        t_rrd: t_rrd + Cycle(rrd),
        t_wtr: t_wtr + Cycle(wtr),
        t_ccd,
        t_ccd_write: (ccd_write > 3).then_some(t_ccd + Cycle(ccd_write)),
    });
    memory.timing.t_rcd_write = (rcd_write > 3).then_some(Cycle(rcd_write));
    memory.timing.t_rtw = (rtw > 3).then_some(Cycle(rtw * 4));
    memory
}

fn queues() -> impl Strategy<Value = Queues> {
    (1..9u32, 1..9u32)
        .prop_flat_map(|(read, write)| (Just((read, write)), 1..=write))
        .prop_flat_map(|((read, write), high)| (Just((read, write, high)), 0..high))
        .prop_map(|((read, write, high), low)| Queues { read, write, high, low })
}

fn refresh() -> impl Strategy<Value = Refresh> {
    (700..3000u64, 0..64u64, prop_oneof![Just(1), 1..=8u32], 0..700u64).prop_map(
        |(interval, duration, batch, stagger)| Refresh {
            interval: Cycle(interval),
            duration: Cycle(duration),
            batch,
            stagger: Cycle(stagger / 2),
        },
    )
}

/// The memories to test. There is the built-in memory as it is, in super-rows, and with queues that fill and frequent
/// refreshes. There are random memories of one or two channels, with and without bank groups. And there are the
/// presets.
pub(crate) fn memories() -> impl Strategy<Value = Specification> {
    let usimm = Specification::usimm();
    let rows = usimm.clone().with_super_rows();
    let small = (queues(), refresh(), any::<bool>()).prop_map(|(queues, refresh, rows)| {
        let usimm = Specification::usimm();
        let mut small = if rows { usimm.with_super_rows() } else { usimm };
        (small.queues, small.refresh) = (queues, refresh);
        small.refresh.interval += Cycle(200);
        small
    });
    let random = (timing(), queues(), refresh(), 0..2u32, 0..3u32, 0..4u32);
    let random = random.prop_map(|(timing, queues, refresh, channels, ranks, banks)| {
        let mut random = Specification::usimm();
        (random.timing, random.queues, random.refresh) = (timing, queues, refresh);
        random.geometry.channels = 1 << channels;
        random.geometry.ranks = 1 << ranks;
        random.geometry.banks = 1 << banks;
        random.refresh.stagger = Cycle(random.refresh.stagger.0 / 4);
        random
    });
    let random = random.boxed();
    let groups = (random.clone(), (0..4u32, 0..3u32), proptest::array::uniform8(0..8u64), any::<bool>());
    let groups = groups.prop_map(|(random, numbers, more, rows)| {
        let groups = with_groups(random, numbers, more);
        if rows { groups.with_super_rows() } else { groups }
    });
    let presets = proptest::sample::select(Specification::PRESETS.as_slice()).prop_map(|name| {
        let preset = Specification::preset(name).expect("a name of the table");
        if name.ends_with('5') { preset } else { preset.with_super_rows() }
    });
    prop_oneof![1 => Just(usimm), 1 => Just(rows), 1 => small, 2 => random, 3 => groups, 1 => presets]
}

fn direction(writes_of_ten: u32) -> impl Strategy<Value = Direction> {
    (0..10u32).prop_map(move |ten| if ten < writes_of_ten { Direction::Write } else { Direction::Read })
}

/// Blocks of few rows, so that requests share rows, or of a few tens of thousands of rows.
fn block() -> impl Strategy<Value = Block> {
    prop_oneof![(0..64u64), (0..4u64).prop_map(|nth| nth << 14), 0..1u64 << 15].prop_map(Block)
}

fn steps(gaps: std::ops::Range<u64>, max: usize, writes: u32) -> impl Strategy<Value = Vec<Step>> {
    steps_of(block().boxed(), gaps, max, writes)
}

fn steps_of(
    block: BoxedStrategy<Block>,
    gaps: std::ops::Range<u64>,
    max: usize,
    writes: u32,
) -> impl Strategy<Value = Vec<Step>> {
    let step = (gaps, direction(writes), proptest::collection::vec(block, 0..max), 0..4u32);
    let step = step.prop_map(|(gap, direction, blocks, awaited)| Step {
        gap,
        direction,
        blocks,
        is_awaited: awaited == 0,
    });
    proptest::collection::vec(step, 1..24)
}

/// Whole paths, each read and then written, with and without pauses.
fn paths() -> impl Strategy<Value = Vec<Step>> {
    // A tree small enough for the smallest of the random memories.
    let slots: Vec<u32> = (0..16).map(|level| if level < 1 { 0 } else { 4 }).collect();
    let layout = SubtreeLayout::new(&slots, 1, 7, &Specification::usimm().geometry).unwrap();
    let pause = prop_oneof![Just(0), 0..1500u64];
    let path = (0..1u64 << 15, pause, any::<bool>());
    proptest::collection::vec(path, 1..10).prop_map(move |paths| {
        let of_path = |(leaf, gap, is_awaited)| {
            let mut blocks = Vec::new();
            layout.path(leaf, &mut blocks);
            let read = Step { gap, direction: Direction::Read, blocks: blocks.clone(), is_awaited: true };
            [read, Step { gap: 0, direction: Direction::Write, blocks, is_awaited }]
        };
        paths.into_iter().flat_map(of_path).collect()
    })
}

/// Loads of several shapes.
pub(crate) fn loads() -> impl Strategy<Value = Vec<Step>> {
    prop_oneof![
        2 => paths(),
        2 => steps(0..30, 4, 5),
        1 => steps(0..60, 12, 9),
        1 => steps(0..5000, 4, 5),
        1 => steps(0..10, 100, 5),
        // The same blocks again and again: reads of what is still to be written.
        1 => steps_of((0..3u64).prop_map(Block).boxed(), 0..8, 3, 5),
    ]
}
