//! A small vault that crashes at **every** step: before and after each change and sync of its trusted disk, and each
//! request to its store. It crashes again at every step of the recovery. The tests do not know what the vault keeps
//! where: the steps are counted at the disk and at the store. A usual run tests every eighth step of a lifecycle, and
//! each lifecycle begins at another one; a thorough run tests all.
//!
//! One lifecycle is logged, and the log gives the state between any two of its steps. From each of these states the
//! vault must open, have everything that was acknowledged, and leave only needed objects in the store. From each store
//! alone, the state of the last receipt must be restorable.
//!
//! If `AMELES_SIM_SEEDS` is above the usual number, all steps of a lifecycle are tested. There is one more lifecycle
//! for each five times that number.
#![allow(clippy::print_stdout, reason = "figures are shown with --nocapture")]

mod database;
mod disk_fails;
mod explorer;
mod machine;
mod model;

use crate::simulation::number;
use crate::support::{header, parameters};
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::ring::RingParameters;
use ameles_core::testing::small_ring;
use ameles_core::types::Level;
use ameles_vault::{JournalPlace, SchemeParameters, VaultHeader, VaultParameters};
use explorer::{Effort, Summary, explore_crashes};
use std::time::Instant;

const CAPACITY: u64 = 16;
const BLOCK_BYTES: u32 = 16;
const BATCH: u32 = 2;
/// The usual number of the simulation's seeds. If a run has more, these tests do more too.
pub const USUAL: u64 = 2000;

/// A vault with this scheme whose short lifecycle has everything that a long one has.
fn around(scheme: SchemeParameters) -> VaultHeader {
    let few = parameters(CAPACITY, BLOCK_BYTES, BATCH, 8);
    header(VaultParameters { scheme, ship_every: 3, rows_bytes: 256, ..few }, 1)
}

/// The vault with its journal in the store.
fn with_journal_in_store(header: &VaultHeader) -> VaultHeader {
    with_journal(header, JournalPlace::Store)
}

/// The vault with its journal in the store before the requests that it announces.
fn with_announcements(header: &VaultHeader) -> VaultHeader {
    with_journal(header, JournalPlace::StoreFirst)
}

/// The vault with heartbeats, so that it can have a standby.
fn with_heartbeats(header: &VaultHeader) -> VaultHeader {
    with_journal(header, JournalPlace::Standby)
}

/// The vault with its announcements apart from the payloads, as in etcd.
fn with_payload_objects(header: &VaultHeader) -> VaultHeader {
    with_journal(header, JournalPlace::Etcd)
}

fn with_journal(header: &VaultHeader, journal: JournalPlace) -> VaultHeader {
    let parameters = VaultParameters { journal, ..header.parameters.clone() };
    VaultHeader { parameters, ..header.clone() }
}

/// The vault with stash and tree top on the trusted disk.
fn with_top_on_disk(header: &VaultHeader) -> VaultHeader {
    let parameters = crate::support::with_top_on_disk(header.parameters.clone());
    VaultHeader { parameters, ..header.clone() }
}

/// A vault under Ring ORAM. With a top it also has so much room for rows that its checkpoints in the store send only some
/// of it.
pub fn ring(with_top: bool) -> VaultHeader {
    let top = Level(u32::from(with_top));
    let ring =
        RingParameters { capacity: CAPACITY, leaf_level: Level(2), top, max_batch: BATCH, ..small_ring(6) };
    assert_eq!((ring.validate(), ring.block_bytes), (Ok(()), BLOCK_BYTES));
    let mut header = around(SchemeParameters::Ring(ring));
    if with_top {
        header.parameters.rows_bytes = 64 << 10;
    }
    header
}

/// A vault under Ring ORAM whose evictions have a slice for each of their two buckets.
pub fn ring_in_slices() -> VaultHeader {
    let mut header = ring(true);
    let SchemeParameters::Ring(ring) = &mut header.parameters.scheme else { unreachable!("it is Ring ORAM") };
    ring.slice_slots = ring.largest_bucket();
    assert_eq!((ring.validate(), ring.slices().len()), (Ok(()), 2));
    header
}

/// A vault under Path ORAM.
pub fn path(with_top: bool) -> VaultHeader {
    let planned = PathParameters::for_capacity(CAPACITY, BLOCK_BYTES, 2 * CAPACITY, BATCH).expect("planned");
    assert!(planned.top > Level(0), "{planned:?}");
    let top = if with_top { planned.top } else { Level(0) };
    around(SchemeParameters::Path(PathParameters { top, ..planned }))
}

/// Returns whether more seeds are requested than in a usual run.
pub fn is_thorough() -> bool {
    number("AMELES_SIM_SEEDS").is_some_and(|asked| asked > USUAL)
}

/// Returns this number, or several times as many in a thorough run.
pub fn more_if_thorough(usual: u64, times: u64) -> u64 {
    if is_thorough() { times * usual } else { usual }
}

/// The effort of a usual run, or of a thorough one.
fn effort() -> Effort {
    if is_thorough() { Effort::EVERY_STEP } else { Effort::USUAL }
}

/// Lets every crash happen that is possible in one lifecycle, or in more with `AMELES_SIM_SEEDS`.
fn crash_everywhere(header: &VaultHeader) {
    let asked = number("AMELES_SIM_SEEDS").unwrap_or(USUAL);
    for seed in 0..asked.div_ceil(5 * USUAL) {
        let effort = effort();
        let began = Instant::now();
        let summary = explore_crashes(header, seed, effort);
        println!("seed {seed}: {summary:?} in {:?}", began.elapsed());
        let Summary { effects, crashes, again, torn, restored } = summary;
        let (some, few) = (300 / effort.stride, 10 / effort.stride);
        // The groups of a small Path ORAM, or of a small slice, have one sector each.
        let has_small_groups = match &header.parameters.scheme {
            SchemeParameters::Ring(ring) => ring.is_sliced(),
            _ => true,
        };
        let is_torn = torn > few || has_small_groups;
        let is_enough = crashes > some && again > some && is_torn && restored > few;
        assert!(effects > 300 && is_enough, "{summary:?}");
    }
}

/// Makes a test for each of these vaults.
macro_rules! crash_everywhere {
    ($($name:ident: $header:expr;)*) => {
        $(#[test]
        fn $name() {
            crash_everywhere(&$header);
        })*
    };
}
crash_everywhere! {
    no_crash_at_any_step_loses_anything_under_ring_oram: ring(false);
    no_crash_at_any_step_loses_anything_under_ring_oram_with_a_trusted_top: ring(true);
    no_crash_at_any_step_loses_anything_under_ring_oram_in_slices: ring_in_slices();
    no_crash_at_any_step_loses_anything_in_slices_with_the_top_on_the_disk: with_top_on_disk(&ring_in_slices());
    a_machine_lost_at_any_step_loses_nothing_in_slices_with_its_journal_in_the_store: with_journal_in_store(&ring_in_slices());
    no_crash_at_any_step_loses_anything_under_path_oram: path(false);
    no_crash_at_any_step_loses_anything_under_path_oram_with_a_trusted_top: path(true);
    a_machine_lost_at_any_step_loses_nothing_that_was_acknowledged_with_its_journal_in_the_store: with_journal_in_store(&ring(true));
    a_machine_lost_at_any_step_is_repeated_from_its_announcements: with_announcements(&ring(true));
    a_machine_lost_at_any_step_is_repeated_in_slices_with_the_top_on_the_disk: with_announcements(&with_top_on_disk(&ring_in_slices()));
    a_standby_takes_over_at_any_step: with_heartbeats(&with_top_on_disk(&ring_in_slices()));
    a_standby_takes_over_at_any_step_under_path_oram: with_heartbeats(&path(false));
    a_machine_lost_at_any_step_is_repeated_with_payloads_of_their_own: with_payload_objects(&with_top_on_disk(&ring_in_slices()));
    a_machine_lost_at_any_step_is_repeated_with_payloads_of_their_own_under_path_oram: with_payload_objects(&path(false));
    a_machine_lost_at_any_step_loses_nothing_under_path_oram_with_its_journal_in_the_store: with_journal_in_store(&path(false));
    no_crash_at_any_step_loses_anything_under_ring_oram_with_its_top_on_the_disk: with_top_on_disk(&ring(true));
    no_crash_at_any_step_loses_anything_under_path_oram_with_its_top_on_the_disk: with_top_on_disk(&path(true));
    a_machine_lost_at_any_step_loses_nothing_with_its_top_on_the_disk_and_its_journal_in_the_store: with_journal_in_store(&with_top_on_disk(&ring(true)));
}
