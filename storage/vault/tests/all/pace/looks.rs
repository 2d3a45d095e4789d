//! A paced vault looks for a newer claim as well: at instants, and as often under silence as under a flood.

use super::flawed::Pacing;
use super::life::{Life, live};
use super::mixes::Mix;
use super::{LASTS, QUICK, TURN, public};
use crate::support::recorder::{Moment, Request};
use std::time::Duration;

/// The times of the looks since the vault began to be opened. What an opening reads before its claim is none.
fn looks(life: &Life) -> Vec<Duration> {
    let opened = life.trace.iter().find(|(_, moment)| matches!(moment, Moment::Opens { .. })).unwrap().0;
    let is_claim = |moment: &Moment| match moment {
        Moment::Asks { request: Request::PutIfAbsent { name, .. }, .. } => name.starts_with("epoch/"),
        _ => false,
    };
    let look = |(at, moment): &(Duration, Moment)| match moment {
        Moment::Asks { request, .. } if request.is_look() => Some(*at - opened),
        _ => None,
    };
    life.trace.iter().skip_while(|(_, moment)| !is_claim(moment)).filter_map(look).collect()
}

#[test]
fn looks_leave_at_instants_whatever_is_asked() {
    let public = public(3, QUICK, 0);
    let expected = looks(&live(&public, Pacing::Sound, Mix::Silence, 1));
    assert!(expected.len() as u64 >= LASTS.as_secs() / 20 - 1, "{expected:?}");
    let instant = TURN / 8;
    let off = expected.iter().find(|at| at.as_nanos() % instant.as_nanos() != 0);
    assert_eq!(off, None, "a look between two instants: {expected:?}");
    for mix in Mix::BUSY {
        assert_eq!(looks(&live(&public, Pacing::Sound, mix, 2)), expected, "{mix:?}");
    }
}
