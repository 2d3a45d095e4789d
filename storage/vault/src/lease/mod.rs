//! The lease. It says how long a gateway may answer after its last check for a newer claim. It also says which opening
//! must wait until an earlier gateway has stopped.
//!
//! A gateway checks for a newer claim at public times. It may answer for a term from the **start** of the last check
//! that found none. A successor that cannot know that its predecessor is gone waits for [`LEASE`] after its own claim
//! before it serves. The predecessor's last check that found nothing started before that claim was in the store.
//!
//! In a vault with heartbeats, the creation of a log object is such a check, and nothing else is: a successor ends the
//! predecessor's journal at its first gap. An object counts only if all before it are there, because names behind the
//! gap stay free. The predecessor may answer for a term from the start of its last creation that counts. So the successor
//! waits for [`STANDBY_LEASE`] from the time when it saw the last object, or from the end of the journal. A standby has
//! waited that long before it claims.
//!
//! | file | contents |
//! |---|---|
//! | `host` | the clock, and a mark by which an opening recognises its own machine and disk |
//! | `holder` | whether the gateway before this one is gone |

pub(crate) mod holder;
mod host;

pub use host::Host;

use crate::trusted::header::JournalPlace;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The time that a successor waits after its claim before it serves, unless it knows that its predecessor is gone.
///
/// It is the same for all gateways and vaults. A flag would let two of them disagree.
pub const LEASE: Duration = Duration::from_secs(60);
/// The same time in a vault with heartbeats: three of them.
pub const STANDBY_LEASE: Duration = Duration::from_secs(15);
/// The time from one heartbeat to the next: a vault with heartbeats creates a log object at least this often.
pub const HEARTBEAT_EVERY: Duration = Duration::from_secs(5);
/// The time from the start of a check to the next one.
pub(crate) const LEASE_CHECK_EVERY: Duration = Duration::from_secs(20);

impl JournalPlace {
    /// Returns the time that a successor waits, unless it knows that its predecessor is gone.
    pub fn lease(self) -> Duration {
        if self.has_heartbeats() { STANDBY_LEASE } else { LEASE }
    }

    /// The end of a successor's wait, now that it has ended its predecessor's journal. With heartbeats, the predecessor could
    /// renew its lease until then, and the wait begins now.
    pub(crate) fn wait_after_end(self, waits_until: Option<Instant>) -> Option<Instant> {
        waits_until.map(|until| if self.has_heartbeats() { Instant::now() + self.lease() } else { until })
    }

    /// The time that a gateway may answer from the start of a check. It is a twentieth shorter than the
    /// [lease](Self::lease), because two clocks may differ in their rate.
    fn lease_term(self) -> Duration {
        self.lease() * 19 / 20
    }
}

/// The lease of an opening, and the times that follow from its claim.
pub(crate) struct LeaseTerm {
    pub(crate) lease: Lease,
    /// The time just before the claim was made.
    pub(crate) began: Instant,
    /// The time before which nothing is served, if the predecessor may still be running.
    pub(crate) waits_until: Option<Instant>,
}

/// The right to answer. Clones share it.
#[derive(Clone)]
pub(crate) struct Lease {
    host: Host,
    term: Duration,
    state: Arc<watch::Sender<LeaseState>>,
}

#[derive(Clone, Copy)]
struct LeaseState {
    /// The end of the lease, by the host's clock.
    until: Duration,
    stage: Stage,
}

/// The stage of the session that holds the lease.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The session is running, and renews its lease.
    Serving,
    /// The session has been closed, and its last checkpoint holds everything that it has answered.
    Closed,
    /// The session has ended otherwise.
    Failed,
}

impl Lease {
    /// A lease from a check that started at `since`.
    pub(crate) fn since(host: &Host, since: Duration, journal: JournalPlace) -> Self {
        let term = journal.lease_term();
        let state = LeaseState { until: since + term, stage: Stage::Serving };
        Lease { host: host.clone(), term, state: Arc::new(watch::Sender::new(state)) }
    }

    /// The current time, by the clock that counts.
    pub(crate) fn now(&self) -> Duration {
        self.host.now()
    }

    /// Renews the lease: a check that started at `since` has found no newer claim.
    pub(crate) fn renew(&self, since: Duration) {
        self.state.send_if_modified(|state| {
            // A lease that has ended or was revoked is not renewed.
            let until = since + self.term;
            let lasts_longer = state.stage == Stage::Serving && until > state.until;
            if lasts_longer {
                state.until = until;
            }
            lasts_longer
        });
    }

    /// Ends the lease with its session: it is not renewed any more. Returns whether the end was orderly: the session
    /// was closed, and the lease was not revoked before.
    pub(crate) fn end(&self, is_closed: bool) -> bool {
        let stage = if is_closed { Stage::Closed } else { Stage::Failed };
        self.state.send_if_modified(|state| {
            let was_serving = state.stage == Stage::Serving;
            if was_serving {
                state.stage = stage;
            }
            was_serving
        });
        self.state.borrow().stage == Stage::Closed
    }

    /// Revokes the lease: no answer passes from now on.
    pub(crate) fn revoke(&self) {
        self.state.send_modify(|state| *state = LeaseState { until: Duration::ZERO, stage: Stage::Failed });
    }

    /// Returns whether anything may be started or answered now.
    pub(crate) fn is_valid(&self) -> bool {
        let state = *self.state.borrow();
        state.stage == Stage::Serving && self.host.now() < state.until
    }

    /// Waits until the session's answer may be passed on. Returns `false` if it never may.
    pub(crate) async fn wait_to_answer(&self) -> bool {
        let mut state = self.state.subscribe();
        let may_pass = |state: &LeaseState| state.stage == Stage::Closed || self.host.now() < state.until;
        let settled = state.wait_for(|state| may_pass(state) || state.stage == Stage::Failed).await;
        settled.is_ok_and(|state| may_pass(&state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A lease from second 0, and its clock in seconds.
    fn lease() -> (Lease, Arc<AtomicU64>) {
        let seconds = Arc::new(AtomicU64::new(0));
        let clock = seconds.clone();
        let host = Host::of(move || Duration::from_secs(clock.load(Ordering::Relaxed)), None);
        (Lease::since(&host, Duration::ZERO, JournalPlace::Disk), seconds)
    }

    #[test]
    fn a_lease_ends_a_term_after_the_begin_of_the_last_look() {
        let (lease, clock) = lease();
        for (at, is_valid) in [(0, true), (56, true), (57, false), (3600, false)] {
            clock.store(at, Ordering::Relaxed);
            assert_eq!(lease.is_valid(), is_valid, "{at}");
            assert_eq!(lease.wait_to_answer().now_or_never().is_some(), is_valid, "{at}");
        }
        // The check took an hour: its start counts.
        lease.renew(Duration::from_secs(10));
        assert!(!lease.is_valid());
        lease.renew(Duration::from_secs(3590));
        assert!(lease.is_valid());
        // A late answer does not shorten the lease.
        lease.renew(Duration::from_secs(20));
        assert!(lease.is_valid());
    }

    #[test]
    fn an_answer_that_waits_passes_when_the_lease_is_renewed_and_never_after_a_failure() {
        let (lease, clock) = lease();
        clock.store(100, Ordering::Relaxed);
        let mut waiting = Box::pin(lease.wait_to_answer());
        assert_eq!(waiting.as_mut().now_or_never(), None);
        lease.renew(Duration::from_secs(99));
        assert_eq!(waiting.now_or_never(), Some(true));
        assert!(!lease.end(false));
        assert!(!lease.is_valid());
        assert_eq!(lease.wait_to_answer().now_or_never(), Some(true), "it was answered within the lease");
        clock.store(200, Ordering::Relaxed);
        assert_eq!(lease.wait_to_answer().now_or_never(), Some(false));
    }

    #[test]
    fn a_lease_that_was_taken_back_lets_nothing_pass_and_is_not_renewed() {
        let (lease, _) = lease();
        lease.revoke();
        lease.renew(Duration::from_secs(1));
        assert!(!lease.end(true), "its end is not in order");
        assert!(!lease.is_valid());
        assert_eq!(lease.wait_to_answer().now_or_never(), Some(false));
    }

    #[test]
    fn after_a_close_what_was_answered_passes_and_nothing_is_begun() {
        let (lease, clock) = lease();
        assert!(lease.end(true));
        clock.store(100, Ordering::Relaxed);
        assert!(!lease.is_valid());
        assert_eq!(lease.wait_to_answer().now_or_never(), Some(true));
    }
}
