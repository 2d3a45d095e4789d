//! Watching a region over a socket, from fault to fault.

use ameles_core::schemes::write_schedule::WriteSchedule;
use ameles_pager::after_fault::AfterFault;
use ameles_pager::fault::counters::Counters;
use ameles_pager::fault_handling::FaultHandling;
use ameles_pager::options::{Listeners, Options};
use ameles_pager::page::PAGE_BYTES;
use ameles_pager::region::Region;
use ameles_pager::scheme::Scheme;
use ameles_pager::watch::{Changes, FaultCounts, FaultReporter, WatchError, Watcher};
use rustix::fd::OwnedFd;
use rustix::net::{SendFlags, send};
use std::sync::Arc;
use std::thread;

const PAGES: u64 = 40;

/// The schemes, and whether they have a second process, whose writes are in untrusted memory when they are reported.
const IMMEDIATE: [(Scheme, bool); 5] = [
    (Scheme::DetWoOram, false),
    (Scheme::Parallel, false),
    (Scheme::Parallel, true),
    (Scheme::Eager, true),
    (Scheme::EagerParallel, true),
];

/// A region whose faults are reported on the socket.
fn reporting_region(
    (scheme, second_process): (Scheme, bool),
    fault_handling: FaultHandling,
    socket: OwnedFd,
) -> Region {
    let reporter = Arc::new(FaultReporter::new(socket));
    let handle = Arc::clone(&reporter);
    let after_fault =
        AfterFault::CallWhenQuiescent(Arc::new(move |counters: &Counters| handle.report(counters)));
    let listeners = Listeners { after_fault, ..Listeners::default() };
    let options =
        Options { resident: 3, scheme, second_process, fault_handling, listeners, ..Options::new(PAGES) };
    let region = Region::new(options).unwrap();
    reporter.on_region_ready(&region).unwrap();
    region
}

/// Touches all pages in turn.
fn sweep(mut region: Region, faults: u64) {
    for fault in 0..faults {
        region.as_mut_slice()[(fault % PAGES) as usize * PAGE_BYTES] += 1;
    }
    assert_eq!(region.counters().faults, faults);
}

/// The reported faults of a sweep over this many faults, if watching stops after `looks` of them.
fn watched(
    scheme: (Scheme, bool),
    fault_handling: FaultHandling,
    faults: u64,
    looks: u64,
) -> Vec<(FaultCounts, Vec<u64>)> {
    let (watcher, theirs) = Watcher::new().unwrap();
    let program = thread::spawn(move || sweep(reporting_region(scheme, fault_handling, theirs), faults));
    let (memory, geometry) = watcher.memory().unwrap().unwrap();
    assert_eq!(geometry.areas, scheme.0.has_ratio().then_some((PAGES, PAGES.div_ceil(3))));
    let mut changes = Changes::new(memory, &geometry);
    let mut seen = Vec::new();
    while let Some(counts) = watcher.fault().unwrap() {
        seen.push((counts, changes.take_changed()));
        if counts.faults == looks {
            watcher.stop_watching();
        } else {
            watcher.resume();
        }
    }
    program.join().unwrap();
    seen
}

#[test]
fn the_watcher_sees_at_each_fault_what_that_fault_has_changed() {
    let schedule = WriteSchedule::new(PAGES, PAGES.div_ceil(3)).unwrap();
    for fault_handling in FaultHandling::ALL {
        for scheme in IMMEDIATE {
            let seen = watched(scheme, fault_handling, 100, 200);
            assert_eq!(seen.len(), 100);
            for (at, (counts, changed)) in (1u64..).zip(seen) {
                let evictions = at.saturating_sub(3);
                assert_eq!(counts, FaultCounts { faults: at, evictions });
                let due = evictions.checked_sub(1).map(|write| {
                    schedule.refreshes(write).chain([PAGES + schedule.holding_slot(write)]).collect()
                });
                let mut due: Vec<u64> = due.unwrap_or_default();
                due.sort_unstable();
                assert_eq!(changed, due, "{scheme:?} {fault_handling} fault {at}");
            }
        }
        let plain = watched((Scheme::Plain, false), fault_handling, 100, 200);
        assert_eq!(plain.len(), 100);
        assert!(plain[3..].iter().zip(0..).all(|((_, changed), page)| *changed == [page % PAGES]));
    }
}

#[test]
fn a_watcher_that_has_seen_enough_lets_the_program_run_on() {
    for fault_handling in FaultHandling::ALL {
        assert_eq!(watched((Scheme::Eager, true), fault_handling, 100, 10).len(), 10);
    }
}

#[test]
fn a_watcher_that_goes_away_lets_the_program_run_on() {
    for fault_handling in FaultHandling::ALL {
        let (watcher, theirs) = Watcher::new().unwrap();
        let region = reporting_region((Scheme::DetWoOram, false), fault_handling, theirs);
        drop(watcher);
        sweep(region, 50);
    }
}

#[test]
fn a_process_that_ends_before_it_has_a_region_is_told_from_one_that_says_nonsense() {
    let (watcher, theirs) = Watcher::new().unwrap();
    drop(theirs);
    assert!(watcher.memory().unwrap().is_none());

    let (watcher, theirs) = Watcher::new().unwrap();
    send(&theirs, &[1; 32], SendFlags::empty()).unwrap();
    assert!(matches!(watcher.memory(), Err(WatchError::Message)));
    send(&theirs, &[1; 15], SendFlags::empty()).unwrap();
    assert!(matches!(watcher.fault(), Err(WatchError::Message)));
}
