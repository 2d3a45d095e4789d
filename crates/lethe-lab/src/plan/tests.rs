//! The promises of a plan.

use super::*;
use crate::virtual_time::ServerTime;
use lethe_store::{BitsPerSecond, LinkSpeed, PriceTable};
use lethe_vault::VaultParameters;
use std::sync::OnceLock;
use std::time::Duration;

/// Bytes of trusted memory.
const TRUSTED: u64 = 4 << 30;

fn work() -> Work {
    Work {
        capacity: 16 << 30,
        sizes: ObjectSizes::of_table("1000,5\n300000,3\n5000000,2").unwrap(),
        reads: 200_000.0,
        writes: 50_000.0,
        speed: LinkSpeed {
            round_trip: Duration::from_millis(30),
            up: BitsPerSecond::mega(100),
            down: BitsPerSecond::mega(100),
        },
        server: ServerTime::default(),
        prices: PriceTable::shipped().get("s3-standard").unwrap().clone(),
        trusted: TRUSTED,
        block_bytes: vec![64 << 10, 1 << 20],
    }
}

/// The trusted memory of a vault, about: its tables and the blocks that its trusted side may hold.
fn memory(parameters: &VaultParameters) -> u64 {
    parameters.trusted_bytes()
}

/// The plan by the bill: what it takes to find is shared.
fn by_bill() -> &'static Plan {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    PLAN.get_or_init(|| Plan::of(&work(), Order::Bill, &memory))
}

fn assert_sound(plan: &Plan, by: impl Fn(&Choice) -> f64) {
    assert!(plan.choices.len() > 3);
    assert!(plan.choices.iter().all(|choice| choice.memory <= TRUSTED));
    assert!(plan.choices.is_sorted_by(|one, other| by(one) <= by(other)));
    assert!(plan.rejected.iter().all(|rejected| rejected.wants.is_none_or(|wants| wants > TRUSTED)));
}

#[test]
fn choices_come_in_the_order_asked_and_fit_into_the_memory() {
    assert_sound(by_bill(), |choice| choice.figures.dollars());
    let by_time = Plan::of(&work(), Order::Time, &memory);
    assert_sound(&by_time, |choice| choice.figures.time.as_secs_f64());
}

#[test]
fn a_bill_without_an_oram_is_what_one_adds_up_by_hand() {
    let plain = by_bill().plain;
    let mean = (5.0 * 1000.0 + 3.0 * 300_000.0 + 2.0 * 5_000_000.0) / 10.0;
    let prices = &work().prices;
    let gigabyte = prices.bytes_per_gb as f64;
    let by_hand = 200.0 * prices.get_per_1000
        + 50.0 * prices.put_per_1000
        + 200_000.0 * mean / gigabyte * prices.egress_per_gb
        + (16u64 << 30) as f64 / gigabyte * prices.storage_per_gb_month;
    assert!((plain.dollars() - by_hand).abs() < 1e-3, "{} by hand {by_hand}", plain.dollars());
    let by_hand = 0.030 + mean * 8.0 / 100e6;
    assert!((plain.time.as_secs_f64() - by_hand).abs() < 1e-6);
}

#[test]
fn the_memory_of_oblivistore_has_the_buffers_of_its_rebuilds() {
    let large = by_bill()
        .choices
        .iter()
        .find(|choice| (choice.scheme, choice.block_bytes) == ("oblivistore", 1 << 20));
    let memory = large.map(|choice| choice.memory).or_else(|| {
        let is_it =
            |rejected: &&Rejected| rejected.scheme == "oblivistore" && rejected.block_bytes == 1 << 20;
        by_bill().rejected.iter().find(is_it).and_then(|rejected| rejected.wants)
    });
    // 128 partitions of 128 blocks and a quarter more; of a rebuild of the last level three times as many are held.
    assert!(memory.unwrap() > 3 * (128 + 32) << 20, "{memory:?}");
}

#[test]
fn the_impossible_is_told_what_is_nearest() {
    let plan = Plan::of(&Work { trusted: 1 << 16, ..work() }, Order::Bill, &memory);
    let nearest = plan.nearest().unwrap().wants.unwrap();
    assert!(nearest > 1 << 16);
    assert!(plan.best_vault().is_none(), "{:?}", plan.best_vault());
}

#[test]
fn the_line_to_type_names_a_vault_of_the_capacity() {
    let plan = by_bill();
    let flags = plan.best_vault().unwrap().flags.as_ref().unwrap();
    assert!(flags.starts_with("--capacity 16GiB --block-size "), "{flags}");
    assert!(flags.contains(" --scheme ring --tree-top "), "{flags}");
    assert!(plan.tables(3).lines().count() > 6);
}
