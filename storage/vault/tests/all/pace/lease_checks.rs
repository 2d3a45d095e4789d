//! A paced vault makes lease checks as well: at fixed times, and equally often under silence and under a flood.

use super::flawed::Pacing;
use super::lifecycle::{LifecycleResult, run_lifecycle};
use super::mixes::Mix;
use super::{LASTS, QUICK, TURN, public};
use crate::support::intercepted::Request;
use crate::support::recorder::TraceEvent;
use std::time::Duration;

/// The times of the lease checks since the opening began. The reads of an opening before its claim are not checks.
fn checks(lifecycle: &LifecycleResult) -> Vec<Duration> {
    let opened =
        lifecycle.trace.iter().find(|(_, event)| matches!(event, TraceEvent::Opens { .. })).unwrap().0;
    let is_claim = |event: &TraceEvent| match event {
        TraceEvent::Asks { request: Request::PutIfAbsent { name, .. }, .. } => name.starts_with("epoch/"),
        _ => false,
    };
    let look = |(at, event): &(Duration, TraceEvent)| match event {
        TraceEvent::Asks { request, .. } if request.is_lease_check() => Some(*at - opened),
        _ => None,
    };
    lifecycle.trace.iter().skip_while(|(_, event)| !is_claim(event)).filter_map(look).collect()
}

#[test]
fn looks_leave_at_instants_whatever_is_asked() {
    let public = public(3, QUICK, 0);
    let expected = checks(&run_lifecycle(&public, Pacing::Sound, Mix::Silence, 1));
    assert!(expected.len() as u64 >= LASTS.as_secs() / 20 - 1, "{expected:?}");
    let instant = TURN / 8;
    let off = expected.iter().find(|at| at.as_nanos() % instant.as_nanos() != 0);
    assert_eq!(off, None, "a look between two instants: {expected:?}");
    for mix in Mix::BUSY {
        assert_eq!(checks(&run_lifecycle(&public, Pacing::Sound, mix, 2)), expected, "{mix:?}");
    }
}
