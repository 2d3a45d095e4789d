//! Tests of a plan.

use super::*;
use crate::virtual_time::ServerTime;
use ameles_store::{BitsPerSecond, LinkSpeed, PriceTable};
use ameles_vault::{JournalPlace, SchemeParameters, VaultParameters};
use std::sync::OnceLock;
use std::time::Duration;

/// The number of bytes of trusted memory.
const TRUSTED: u64 = 4 << 30;

fn work() -> Work {
    Work {
        capacity: 16 << 30,
        sizes: ObjectSizes::from_table("1000,5\n300000,3\n5000000,2").unwrap(),
        reads: 200_000.0,
        writes: 50_000.0,
        speed: LinkSpeed {
            round_trip: Duration::from_millis(30),
            up: BitsPerSecond::mega(100),
            down: BitsPerSecond::mega(100),
        },
        server: ServerTime::default(),
        journal: JournalPlace::Disk,
        prices: PriceTable::shipped().get("s3-standard").unwrap().clone(),
        trusted: TRUSTED,
        block_bytes: vec![64 << 10, 1 << 20],
    }
}

/// The trusted memory of a vault, about: its tables and the blocks that its trusted side may hold.
fn memory(parameters: &VaultParameters) -> u64 {
    parameters.trusted_bytes()
}

/// A plan at the prices of the work.
fn plan(work: &Work, order: Order) -> Plan {
    Plan::of(work, &[("s3-standard".to_owned(), work.prices.clone())], order, &memory)
}

/// The plan by the bill, which all tests share because it takes long to find.
fn by_bill() -> &'static Plan {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    PLAN.get_or_init(|| plan(&work(), Order::Bill))
}

fn assert_sound(plan: &Plan, by: impl Fn(&Choice) -> f64) {
    let Offer { choices, rejected, .. } = &plan.offers[0];
    assert!(choices.len() > 3);
    assert!(choices.iter().all(|choice| choice.memory <= TRUSTED));
    assert!(choices.is_sorted_by(|one, other| by(one) <= by(other)));
    let too_large_vaults = rejected.iter().filter_map(|rejected| rejected.choice.as_ref());
    assert!(too_large_vaults.into_iter().all(|choice| choice.memory > TRUSTED));
}

#[test]
fn choices_come_in_the_order_asked_and_fit_into_the_memory() {
    assert_sound(by_bill(), |choice| choice.figures.dollars());
    let by_time = plan(&work(), Order::Time);
    assert_sound(&by_time, |choice| choice.figures.time.as_secs_f64());
}

#[test]
fn a_bill_without_an_oram_is_what_one_adds_up_by_hand() {
    let plain = by_bill().offers[0].plain;
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
    let Offer { choices, rejected, .. } = &by_bill().offers[0];
    let too_large_vaults = rejected.iter().filter_map(|rejected| rejected.choice.as_ref());
    let is_it = |choice: &&Choice| (choice.scheme, choice.block_bytes) == ("oblivistore", 1 << 20);
    let memory = choices.iter().chain(too_large_vaults).find(is_it).unwrap().memory;
    // 128 partitions of 128 blocks and a third more; a rebuild of the last level takes room for three times as many.
    assert!(memory >> 20 > 20 * 3 * (128 + 32), "{memory}");
}

#[test]
fn impossible_goals_are_refused_with_the_nearest_possible() {
    let plan = plan(&Work { trusted: 1 << 16, ..work() }, Order::Bill);
    assert!(plan.smallest_too_large_vault().unwrap().1.memory > 1 << 16);
    assert!(plan.best_vault().is_none(), "{:?}", plan.best_vault());
}

#[test]
fn small_files_are_looked_at_in_blocks_of_4_kib() {
    let sizes = ObjectSizes::uniform(1000);
    let small =
        Work { capacity: 1 << 30, trusted: 1 << 30, sizes, block_bytes: BLOCK_BYTES.into(), ..work() };
    let plan = plan(&small, Order::Bill);
    let (_, best) = plan.best_vault().unwrap();
    assert_eq!(best.block_bytes, 4 << 10);
    let of_16 = plan.offers[0].choices.iter().find(|choice| choice.block_bytes == 16 << 10).unwrap();
    assert!(of_16.figures.dollars() > 1.3 * best.figures.dollars());
}

#[test]
fn what_a_little_more_memory_would_bring_is_said() {
    // Trivial ORAM always fits; the fixed memory of a process excludes the others.
    let memory = |parameters: &VaultParameters| match parameters.scheme {
        SchemeParameters::Trivial(_) => 1 << 20,
        _ => (64 << 20) + memory(parameters),
    };
    let little = |trusted| {
        let work = Work { capacity: 512 << 20, trusted, block_bytes: vec![64 << 10], ..work() };
        let prices = [("s3-standard".to_owned(), work.prices.clone())];
        Plan::of(&work, &prices, Order::Bill, &memory)
    };
    let best =
        |plan: &Plan| plan.best_vault().map(|(_, best)| (best.scheme, best.figures.dollars())).unwrap();
    let min =
        (1..64).map(|nth| nth * (8 << 20)).find(|trusted| best(&little(*trusted)).0 != "trivial").unwrap();
    let plan = little(min - (8 << 20));
    let (scheme, dollars) = best(&plan);
    assert_eq!(scheme, "trivial");
    let more = plan.with_more_memory();
    let (_, first) = more.first().unwrap();
    assert!(first.memory <= 2 * plan.trusted && first.figures.dollars() < dollars / 5.0, "{first:?}");
    assert!(plan.tables(3).contains(" would bring "), "{}", plan.tables(3));
}

#[test]
fn all_prices_are_in_one_table_and_the_cheapest_comes_first() {
    let shipped = PriceTable::shipped();
    let prices =
        ["s3-standard", "r2-standard"].map(|name| (name.to_owned(), shipped.get(name).unwrap().clone()));
    let plan = Plan::of(&work(), &prices, Order::Bill, &memory);
    let dollars: Vec<f64> = plan.choices().iter().map(|(_, choice)| choice.figures.dollars()).collect();
    assert!(dollars.is_sorted());
    // Bytes that leave cost nothing at R2.
    assert_eq!(plan.best_vault().unwrap().0.prices, "r2-standard");
    let tables = plan.tables(100);
    let rows = |name: &str| tables.lines().filter(|line| line.starts_with(&format!("| {name}"))).count();
    assert!(rows("s3-standard") > 3 && rows("r2-standard") > 3, "{tables}");
    let tables = plan.tables(1);
    let rows = |name: &str| tables.lines().filter(|line| line.starts_with(&format!("| {name}"))).count();
    assert_eq!((rows("s3-standard"), rows("r2-standard")), (2, 2), "the best of each, and no ORAM: {tables}");
}

#[test]
fn the_line_to_type_names_a_vault_of_the_capacity() {
    let plan = by_bill();
    let flags = plan.best_vault().unwrap().1.flags.as_ref().unwrap();
    assert!(flags.starts_with("--capacity 16GiB --block-size "), "{flags}");
    assert!(flags.contains(" --scheme ring --tree-top "), "{flags}");
    assert!(plan.tables(3).lines().count() > 6);
}

#[test]
fn a_journal_in_the_store_is_in_the_bill_and_nothing_is_lost_with_the_machine() {
    let of = |journal| plan(&Work { journal, block_bytes: vec![64 << 10], ..work() }, Order::Bill);
    let (disk, store) = (of(JournalPlace::Disk), of(JournalPlace::Store));
    let bill = |plan: &Plan| plan.best_vault().unwrap().1.figures;
    let (less, more) = (bill(&disk), bill(&store));
    // An object for each batch: those of 16 blocks, and what is left.
    let batches = work().sizes.mean(|size| size.div_ceil(16 * (64 << 10)) as f64);
    let objects = more.month.puts - less.month.puts;
    let expected = batches * (work().reads + work().writes);
    assert!((objects / expected - 1.0).abs() < 1e-9, "{objects} of {expected}");
    assert!(more.bill.requests > less.bill.requests && more.month.up > less.month.up);
    assert!(more.time >= less.time);
    let lost = |plan: &Plan| {
        let tables = plan.tables(1);
        let rows = tables.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
        let is_vault = |row: &Vec<&str>| row.contains(&"yes");
        rows.into_iter()
            .find(is_vault)
            .map_or_else(|| panic!("{tables}"), |row| row[row.len() - 2].to_owned())
    };
    assert_eq!(lost(&store), "nothing");
    let vault = plan_of_best(&disk);
    let point = vault.recovery_point() * u64::from(vault.scheme.block_bytes());
    assert_eq!(lost(&disk), format!("{} MiB or 5 min", point >> 20));
}

fn plan_of_best(plan: &Plan) -> &VaultParameters {
    plan.best_vault().unwrap().1.vault.as_ref().unwrap()
}
