//! The promises that the controller of an ORAM relies on.

use crate::load::{Record, loads, memories, run};
use ameles_dram::{
    Block, Cycle, Direction, DramError, Fast, Kind, Layout, Memory, Place, RequestId, Specification, Stepped,
    SubtreeLayout,
};
use proptest::prelude::*;

fn blocks(numbers: impl IntoIterator<Item = u64>) -> Vec<Block> {
    numbers.into_iter().map(Block).collect()
}

#[test]
fn a_first_read_takes_an_activate_the_latency_and_a_burst() {
    let mut memory = Memory::new(&Specification::usimm()).unwrap();
    let batch = memory.read(&blocks([0])).unwrap();
    assert_eq!(memory.wait(batch), Cycle(11 + 11 + 4));
    // The row stays open; a hit needs no activate.
    memory.advance(Cycle(100));
    let batch = memory.read(&blocks([64])).unwrap();
    assert_eq!(memory.wait(batch), Cycle(100 + 11 + 4));
    assert_eq!(memory.counts().activates, 1);
}

#[test]
fn a_batch_is_done_with_its_last_block_and_not_before() {
    let mut memory = Memory::new(&Specification::usimm()).unwrap();
    let batch = memory.read(&blocks(0..60)).unwrap();
    memory.advance(Cycle(50));
    assert_eq!(memory.done(&batch), None);
    let done = memory.wait(batch);
    assert_eq!(memory.now(), done);

    let mut again = Memory::new(&Specification::usimm()).unwrap();
    let batch = again.read(&blocks(0..60)).unwrap();
    again.advance(Cycle(done.0 - 1));
    assert_eq!(again.done(&batch), None);
    again.advance(done);
    assert_eq!(again.done(&batch), Some(done));
}

#[test]
fn a_row_that_is_opened_ahead_saves_its_activate_unless_its_bank_is_in_use() {
    // Rows 0 and 1 of bank 0, and row 0 of bank 1, in one channel.
    let [row, other_row, other_bank] = [0, 1 << 13, 1 << 2].map(Block);
    let cycles = |next: Block, ahead: &[Block]| {
        let mut memory = Memory::<Stepped>::with_observer(&Specification::usimm(), ()).unwrap();
        let first = memory.read(&[row]).unwrap();
        memory.open_ahead(ahead).unwrap();
        memory.wait(first);
        // Long enough for a precharge and an activate, whose row could then be closed again.
        let begin = memory.now() + Cycle(50);
        memory.advance(begin);
        let next = memory.read(&[next]).unwrap();
        memory.wait(next).0 - begin.0
    };
    assert_eq!(cycles(other_bank, &[]), 11 + 11 + 4);
    assert_eq!(cycles(other_bank, &[other_bank]), 11 + 4);
    // The bank of the first read is opened for the next one as soon as it has been read.
    assert_eq!(cycles(other_row, &[]), 11 + 11 + 11 + 4);
    assert_eq!(cycles(other_row, &[other_row]), 11 + 4);
    assert_eq!(cycles(row, &[other_row]), 11 + 11 + 11 + 4);
    // The first row of a bank counts.
    assert_eq!(cycles(row, &[row, other_row]), 11 + 4);
    let mut memory = Memory::<Stepped>::with_observer(&Specification::usimm(), ()).unwrap();
    assert!(memory.open_ahead(&[Block(u64::MAX)]).is_err());
}

#[test]
fn the_clock_never_goes_back() {
    let mut memory = Memory::new(&Specification::usimm()).unwrap();
    let (first, second) = (memory.read(&blocks([0])).unwrap(), memory.read(&blocks(1..60)).unwrap());
    let second = memory.wait(second);
    assert!(memory.wait(first) < second);
    memory.advance(Cycle(3));
    assert_eq!(memory.now(), second);
    let none = memory.read::<Block>(&[]).unwrap();
    assert_eq!(memory.wait(none), second);
}

#[test]
fn a_place_and_its_number_are_the_same_block() {
    let specification = Specification::usimm();
    let mut memory = Memory::new(&specification).unwrap();
    let place = Place { channel: 2, rank: 1, bank: 5, row: 77, column: 3 };
    // From the lowest bit: channel 2, bank 3, rank 1, column 7, row.
    let number = 2 | 5 << 2 | 1 << 5 | 3 << 6 | 77 << 13;
    memory.post(Direction::Write, &[place]).unwrap();
    let read = memory.read(&blocks([number])).unwrap();
    assert_eq!(memory.wait(read), Cycle(1), "it is forwarded");
}

#[test]
fn a_read_of_a_block_whose_write_is_queued_is_answered_in_the_next_cycle() {
    let mut memory = Memory::new(&Specification::usimm()).unwrap();
    // The reads keep the writes waiting.
    memory.post(Direction::Read, &blocks((1..30).map(|nth| nth * 4))).unwrap();
    memory.post(Direction::Write, &blocks([400, 404])).unwrap();
    memory.advance(Cycle(10));
    let read = memory.read(&blocks([404])).unwrap();
    assert_eq!(memory.wait(read), Cycle(11));
    memory.finish();
    let counts = memory.counts();
    assert_eq!((counts.forwarded, counts.reads, counts.writes), (1, 29, 2));
    let read = memory.read(&blocks([404])).unwrap();
    let submitted = memory.now();
    assert!(memory.wait(read) > submitted + Cycle(1), "the write is done");
}

#[test]
fn a_block_that_the_memory_lacks_is_refused_and_nothing_is_submitted() {
    let mut memory = Memory::new(&Specification::usimm()).unwrap();
    let refused = memory.read(&blocks([0, 1 << 28])).unwrap_err();
    assert_eq!(refused.to_string(), "block 268435456 is beyond the memory's 268435456 blocks");
    let place = Place { channel: 0, rank: 2, bank: 0, row: 0, column: 0 };
    assert!(matches!(memory.write(&[place]), Err(DramError::NoSuchPlace(at)) if at == place));
    assert_eq!(memory.finish(), Cycle(0));
}

#[test]
fn a_senseless_description_makes_no_memory() {
    let mut specification = Specification::usimm();
    specification.geometry.channels = 3;
    assert!(Memory::new(&specification).unwrap_err().to_string().contains("number of channels is 3"));
}

#[test]
fn writes_wait_for_reads_until_the_high_mark_and_drain_to_the_low_mark() {
    let specification = Specification::usimm();
    let mut memory = Memory::<Fast, Record>::with_observer(&specification, Record::default()).unwrap();
    // All in channel 0, one row a direction: 60 reads, then as many writes as the high mark.
    memory.post(Direction::Read, &blocks((0..60).map(|nth| nth << 6))).unwrap();
    memory.post(Direction::Write, &blocks((0..40).map(|nth| 4 | nth << 6))).unwrap();
    memory.finish();
    let moves = memory.into_observer().commands.into_iter().map(|command| command.kind);
    let moves: Vec<Kind> = moves.filter(|kind| matches!(kind, Kind::Read | Kind::Write)).collect();
    let runs: Vec<(Kind, usize)> = moves.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
    assert_eq!(runs, [(Kind::Write, 20), (Kind::Read, 60), (Kind::Write, 20)]);
}

#[test]
fn each_rank_is_refreshed_once_an_interval() {
    let mut specification = Specification::usimm();
    (specification.refresh.batch, specification.refresh.stagger) = (1, Cycle(3120));
    let mut memory = Memory::<Fast, Record>::with_observer(&specification, Record::default()).unwrap();
    memory.advance(Cycle(6240 * 10 + 1));
    assert_eq!(memory.counts().refreshes, 4 * (10 + 9));
    let commands = memory.into_observer().commands;
    let of_rank = |rank| commands.iter().filter(move |command| (command.channel, command.rank) == (1, rank));
    let expected = |lag: u64, times| (1..=times).map(|k| Cycle(6240 * k + lag)).collect::<Vec<_>>();
    assert_eq!(of_rank(0).map(|command| command.cycle).collect::<Vec<_>>(), expected(0, 10));
    assert_eq!(of_rank(1).map(|command| command.cycle).collect::<Vec<_>>(), expected(3120, 9));
}

#[test]
fn batches_that_were_waited_for_cost_no_memory() {
    let specification = Specification::usimm().with_super_rows();
    let slots: Vec<u32> = (0..25).map(|level| if level < 10 { 0 } else { 4 }).collect();
    let layout = SubtreeLayout::new(&slots, 10, 7, &specification.geometry).unwrap();
    let mut memory = Memory::new(&specification).unwrap();
    let mut path = Vec::new();
    let mut sizes = Vec::new();
    for leaf in 0..100 {
        layout.path(leaf * 12_345 % (1 << 24), &mut path);
        let (read, write) = (memory.read(&path).unwrap(), memory.write(&path).unwrap());
        memory.wait(read);
        memory.wait(write);
        sizes.push(format!("{memory:?}").len());
    }
    // Numbers grow by digits; a batch that is kept would add about a hundred characters.
    assert!(sizes[99] < sizes[20] + 1000, "{sizes:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..Default::default() })]

    #[test]
    fn every_request_is_done_once_and_every_command_is_counted(memory in memories(), load in loads()) {
        let (_, record, counts, end) = run::<Fast>(&memory, &load);
        let blocks: u64 = load.iter().map(|step| step.blocks.len() as u64).sum();
        let requests = blocks * u64::from(memory.geometry.bursts);
        let done: Vec<RequestId> = record.done.iter().map(|(request, _)| *request).collect();
        prop_assert_eq!(done, (0..requests).map(RequestId).collect::<Vec<_>>());
        let of = |kind| record.commands.iter().filter(|command| command.kind == kind).count() as u64;
        prop_assert_eq!(counts.activates, of(Kind::Activate));
        prop_assert_eq!(counts.precharges, of(Kind::Precharge));
        prop_assert_eq!(counts.reads, of(Kind::Read));
        prop_assert_eq!(counts.writes, of(Kind::Write));
        prop_assert_eq!(counts.refreshes, of(Kind::Refresh));
        prop_assert_eq!(counts.reads + counts.writes + counts.forwarded, requests);
        let ranks = u64::from(memory.geometry.channels * memory.geometry.ranks);
        prop_assert_eq!(counts.open + counts.precharged, end * ranks);
        prop_assert!(record.commands.iter().all(|command| command.cycle < end));
    }
}
