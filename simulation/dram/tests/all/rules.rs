//! No run breaks a rule of the DRAM, and the checker notices if one does.

use crate::load::{Record, Step, loads, memories, run};
use ameles_dram::{
    Checker, Command, Cycle, Direction, Fast, Kind, Memory, Rule, SameGroup, Specification, Stepped,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..Default::default() })]

    #[test]
    fn no_run_breaks_a_rule_of_the_dram(memory in memories(), load in loads()) {
        let checker = Checker::new(&memory);
        let (_, fast, _, end) = run::<Fast>(&memory, &load);
        prop_assert_eq!(checker.check(&fast.commands, end), Ok(()));
        let (_, stepped, _, end) = run::<Stepped>(&memory, &load);
        prop_assert_eq!(checker.check(&stepped.commands, end), Ok(()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..Default::default() })]

    #[test]
    fn rows_that_are_opened_ahead_break_no_rule_and_move_the_same_blocks(memory in memories(), load in loads()) {
        let mut ahead = Memory::<Stepped, Record>::with_observer(&memory, Record::default()).unwrap();
        for (nth, step) in load.iter().enumerate() {
            ahead.advance(ahead.now() + Cycle(step.gap));
            ahead.post(step.direction, &step.blocks).unwrap();
            ahead.open_ahead(load.get(nth + 1).map_or(&[][..], |next| &next.blocks)).unwrap();
        }
        let (end, counts) = (ahead.finish(), ahead.counts());
        let record = ahead.into_observer().sorted();
        prop_assert_eq!(Checker::new(&memory).check(&record.commands, end), Ok(()));
        let bursts: usize = load.iter().map(|step| step.blocks.len()).sum();
        let moved = counts.reads + counts.writes + counts.forwarded;
        prop_assert_eq!(moved, bursts as u64 * u64::from(memory.geometry.bursts));
    }
}

/// A way to make a memory ignore a rule.
type Relax = fn(&mut Specification);

#[test]
fn a_memory_that_ignores_a_timing_is_caught_by_the_rule_of_that_timing() {
    let relaxed: [(Rule, Relax); 13] = [
        (Rule::Rcd, |memory| memory.timing.t_rcd = Cycle(10)),
        (Rule::Rp, |memory| memory.timing.t_rp = Cycle(10)),
        (Rule::Rc, |memory| memory.timing.t_rc = Cycle(40)),
        (Rule::Ras, |memory| memory.timing.t_ras = Cycle(27)),
        (Rule::Rrd, |memory| memory.timing.t_rrd = Cycle(4)),
        (Rule::Faw, |memory| memory.timing.t_faw = Cycle(0)),
        (Rule::Wr, |memory| memory.timing.t_wr = Cycle(11)),
        (Rule::Wtr, |memory| memory.timing.t_wtr = Cycle(5)),
        (Rule::Rtp, |memory| memory.timing.t_rtp = Cycle(5)),
        (Rule::Ccd, |memory| memory.timing.t_ccd = Cycle(4)),
        (Rule::Rtrs, |memory| memory.timing.t_rtrs = Cycle(1)),
        (Rule::Rfc, |memory| memory.refresh.duration = Cycle(207)),
        (Rule::Refi, |memory| memory.refresh.interval = Cycle(6240 * 9)),
    ];
    for (rule, relax) in relaxed {
        let mut strict = Specification::usimm();
        // With USIMM's figures these two are hidden behind others.
        strict.timing.t_rc = Cycle(41);
        strict.timing.t_ccd = Cycle(if rule == Rule::Ccd { 5 } else { 4 });
        let mut loose = strict.clone();
        relax(&mut loose);
        let (_, record, _, end) = run::<Fast>(&loose, &wide_load());
        let violation = Checker::new(&strict).check(&record.commands, end).unwrap_err();
        assert_eq!(violation.rule, rule, "{violation}");
        let (_, record, _, end) = run::<Fast>(&strict, &wide_load());
        assert_eq!(Checker::new(&strict).check(&record.commands, end), Ok(()));
    }
}

#[test]
fn a_memory_that_ignores_a_rule_of_bank_groups_or_of_its_command_bus_is_caught_by_that_rule() {
    fn groups(memory: &mut Specification) -> &mut SameGroup {
        memory.same_group.as_mut().expect("it has bank groups")
    }
    let relaxed: [(Rule, Relax); 8] = [
        (Rule::RrdSameGroup, |memory| groups(memory).t_rrd = Cycle(11)),
        (Rule::WtrSameGroup, |memory| groups(memory).t_wtr = Cycle(23)),
        (Rule::CcdSameGroup, |memory| groups(memory).t_ccd = Cycle(11)),
        (Rule::CcdWriteSameGroup, |memory| groups(memory).t_ccd_write = Some(Cycle(23))),
        (Rule::Rtw, |memory| memory.timing.t_rtw = Some(Cycle(15))),
        (Rule::Rcd, |memory| memory.timing.t_rcd_write = Some(Cycle(29))),
        (Rule::CommandBus, |memory| memory.command_bus.activate = Cycle(1)),
        (Rule::CommandBus, |memory| memory.command_bus.column = Cycle(1)),
    ];
    let mut strict = Specification::preset("ddr5").expect("it is a preset").with_super_rows();
    (strict.timing.t_rtw, strict.timing.t_rcd_write) = (Some(Cycle(16)), Some(Cycle(30)));
    let checker = Checker::new(&strict);
    for (rule, relax) in relaxed {
        let mut loose = strict.clone();
        relax(&mut loose);
        let (_, record, _, end) = run::<Fast>(&loose, &wide_load());
        let violation = checker.check(&record.commands, end).unwrap_err();
        assert_eq!(violation.rule, rule, "{violation}");
    }
    let (_, record, _, end) = run::<Fast>(&strict, &wide_load());
    assert_eq!(checker.check(&record.commands, end), Ok(()));
}

#[test]
fn every_named_memory_keeps_its_rules_and_one_without_bank_groups_breaks_them() {
    for name in Specification::PRESETS {
        for is_in_rows in [false, true] {
            let memory = Specification::preset(name).expect("it is a preset");
            let memory = if is_in_rows { memory.with_super_rows() } else { memory };
            let checker = Checker::new(&memory);
            let (_, record, _, end) = run::<Fast>(&memory, &wide_load());
            assert_eq!(checker.check(&record.commands, end), Ok(()), "{name}");
            let loose = Specification { same_group: None, ..memory.clone() };
            let (_, record, _, end) = run::<Fast>(&loose, &wide_load());
            assert_eq!(checker.check(&record.commands, end).is_err(), name != "ddr3", "{name}");
        }
    }
}

/// Loads that together reach every rule: random ones of every shape, then a pause in which refreshes fall due.
fn wide_load() -> Vec<Step> {
    let mut runner = TestRunner::deterministic();
    let mut load: Vec<Step> =
        (0..40).flat_map(|_| loads().new_tree(&mut runner).unwrap().current()).collect();
    load.push(Step { gap: 6240 * 10, direction: Direction::Read, blocks: vec![], is_awaited: true });
    load
}

fn command(cycle: u64, kind: Kind, rank: u32, row: u32) -> Command {
    Command { cycle: Cycle(cycle), kind, channel: 0, rank, bank: 0, row, column: 0 }
}

#[test]
fn the_checker_knows_which_commands_a_bank_can_take() {
    let usimm = Specification::usimm();
    let judge = |commands: &[Command]| {
        Checker::new(&usimm).check(commands, Cycle(500)).map_err(|violation| violation.rule)
    };
    let open = command(0, Kind::Activate, 0, 7);
    assert_eq!(judge(&[open, command(100, Kind::Read, 0, 7), command(200, Kind::Precharge, 0, 7)]), Ok(()));
    assert_eq!(judge(&[open, command(0, Kind::Activate, 1, 7)]), Err(Rule::CommandBus));
    assert_eq!(judge(&[open, command(100, Kind::Activate, 0, 8)]), Err(Rule::State));
    assert_eq!(judge(&[open, command(100, Kind::Read, 0, 8)]), Err(Rule::State));
    assert_eq!(judge(&[open, command(100, Kind::Refresh, 0, 0)]), Err(Rule::State));
    assert_eq!(judge(&[open, command(100, Kind::Refresh, 1, 0)]), Ok(()));
    assert_eq!(judge(&[command(100, Kind::Write, 0, 0)]), Err(Rule::State));
    assert_eq!(judge(&[command(100, Kind::Precharge, 0, 0)]), Err(Rule::State));
    // A write's burst would begin with the read's: 11 cycles after 100, and 5 after 106.
    let other = command(5, Kind::Activate, 1, 3);
    let both = |cycle| [open, other, command(100, Kind::Read, 0, 7), command(cycle, Kind::Write, 1, 3)];
    assert_eq!(judge(&both(106)), Err(Rule::DataBus));
    assert_eq!(judge(&both(110)), Err(Rule::Rtrs));
    assert_eq!(judge(&both(112)), Ok(()));
}
