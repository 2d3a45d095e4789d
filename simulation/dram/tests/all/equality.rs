//! The two schedulers do the same in the same cycles.

use crate::load::{Step, loads, memories, run, run_looking};
use ameles_dram::{Direction, Fast, Layout, Specification, Stepped, SubtreeLayout};
use proptest::prelude::*;

/// The tree of IR-ORAM: 25 levels, the ten upper ones on chip, four slots per bucket, subtrees of seven levels.
#[test]
fn both_schedulers_agree_over_many_paths_and_refreshes() {
    let memory = Specification::usimm().with_super_rows();
    let slots: Vec<u32> = (0..25).map(|level| if level < 10 { 0 } else { 4 }).collect();
    let layout = SubtreeLayout::new(&slots, 0, 7, &memory.geometry).unwrap();
    for waits_for_writes in [true, false] {
        let mut load = Vec::new();
        for nth in 0..600u64 {
            let mut blocks = Vec::new();
            layout.path(nth.wrapping_mul(0x9e37_79b9) % (1 << 24), &mut blocks);
            let step = Step { gap: 0, direction: Direction::Read, blocks, is_awaited: true };
            let write = Step { direction: Direction::Write, is_awaited: waits_for_writes, ..step.clone() };
            load.extend([step, write]);
        }
        let (fast, stepped) = (run::<Fast>(&memory, &load), run::<Stepped>(&memory, &load));
        assert!(fast == stepped);
        // A batch of eight for each of two ranks and four channels.
        assert!(fast.2.refreshes >= 64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..Default::default() })]

    #[test]
    fn both_schedulers_issue_the_same_commands_and_finish_each_request_in_the_same_cycle(
        memory in memories(),
        load in loads(),
    ) {
        prop_assert_eq!(run::<Fast>(&memory, &load), run::<Stepped>(&memory, &load));
    }

    #[test]
    fn looking_at_a_memory_changes_nothing(
        memory in memories(),
        load in loads(),
        every in 1..1000u64,
    ) {
        prop_assert_eq!(run_looking::<Fast>(&memory, &load, every), run::<Fast>(&memory, &load));
    }
}
