//! The filling of the stash, against the room that planned parameters leave; `docs/how-it-works/stash.md` has the long
//! simulation.

use lethe_core::schemes::ring::RingParameters;
use lethe_core::testing::stash_tail::{
    ExponentialFit, Reads, emergency_log2, moments, room, simulate, waiting_mean,
};

/// Capacity and trusted blocks of the vaults that the claims are about: the default of 1 GiB in blocks of 64 KiB with a
/// sixteenth and an eighth on the trusted side, and a small one.
const VAULTS: [(u64, u64); 3] = [(16_384, 1024), (16_384, 2048), (4096, 512)];

#[test]
fn a_full_vault_stays_ten_and_a_half_deviations_below_an_emergency() {
    for (capacity, trusted) in VAULTS {
        let parameters = RingParameters::for_capacity(capacity, 0, trusted, 16);
        let tail = simulate(&parameters, Reads::Scan, 200_000, 1);
        let (mean, deviation) = moments(&tail.held);
        let left = (f64::from(room(&parameters)) - mean) / deviation;
        assert!(
            left >= 10.5,
            "{capacity} blocks: {mean:.1} held, deviation {deviation:.2}, {left:.2} are left"
        );
        assert_eq!(tail.emergencies, 0);
    }
}

#[test]
fn the_blocks_that_wait_are_as_many_as_the_sum_of_coins_says() {
    for (capacity, trusted) in VAULTS {
        let parameters = RingParameters::for_capacity(capacity, 0, trusted, 16);
        let tail = simulate(&parameters, Reads::Scan, 200_000, 2);
        let (held, _) = moments(&tail.held);
        let (excess, _) = moments(&tail.excess);
        // The mean is at most that of the worst timing, whose newest 2 A - 1 accesses had no eviction; with evictions
        // at an even pace it is between none and A.
        let most = waiting_mean(&parameters);
        let least = most - f64::from(2 * parameters.eviction_rate);
        let waiting = held - excess;
        assert!((least..most).contains(&waiting), "{waiting:.1} wait, expected {least:.1} to {most:.1}");
        assert!(excess.abs() < 0.05 * most, "{excess:.1} more than wait for their turn");
    }
}

#[test]
fn nothing_holds_more_than_a_scan() {
    let (capacity, trusted) = VAULTS[2];
    let parameters = RingParameters::for_capacity(capacity, 0, trusted, 16);
    let mean = |reads| moments(&simulate(&parameters, reads, 200_000, 3).held).0;
    let scan = mean(Reads::Scan);
    for reads in [Reads::Random, Reads::ScanAndDummies] {
        assert!(mean(reads) < scan, "{reads:?} holds {:.1}, a scan {scan:.1}", mean(reads));
    }
}

#[test]
fn the_measured_tail_falls_faster_than_an_exponential() {
    let (capacity, trusted) = VAULTS[2];
    let parameters = RingParameters::for_capacity(capacity, 0, trusted, 16);
    let tail = simulate(&parameters, Reads::Scan, 1_000_000, 4);
    // A line through the upper part of the tail lies above what is measured further out.
    let upper = ExponentialFit::of(&tail.held, 2000).expect("many samples");
    let deeper = ExponentialFit::of(&tail.held, 50).expect("some samples");
    assert!(deeper.slope > upper.slope, "{:.3} bits a block, then {:.3}", upper.slope, deeper.slope);
    assert!(deeper.last.1 < upper.log2(deeper.last.0));
}

#[test]
fn an_emergency_eviction_of_the_default_vault_is_rarer_than_2_to_the_minus_80() {
    let (capacity, trusted) = VAULTS[0];
    let parameters = RingParameters::for_capacity(capacity, 0, trusted, 16);
    let tail = simulate(&parameters, Reads::Scan, 2_000_000, 5);
    let log2 = emergency_log2(&parameters, &tail.excess, 64).expect("enough samples");
    assert!(log2 < -80.0, "2^{log2:.1}");
    // Less room is told from enough.
    let smaller = RingParameters { stash_bound: parameters.stash_bound - 100, ..parameters };
    let log2 = emergency_log2(&smaller, &tail.excess, 64).expect("enough samples");
    assert!(log2 > -60.0, "2^{log2:.1} with a hundred blocks less");
}
