//! The two schedulers do the same in the same cycles.

use crate::load::{loads, memories, run, run_looking};
use lethe_dram::{Fast, Stepped};
use proptest::prelude::*;

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
