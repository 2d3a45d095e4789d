//! The deterministic order of writes against the paper's formula, and against the orders that it is mistaken for.

use ameles_core::schemes::write_schedule::WriteSchedule;
use proptest::prelude::*;

/// A function from a write to the main slots that it refreshes.
type RefreshedSlots<'a> = &'a dyn Fn(u64) -> Vec<u64>;

/// Checks the properties that a write-only ORAM needs, for `writes` writes from `first` on. It computes everything in
/// steps of one, without the products that the schedule uses.
fn check(
    main: u64,
    holding: u64,
    first: u64,
    writes: u64,
    refreshed_slots: RefreshedSlots<'_>,
) -> Result<(), String> {
    let mut next = (u128::from(first) * u128::from(main) / u128::from(holding) % u128::from(main)) as u64;
    // p·N mod M, which says when a further slot is due.
    let mut rest = u128::from(first) * u128::from(main) % u128::from(holding);
    for write in first..first + writes {
        let mut due = Vec::new();
        rest += u128::from(main);
        while rest >= holding.into() {
            rest -= u128::from(holding);
            due.push(next);
            next = if next + 1 == main { 0 } else { next + 1 };
        }
        let shown = refreshed_slots(write);
        if shown != due {
            return Err(format!("write {write} of {main}/{holding} refreshes {shown:?}, due are {due:?}"));
        }
    }
    // Any M writes in a row: every slot once.
    let mut refreshed = vec![0u32; main as usize];
    for write in first..first + holding {
        refreshed_slots(write).into_iter().for_each(|slot| refreshed[slot as usize] += 1);
    }
    match refreshed.iter().position(|times| *times != 1) {
        None => Ok(()),
        Some(slot) => Err(format!("slot {slot} of {main}/{holding} is refreshed {} times", refreshed[slot])),
    }
}

fn sizes() -> impl Strategy<Value = (u64, u64)> {
    let any = (1u64..200).prop_flat_map(|main| (Just(main), 1..=main));
    prop_oneof![4 => any, 1 => (1u64..200).prop_map(|n| (n, n)), 1 => (1u64..200).prop_map(|n| (n, 1))]
}

proptest! {
    #[test]
    fn writes_refresh_what_the_formula_says_and_everything_once_in_m_writes(
        (main, holding) in sizes(),
        first in prop_oneof![Just(0u64), 0..1000u64, (1u64 << 32) - 50..(1 << 32) + 50, 0..u64::MAX - 1000],
    ) {
        let schedule = WriteSchedule::new(main, holding).unwrap();
        prop_assert_eq!(check(main, holding, first, 300, &|write| schedule.refreshes(write).collect()), Ok(()));
        for write in first..first + 300 {
            prop_assert_eq!(schedule.holding_slot(write), write % holding);
            let min = main / holding;
            let due = schedule.refreshes(write).count_remaining();
            prop_assert!((min.max(1)..=schedule.max_refreshes()).contains(&due));
        }
    }

    #[test]
    fn a_place_among_the_refreshes_is_found_without_going_through_them(
        (main, holding) in sizes(),
        write: u32,
        n in 0usize..300,
    ) {
        let schedule = WriteSchedule::new(main, holding).unwrap();
        let due: Vec<u64> = schedule.refreshes(write.into()).collect();
        for slot in 0..main + 2 {
            let place = due.iter().position(|due| *due == slot).map(|place| place as u64);
            prop_assert_eq!(schedule.refreshes(write.into()).place_of(slot), place);
        }
        prop_assert_eq!(schedule.refreshes(write.into()).nth(n), due.get(n).copied());
        let skipped: Vec<u64> = schedule.refreshes(write.into()).skip(n).collect();
        prop_assert_eq!(&skipped[..], due.get(n..).unwrap_or(&[]));
    }
}

#[test]
fn the_order_goes_on_without_a_gap_far_beyond_2_to_the_32_writes() {
    for (main, holding) in [(16_384, 2_341), (u64::from(u32::MAX), 613_566_757), (u64::MAX, 1 << 61), (7, 7)]
    {
        let schedule = WriteSchedule::new(main, holding).unwrap();
        for around in [1u64 << 32, 1 << 33, 1 << 53, 1 << 63, u64::MAX - 40] {
            let mut next = None;
            for write in around - 40..around + 40 {
                let due: Vec<u64> = schedule.refreshes(write).collect();
                assert_eq!(due.first(), next.as_ref().or(due.first()), "write {write} of {main}/{holding}");
                next = due.last().map(|last| (last + 1) % main);
                let before = schedule.refreshes_before(write.into());
                assert_eq!(before, u128::from(write) * u128::from(main) / u128::from(holding));
                if write == u64::MAX {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_rounded_ratio_is_caught_by_the_same_check() {
    // 11 · (15 / 11) is below 15 in 64-bit floating point.
    let (main, holding) = (15u64, 11u64);
    let ratio = main as f64 / holding as f64;
    let bound = |write: u64| (write as f64 * ratio).floor() as u64;
    let rounded = |write: u64| (bound(write)..bound(write + 1)).map(|slot| slot % main).collect();
    assert!(check(main, holding, 0, 300, &rounded).is_err());
    // 32 bits do not even keep an exact ratio for long.
    let bound = |write: u64| (write as f32 * 3.0) as u64;
    let rounded = |write: u64| (bound(write)..bound(write + 1)).map(|slot| slot % 12).collect();
    assert_eq!(check(12, 4, 0, 300, &rounded), Ok(()));
    assert!(check(12, 4, 1 << 24, 300, &rounded).is_err());
}

#[test]
fn bounds_that_are_reduced_as_a_pair_are_caught_by_the_same_check() {
    // As in Algorithm 1: from s mod N to e mod N, which is nothing if e has wrapped.
    let paired = |write: u64| {
        let bound = |write: u64| write * 10 / 3 % 10;
        (bound(write)..bound(write + 1)).collect()
    };
    assert!(check(10, 3, 0, 300, &paired).unwrap_err().contains("refreshes []"));
}

#[test]
fn areas_that_do_not_go_together_are_refused_by_name() {
    let refused = |main, holding| WriteSchedule::new(main, holding).unwrap_err().to_string();
    assert_eq!(refused(10, 0), "holding is 0; choose 1 to 10");
    assert_eq!(refused(10, 11), "holding is 11; choose 1 to 10");
    assert!(WriteSchedule::new(0, 0).is_err());
}
