//! A displaced gateway acknowledges and answers nothing once its successor serves, however it was stopped or suspended
//! in between.

use super::pausable::PausableProcess;
use super::{Flag, LONG_ENOUGH, Machine};
use crate::every_step::more_if_thorough;
use crate::promises::fixture::{CAPACITY, VaultFixture, block, write_all};
use crate::standby::{stand_by, with_heartbeats};
use crate::support::fragile_disk::FragileDisk;
use crate::support::network::{Network, NetworkLink};
use crate::support::rng::TestRng;
use crate::support::{commit_at_once, header, restore_options, setup};
use ameles_core::types::BlockId;
use ameles_store::VersionedMemory;
use ameles_vault::{Pace, RowChange, Setup, Vault, VaultError, restore};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep, sleep_until};

/// The number of seeds of a usual run; a thorough one has ten times as many.
const SEEDS: u64 = 75;

/// The time of a gateway's answer, and the answer.
type Answer = (Instant, &'static str);

/// The way in which the vault gets a successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Successor {
    /// Restored from the store.
    Restored,
    /// A copy of the trusted disk on another machine.
    Copied,
    /// A standby, which takes over by itself.
    Standby,
}

/// The choices of a seed.
struct Scenario {
    successor: Successor,
    /// The longest delay of a request in each direction, in milliseconds.
    slowest: u64,
    pace: Option<Pace>,
    /// The times after which the old gateway pauses, and for how long.
    pauses: Vec<(Duration, Duration)>,
    /// The time before its machine is suspended, and the seconds of the suspension.
    suspended: Option<(Duration, u64)>,
    takeover: Duration,
    seed: u64,
}

impl Scenario {
    fn draw(seed: u64) -> Self {
        let mut rng = TestRng::of(seed);
        let ms = |range, rng: &mut TestRng| Duration::from_millis(rng.within(range));
        let takeover = ms(60_000..=200_000, &mut rng);
        let mut pauses = Vec::new();
        if rng.percent(60) {
            // From before the takeover to long after, in most cases; half of them during a lease check.
            let turn = Duration::from_secs(20 * (takeover.as_secs() / 20));
            let early = if rng.percent(50) {
                turn + ms(0..=400, &mut rng)
            } else {
                takeover.saturating_sub(ms(0..=40_000, &mut rng))
            };
            pauses.push((early, ms(1_000..=400_000, &mut rng)));
        }
        let successor = rng.one_of(&[Successor::Restored, Successor::Copied, Successor::Standby]);
        if successor == Successor::Standby {
            // A pause that is long enough for a takeover comes at last.
            pauses.push((takeover + Duration::from_secs(500), Duration::from_secs(500)));
        }
        let has_pace = rng.percent(25) && successor != Successor::Standby;
        Scenario {
            successor,
            slowest: rng.magnitude(1..=2_000),
            pace: has_pace.then(|| Pace::every(Duration::from_millis(500)).expect("in range")),
            pauses,
            suspended: rng.percent(25).then(|| {
                let at = takeover.saturating_sub(ms(0..=20_000, &mut rng));
                (at, rng.within(1..=3_600))
            }),
            takeover,
            seed,
        }
    }
}

/// A caller that keeps reading, writing and committing rows, and records each answer.
async fn ask_on(vault: Vault, answers: Rc<RefCell<Vec<Answer>>>, mut rng: TestRng) {
    while vault.failure().is_none() {
        let at = BlockId(rng.below(CAPACITY));
        let answer = match rng.below(4) {
            0 => vault.read(at).await.map(|_| "a read"),
            1 => vault.write(at, block(9)).await.map(|()| "a write"),
            2 => {
                let change = vec![RowChange::put("key", vec![rng.below(256) as u8])];
                commit_at_once(&vault, change).await.map(|()| "a row")
            }
            _ if vault.may_answer() => Ok("an answer from memory"),
            _ => Err(VaultError::LeaseExpired),
        };
        if let Ok(what) = answer {
            answers.borrow_mut().push((Instant::now(), what));
        }
        sleep(Duration::from_millis(rng.magnitude(1..=3_000))).await;
    }
}

/// The outcome of a scenario.
struct End {
    answers: Vec<Answer>,
    claimed: Instant,
    serves: Instant,
    failure: Option<VaultError>,
}

/// Runs a scenario.
fn run_scenario(scenario: &Scenario) -> End {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.expect("a runtime can be made"), async {
        let fixture = match scenario.successor {
            Successor::Standby => VaultFixture::with(header(with_heartbeats(), 1)).await,
            Successor::Restored | Successor::Copied => VaultFixture::new().await,
        };
        fixture.open(async |vault| write_all(vault, 1).await).await.unwrap();
        let mut rng = TestRng::of(!scenario.seed);
        let link = NetworkLink::new(scenario.slowest, rng.fork());
        let network = || Network::new(fixture.store.clone(), link.clone());
        let (machine, begin) = (Machine::new("the first"), Instant::now());
        let setup = Setup { pace: scenario.pace, ..machine.setup(&fixture, network()) };
        let (vault, running) = Vault::start(setup).await.unwrap();
        let answers: Rc<RefCell<Vec<Answer>>> = Rc::default();
        let asking = ask_on(vault.clone(), answers.clone(), rng.fork());
        let process = async { futures::join!(running, asking) };
        let pauses = scenario.pauses.iter().map(|(at, lasts)| (begin + *at, *lasts)).collect();
        let process = spawn_local(PausableProcess::new(process, pauses));
        if let Some((at, seconds)) = scenario.suspended {
            let machine = machine.clone();
            spawn_local(async move {
                sleep_until(begin + at).await;
                machine.suspend(seconds);
            });
        }
        if scenario.successor != Successor::Standby {
            sleep_until(begin + scenario.takeover).await;
        }
        let (claimed, serves) = match scenario.successor {
            Successor::Standby => succeed_by_standby(network()).await,
            Successor::Copied => succeed_by_copy(&fixture, network()).await,
            Successor::Restored => succeed_by_restore(&fixture, network()).await,
        };
        process.await.expect("it ends when it is displaced");
        End { answers: answers.take(), claimed, serves, failure: vault.failure() }
    })
}

async fn succeed_by_copy(fixture: &VaultFixture, store: Network<VersionedMemory>) -> (Instant, Instant) {
    let second = Machine::new("the second");
    let (claimed, (vault, running)) = loop {
        let (copy, copied) = (fixture.with_copied_disk(), Instant::now());
        match Vault::start(second.setup(&copy, store.clone())).await {
            Ok(opened) => break (copied, opened),
            // The original has written a bucket since: this copy is too old, and a fresh one is made.
            Err(VaultError::StaleTrustedState(_)) => {}
            // The original's checkpoint came after the copy, and its deletion was in flight at the claim.
            Err(error) if error.is_tampering() => {}
            Err(error) => panic!("it opens: {error}"),
        }
    };
    let serves = Instant::now();
    spawn_local(running);
    vault.read(BlockId(0)).await.expect("it serves");
    vault.close().await.expect("it closes");
    (claimed, serves)
}

async fn succeed_by_standby(store: Network<VersionedMemory>) -> (Instant, Instant) {
    let standby = setup(&FragileDisk::default().mount().unwrap(), store, 2_000);
    let standby = Setup { host: Machine::new("the second").host(), ..standby };
    let (vault, running, _) = stand_by(standby).await.expect("it takes over");
    let serves = Instant::now();
    spawn_local(running);
    vault.read(BlockId(0)).await.expect("it serves");
    vault.close().await.expect("it closes");
    (serves, serves)
}

async fn succeed_by_restore(fixture: &VaultFixture, store: Network<VersionedMemory>) -> (Instant, Instant) {
    let claimed = Instant::now();
    for seed in 1_000.. {
        let disk = FragileDisk::default().mount().unwrap();
        let options = restore_options(&fixture.header, None);
        match restore(setup(&disk, store.clone(), seed), options).await {
            Ok(_) => break,
            // A deletion was in flight just at the takeover: the scenario is run again.
            Err(error) if error.is_tampering() => {}
            Err(error) => panic!("it is restored: {error}"),
        }
    }
    (claimed, Instant::now())
}

#[test]
fn a_displaced_gateway_answers_nothing_once_its_successor_serves() {
    let (mut after_claim, mut stopped, mut at_work) = (0, 0, 0);
    let seeds = more_if_thorough(SEEDS, 10);
    for seed in 0..seeds {
        let scenario = Scenario::draw(seed);
        let End { answers, claimed, serves, failure } = run_scenario(&scenario);
        let late = answers.iter().find(|(at, _)| *at >= serves);
        let told = |at: &Answer| (at.0 - serves, at.1);
        let Scenario { successor, slowest, pauses, suspended, .. } = &scenario;
        assert_eq!(late.map(told), None, "seed {seed}: {successor:?}, {slowest}, {pauses:?}, {suspended:?}");
        assert!(matches!(failure, Some(VaultError::Displaced { .. })), "seed {seed}: {failure:?}");
        // A gateway that is slow to open and then paused for long has no time for more.
        at_work += u64::from(answers.len() > 10);
        after_claim += usize::from(answers.iter().any(|(at, _)| *at > claimed));
        stopped +=
            usize::from(pauses.iter().any(|(at, lasts)| *at + *lasts > scenario.takeover + LONG_ENOUGH));
    }
    // Without those the test would show nothing.
    assert!(at_work > seeds * 9 / 10, "{at_work} of {seeds} gateways answered more than ten times");
    assert!(after_claim as u64 > seeds / 6, "{after_claim} gateways answered after they were displaced");
    assert!(stopped as u64 > seeds / 6, "{stopped} gateways were stopped for longer than a lease");
}

/// A machine that is suspended in the middle of a commit: the rows are durable, but not acknowledged.
#[tokio::test(start_paused = true)]
async fn a_commit_in_which_the_lease_runs_out_is_not_acknowledged_and_may_be_durable() {
    let fixture = VaultFixture::new().await;
    let machine = Machine::new("it");
    let (vault, running) = Vault::start(machine.setup(&fixture, fixture.store.clone())).await.unwrap();
    let mut running = Box::pin(running);
    let mut committing = Box::pin(vault.commit_rows(vec![RowChange::put("key", "value")]));
    assert!(futures::poll!(committing.as_mut()).is_pending(), "it has begun");
    machine.suspend(3600);
    let refused = committing.await;
    assert!(matches!(refused, Err(VaultError::LeaseExpired)), "{refused:?}");
    assert_eq!(vault.load_rows().await.unwrap().len(), 1);
    assert!(futures::poll!(running.as_mut()).is_pending());
    fixture.disk.unplug();
}

/// The clock runs on while the machine is suspended: after it wakes, it answers nothing before a lease check.
#[test]
fn a_machine_that_was_suspended_answers_nothing_before_it_has_looked() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.expect("a runtime can be made"), async {
        let fixture = VaultFixture::new().await;
        let machine = Machine::new("it");
        let (vault, running) = Vault::start(machine.setup(&fixture, fixture.store.clone())).await.unwrap();
        spawn_local(running);
        vault.write(BlockId(0), block(1)).await.unwrap();
        sleep(Duration::from_secs(3)).await;
        machine.suspend(3600);
        let (woke, is_answered) = (Instant::now(), Flag::default());
        assert!(!vault.may_answer());
        let refused = vault.commit_rows(vec![RowChange::put("key", "value")]).await;
        assert!(matches!(refused, Err(VaultError::LeaseExpired)), "{refused:?}");
        let rows = vault.load_rows().await.unwrap();
        assert!(rows.is_empty(), "what was refused before it began was not done");
        let (asking, answered, looked) = (vault.clone(), is_answered.clone(), Rc::new(Cell::new(woke)));
        let at = looked.clone();
        let reader = spawn_local(async move {
            let read = asking.read(BlockId(0)).await;
            answered.set(true);
            at.set(Instant::now());
            read
        });
        sleep(Duration::from_secs(16)).await;
        assert!(!is_answered.is_on(), "before the next look");
        sleep(Duration::from_secs(2)).await;
        assert_eq!(reader.await.unwrap().unwrap(), block(1));
        assert_eq!((looked.get() - woke).as_secs(), 17, "the look comes twenty seconds after the last one");
        vault.commit_rows(vec![RowChange::put("key", "value")]).await.unwrap();
        vault.close().await.unwrap();
    });
}
