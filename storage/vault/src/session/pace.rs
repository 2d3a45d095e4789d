//! The timing of a paced vault. It follows only from the count of turns and from the store's answers.
//!
//! Every turn starts a full batch, whether or not a caller has asked. Requests leave only at *instants*, eight to a
//! turn. So the work between two instants on this machine does not show, if it fits. Examples are the time in which a
//! record becomes durable, and the number of names in a checkpoint. Work that does not fit gets twice the time, and
//! keeps it. So a watcher learns how slow this machine has been, to a power of two, but not what it was doing.
//!
//! The module is pure arithmetic; the caller passes the time.

use crate::error::VaultError;
use std::time::Duration;
use tokio::time::Instant;

/// The number of instants in a turn.
const INSTANTS: u32 = 8;
/// The rate at which batches are sent: the length of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace(Duration);

impl Pace {
    /// The shortest turn. An instant is a millisecond then, and timers have no finer grain.
    pub const MIN: Duration = Duration::from_millis(8);
    /// The longest turn: an hour.
    pub const MAX: Duration = Duration::from_secs(3600);

    /// A pace with one turn per `turn`.
    ///
    /// # Errors
    /// [`VaultError::Parameters`] for less than 8 milliseconds, and for more than an hour.
    pub fn every(turn: Duration) -> Result<Self, VaultError> {
        let (min, max) = (Self::MIN, Self::MAX);
        if (min..=max).contains(&turn) {
            return Ok(Pace(turn));
        }
        Err(VaultError::Parameters(format!("a pace of {turn:?}: choose from {min:?} to {max:?}").into()))
    }

    /// The length of a turn.
    pub fn turn(self) -> Duration {
        self.0
    }
}

/// The figures of a paced vault since it was opened. Only the owner may see the number of requested accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PaceFigures {
    /// The length of a turn.
    pub turn: Duration,
    /// The number of turns so far, each a full batch.
    pub turns: u64,
    /// The number of accesses that callers requested.
    pub asked: u64,
    /// Dummy accesses that filled up batches.
    pub dummies: u64,
    /// The number of turns that started an eighth of a turn or more after they were due. They waited for the store to
    /// finish the last turn, or for a checkpoint.
    pub late: u64,
    /// The number of turns that were skipped because they were due while another one was late.
    pub left_out: u64,
    /// The sum of the lateness of all turns.
    pub lateness: Duration,
    /// The lateness of the latest turn.
    pub latest: Duration,
    /// The time that a record currently has to become durable. It grows if this machine was slower.
    pub lead: Duration,
}

/// Work on this machine whose duration must not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalWork {
    /// A step of the scheme, until its record is on the disk.
    Step,
    /// A checkpoint on the disk.
    Checkpoint,
    /// Sealing a checkpoint for the store, with all rows. Turns continue in parallel.
    Upload,
}

/// The instants at which requests may leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instants {
    origin: Instant,
    turn: Duration,
}

/// Schedules the turns and requests of a paced vault.
#[derive(Debug)]
pub(crate) struct Pacer {
    instants: Instants,
    /// The start of the next turn.
    due: Instant,
    /// The end of the current quiet time: nothing starts before.
    quiet_until: Instant,
    /// The instants that each kind of work gets.
    leads: [u32; 3],
    figures: PaceFigures,
}

impl Pacer {
    /// A pacer for a vault whose opening started at `origin`, before its first request, and ended at `now`. The watcher
    /// learns the duration of the opening on this machine, rounded up to a power of two of turns.
    pub(crate) fn new(pace: Pace, origin: Instant, now: Instant) -> Self {
        let turns = (now - origin).as_nanos() / pace.0.as_nanos() + 1;
        let first_turn = u32::try_from(turns.next_power_of_two()).unwrap_or(u32::MAX);
        let due = origin + pace.0 * first_turn;
        let figures = PaceFigures { turn: pace.0, lead: pace.0 / INSTANTS, ..PaceFigures::default() };
        let instants = Instants { origin, turn: pace.0 };
        Pacer { instants, due, quiet_until: due, leads: [1; 3], figures }
    }

    pub(crate) fn instants(&self) -> Instants {
        self.instants
    }

    /// The start of the first turn, before any has started.
    pub(crate) fn first_turn(&self) -> Instant {
        self.due
    }

    /// Returns whether nothing may start yet.
    pub(crate) fn is_quiescing(&self, now: Instant) -> bool {
        now < self.quiet_until
    }

    /// Returns whether a turn must start as soon as possible.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.due
    }

    /// Starts a turn with this many requested accesses and dummies.
    pub(crate) fn on_turn_started(&mut self, now: Instant, asked: u64, dummies: u64) {
        let late = now.saturating_duration_since(self.due);
        let turn = self.figures.turn;
        let left_out = u32::try_from(late.as_nanos() / turn.as_nanos()).unwrap_or(u32::MAX - 1);
        self.due += turn * (left_out + 1);
        let figures = &mut self.figures;
        figures.turns += 1;
        figures.asked += asked;
        figures.dummies += dummies;
        if late >= turn / INSTANTS {
            figures.late += 1;
            figures.left_out += u64::from(left_out);
            figures.lateness += late;
            figures.latest = figures.latest.max(late);
        }
    }

    /// Returns when requests may leave that follow from work which started at `began` and ended `now`.
    pub(crate) fn schedule(&mut self, local: LocalWork, began: Instant, now: Instant) -> Instant {
        let mut at = self.instants.after(began, self.leads[local as usize]);
        // A step gets at most one turn: a single stall of the disk must not slow the vault down permanently.
        while at < now && (local != LocalWork::Step || self.leads[LocalWork::Step as usize] < INSTANTS) {
            let lead = &mut self.leads[local as usize];
            *lead = lead.saturating_mul(2);
            let lead = *lead;
            at = self.instants.after(began, lead);
            tracing::debug!(?local, lead, "this machine is slower than the pace: it gets more time");
        }
        if at < now {
            at = self.instants.after(now, 1);
        }
        if local == LocalWork::Checkpoint {
            self.quiet_until = at;
        }
        at.max(self.quiet_until)
    }

    /// The next time after `now` at which the session must act.
    pub(crate) fn next_wakeup(&self, now: Instant, departure: Option<Instant>) -> Option<Instant> {
        [Some(self.due), Some(self.quiet_until), departure].into_iter().flatten().filter(|at| *at > now).min()
    }

    pub(crate) fn figures(&self) -> PaceFigures {
        let lead = self.figures.turn * self.leads[LocalWork::Step as usize] / INSTANTS;
        PaceFigures { lead, ..self.figures }
    }
}

impl Instants {
    /// The nth instant after a time.
    pub(crate) fn after(self, instant: Instant, nth: u32) -> Instant {
        let turn = self.turn;
        let since = instant - self.origin;
        let turns = u32::try_from(since.as_nanos() / turn.as_nanos()).unwrap_or(u32::MAX);
        let within = since - turn * turns;
        // Instants are computed from the start of the turn, so that remainders of the division do not add up.
        let passed = (within.as_nanos() * u128::from(INSTANTS) / turn.as_nanos()) as u32;
        let instants = passed.saturating_add(nth);
        let (more, remainder) = (instants / INSTANTS, instants % INSTANTS);
        // Rounded up, so that a time that is an instant lies before the next one.
        let within = (turn * remainder + Duration::from_nanos(u64::from(INSTANTS) - 1)) / INSTANTS;
        self.origin + turn * turns.saturating_add(more) + within
    }
}

/// Waits for the next instant, if there is a pace.
pub(crate) async fn next_instant(instants: Option<Instants>) {
    if let Some(instants) = instants {
        tokio::time::sleep_until(instants.after(Instant::now(), 1)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_millis(80);

    fn ms(since: u64) -> Duration {
        Duration::from_millis(since)
    }

    /// A pacer whose first turn is due at 80 ms.
    fn pacer() -> (Pacer, Instant) {
        let origin = Instant::now();
        (Pacer::new(Pace(TURN), origin, origin + ms(20)), origin)
    }

    #[test]
    fn turns_are_due_at_multiples_of_the_pace_since_the_opening_began() {
        let (mut pacer, origin) = pacer();
        assert!(!pacer.is_due(origin + ms(79)));
        assert!(pacer.is_due(origin + ms(80)));
        pacer.on_turn_started(origin + ms(80), 3, 5);
        assert!(!pacer.is_due(origin + ms(159)));
        // Late by more than a turn: one turn is skipped, and the next is due as scheduled.
        pacer.on_turn_started(origin + ms(250), 0, 8);
        assert!(!pacer.is_due(origin + ms(319)) && pacer.is_due(origin + ms(320)));
        let expected = PaceFigures {
            turn: TURN,
            turns: 2,
            asked: 3,
            dummies: 13,
            late: 1,
            left_out: 1,
            lateness: ms(90),
            latest: ms(90),
            lead: ms(10),
        };
        assert_eq!(pacer.figures(), expected);
    }

    #[test]
    fn how_long_an_opening_took_shows_to_a_power_of_two_of_turns() {
        let origin = Instant::now();
        for (took, turns) in [(0, 1), (79, 1), (80, 2), (170, 4), (250, 4), (330, 8), (600, 8)] {
            let pacer = Pacer::new(Pace(TURN), origin, origin + ms(took));
            assert!(pacer.is_quiescing(origin + TURN * turns - ms(1)), "{took}");
            assert_eq!(pacer.next_wakeup(origin + ms(took), None), Some(origin + TURN * turns), "{took}");
        }
    }

    #[test]
    fn requests_leave_at_instants_whatever_the_work_before_took() {
        let (mut pacer, origin) = pacer();
        for (began, done) in [(80, 80), (80, 81), (80, 90), (83, 89), (89, 89)] {
            let departure = pacer.schedule(LocalWork::Step, origin + ms(began), origin + ms(done));
            assert_eq!(departure, origin + ms(90), "{began} to {done}");
        }
        assert_eq!(pacer.schedule(LocalWork::Step, origin + ms(158), origin + ms(160)), origin + ms(160));
    }

    #[test]
    fn work_that_does_not_fit_gets_twice_the_time_from_then_on() {
        let (mut pacer, origin) = pacer();
        let departure = |pacer: &mut Pacer, began, done| {
            pacer.schedule(LocalWork::Step, origin + ms(began), origin + ms(done))
        };
        assert_eq!(departure(&mut pacer, 80, 111), origin + ms(120));
        assert_eq!(departure(&mut pacer, 160, 160), origin + ms(200));
        assert_eq!(pacer.figures().lead, ms(40));
        // At most a turn, however long the disk was stalled.
        assert_eq!(departure(&mut pacer, 320, 1001), origin + ms(1010));
        assert_eq!(departure(&mut pacer, 1040, 1040), origin + ms(1120));
        assert_eq!(pacer.figures().lead, TURN);
    }

    #[test]
    fn nothing_begins_or_leaves_before_a_checkpoint_has_had_its_time() {
        let (mut pacer, origin) = pacer();
        let at = pacer.schedule(LocalWork::Checkpoint, origin + ms(85), origin + ms(105));
        assert_eq!(at, origin + ms(120));
        assert!(pacer.is_quiescing(origin + ms(119)) && !pacer.is_quiescing(at));
        assert_eq!(pacer.schedule(LocalWork::Step, origin + ms(105), origin + ms(105)), at);
        // The same kind of work keeps its time when it is quicker.
        let again = pacer.schedule(LocalWork::Checkpoint, origin + ms(165), origin + ms(165));
        assert_eq!(again, origin + ms(200));
    }

    #[test]
    fn a_shipment_has_a_time_of_its_own_and_turns_go_on_beside_it() {
        let (mut pacer, origin) = pacer();
        pacer.schedule(LocalWork::Checkpoint, origin + ms(85), origin + ms(85));
        assert_eq!(pacer.schedule(LocalWork::Upload, origin + ms(85), origin + ms(500)), origin + ms(720));
        assert!(!pacer.is_quiescing(origin + ms(90)));
        assert_eq!(pacer.schedule(LocalWork::Step, origin + ms(500), origin + ms(500)), origin + ms(510));
        // It keeps its time when it is quicker.
        assert_eq!(pacer.schedule(LocalWork::Upload, origin + ms(800), origin + ms(801)), origin + ms(1440));
    }

    #[test]
    fn instants_do_not_drift_where_a_turn_is_no_multiple_of_eight() {
        let origin = Instant::now();
        let turn = Duration::from_nanos(10_000_003);
        let pacer = Pacer::new(Pace(turn), origin, origin);
        let mut at = origin;
        for _ in 0..8 * 1000 {
            at = pacer.instants.after(at, 1);
        }
        assert_eq!(at, origin + turn * 1000);
    }

    #[test]
    fn a_pace_out_of_range_is_refused() {
        for turn in [Duration::ZERO, ms(7), Pace::MAX + ms(1)] {
            assert!(matches!(Pace::every(turn), Err(VaultError::Parameters(_))), "{turn:?}");
        }
        assert_eq!(Pace::every(ms(8)).map(Pace::turn).ok(), Some(ms(8)));
    }
}
