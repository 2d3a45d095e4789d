//! Judging a scheme without randomness: it is oblivious if two programs that ask equally often show the same, event by
//! event.

use super::super::driver::Event;
use super::super::trace_store::TraceEntry;
use super::judge::judge;
use super::judgement::Judgement;
use super::observer::{Adversary, Observer};
use super::run_sets::Trial;
use super::statistics::certain;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

/// Returns the view that an adversary has of a run. `Snapshot` has a moment at each event of the driver, and sees
/// between two moments which buckets changed.
pub fn view(adversary: Adversary, events: &[Event]) -> Vec<Event> {
    let sees = |event: &&Event| match adversary {
        Adversary::Full => true,
        Adversary::Snapshot => !matches!(
            event,
            Event::StoreRequest(_, TraceEntry::Read(_)) | Event::StoreAnswer(..) | Event::Quiescent
        ),
    };
    events.iter().filter(sees).cloned().collect()
}

/// Judges two sets of runs of one scheme, pair by pair. Each run must follow the public schedule that its observer
/// knows, and both runs of a pair must show the adversary the same. No false alarms.
pub fn judge_views(
    adversary: Adversary,
    observer: impl Fn() -> Box<dyn Observer>,
    one: &[Trial],
    other: &[Trial],
) -> Judgement {
    let mut judgement = judge(1, |_| observer(), one, other);
    let deviation = one.iter().zip(other).enumerate().find_map(|(nth, (one, other))| {
        let (one, other) = (view(adversary, &one.events), view(adversary, &other.events));
        let longest = one.len().max(other.len());
        let at = (0..longest).find(|at| one.get(*at) != other.get(*at))?;
        Some(format!("run {nth}, event {at}: {:?} against {:?}", one.get(at), other.get(at)))
    });
    judgement.findings.push(certain(format!("both: one view ({adversary:?})"), deviation));
    judgement
}
