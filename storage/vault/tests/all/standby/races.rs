//! A successor that comes while the gateway wakes up, starts again or goes on. The two never answer at the same time.

use super::heartbeats::HoldAll;
use super::{DELAY, fixture, link, seconds, stand_by, with_heartbeats};
use crate::lease::pausable::PausableProcess;
use crate::promises::fixture::{VaultFixture, block};
use crate::support::fragile_disk::FragileDisk;
use crate::support::intercepted::{Intercepted, Interceptor, Request};
use crate::support::recorder::{Recorder, TraceEvent};
use crate::support::{header, host_named, memory_disk, restore_options, setup, work_and_kill};
use ameles_core::store::UntrustedError;
use ameles_core::types::BlockId;
use ameles_store::Blobs;
use ameles_vault::{AnyStore, STANDBY_LEASE, Setup, Vault, VaultError, VaultParameters, restore};
use futures::FutureExt;
use futures::future::{Either, FusedFuture, join, select};
use std::cell::RefCell;
use std::pin::pin;
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep, timeout};

/// The time at which the gateway is disturbed.
const DISTURBED: Duration = Duration::from_secs(20);
/// The time after which a successor has had time for everything.
const ENOUGH: Duration = Duration::from_secs(200);

/// The times at which a gateway may answer from memory.
#[derive(Default)]
struct AnswerTimes(RefCell<Vec<Instant>>);

impl AnswerTimes {
    /// Drives an open vault, and notes when it may answer. Ends with the vault.
    async fn watch(&self, (vault, running): (Vault, impl Future<Output = ()>)) {
        let watching = async {
            while vault.failure().is_none() {
                if vault.may_answer() {
                    self.0.borrow_mut().push(Instant::now());
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        join(running, watching).await;
    }

    /// The last of them.
    fn last(&self) -> Instant {
        *self.0.borrow().last().expect("the gateway answers at first")
    }
}

/// Runs a gateway and its successor, which returns when it serves, if it does. Checks that the gateway answers nothing
/// from then on. Returns whether the successor serves, and how long before that the gateway last answered.
async fn never_both(
    times: &AnswerTimes,
    gateway: impl Future<Output = ()>,
    successor: impl Future<Output = Option<Instant>>,
) -> Option<Duration> {
    let mut gateway = pin!(gateway.fuse());
    let successor = pin!(timeout(ENOUGH, successor));
    let serves = match select(gateway.as_mut(), successor).await {
        Either::Left(((), successor)) => successor.await,
        Either::Right((serves, _)) => serves,
    };
    let serves = serves.ok().flatten()?;
    if !gateway.is_terminated() {
        let _ = timeout(ENOUGH, gateway).await;
    }
    let last = times.last();
    assert!(last < serves, "the gateway answered {:?} after its successor", last - serves);
    Some(serves - last)
}

/// A standby over a slow link. Returns when it serves.
async fn standby(fixture: &VaultFixture) -> Option<Instant> {
    let link = link(&fixture.store, Duration::from_millis(300));
    let taken = stand_by(setup(&memory_disk(), link, 77)).await;
    let (vault, running, _) = taken.expect("it stands by until it takes over");
    let serves = Instant::now();
    work_and_kill(running, vault.read(BlockId(0))).await.expect("it serves");
    Some(serves)
}

fn setup_of_gateway(fixture: &VaultFixture, delay: Duration) -> Setup<AnyStore> {
    let disk = fixture.disk.mount().expect("it is sound");
    fixture.setup_over(&disk, link(&fixture.store, delay))
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_wakes_up_while_its_standby_takes_over_answers_only_before_it() {
    let (mut taken, mut closest) = (0, ENOUGH);
    for millis in (8_000..16_000).step_by(80) {
        let (fixture, times) = (fixture().await, AnswerTimes::default());
        let opened = Vault::start(setup_of_gateway(&fixture, Duration::from_millis(100))).await.unwrap();
        let pause = (Instant::now() + DISTURBED, Duration::from_millis(millis));
        let gateway = PausableProcess::new(times.watch(opened), vec![pause]);
        if let Some(before) = never_both(&times, gateway, standby(&fixture)).await {
            (taken, closest) = (taken + 1, closest.min(before));
        }
    }
    // Without the wait for further objects, some gateways would answer while the standby serves.
    assert!((30..100).contains(&taken), "{taken} of 100 gateways were displaced");
    assert!(closest < seconds(13), "{closest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_starts_again_while_its_standby_takes_over_answers_only_before_it() {
    let mut taken = 0;
    for millis in (8_000..14_000).step_by(60) {
        let (fixture, times) = (fixture().await, AnswerTimes::default());
        let gateway = async {
            let delay = Duration::from_millis(100);
            let opened = Vault::start(setup_of_gateway(&fixture, delay)).await.unwrap();
            let _ = timeout(DISTURBED, times.watch(opened)).await;
            fixture.disk.unplug();
            sleep(Duration::from_millis(millis)).await;
            match Vault::start(setup_of_gateway(&fixture, delay)).await {
                Ok(opened) => times.watch(opened).await,
                Err(error) => assert!(matches!(error, VaultError::Displaced { .. }), "{error}"),
            }
        };
        taken += u64::from(never_both(&times, gateway, standby(&fixture)).await.is_some());
    }
    assert!((10..95).contains(&taken), "{taken} of 100 gateways were displaced");
}

/// The old gateway can renew its lease until its journal is ended, which takes long over a slow link.
#[tokio::test(start_paused = true)]
async fn a_restore_waits_from_the_end_of_the_old_journal() {
    let mut closest = ENOUGH;
    // The gateway looks for a newer claim every 20 seconds: some claims come right after a look.
    for begins_after in 22..42 {
        let (fixture, times) = (fixture().await, AnswerTimes::default());
        let opened = Vault::start(setup_of_gateway(&fixture, DELAY)).await.unwrap();
        let restoring = async {
            sleep(seconds(begins_after)).await;
            let slow = link(&fixture.store, seconds(1));
            restore(setup(&memory_disk(), slow, 5), restore_options(&fixture.header, None)).await.unwrap();
            Some(Instant::now())
        };
        let before = never_both(&times, times.watch(opened), restoring).await;
        closest = closest.min(before.expect("it is restored"));
    }
    assert!(closest < seconds(16), "{closest:?}");
}

/// The gateway creates its last object after the claim, is paused, and answers from memory when it goes on.
#[tokio::test(start_paused = true)]
async fn a_gateway_that_is_paused_before_a_restore_ends_its_journal_answers_only_before_it() {
    let mut closest = ENOUGH;
    for millis in (23_000..36_000).step_by(250) {
        let (fixture, times) = (fixture().await, AnswerTimes::default());
        let opened = Vault::start(setup_of_gateway(&fixture, DELAY)).await.unwrap();
        let pause = (Instant::now() + Duration::from_millis(millis), Duration::from_millis(13_700));
        let gateway = PausableProcess::new(times.watch(opened), vec![pause]);
        let restoring = async {
            sleep(seconds(22)).await;
            let slow = link(&fixture.store, seconds(1));
            restore(setup(&memory_disk(), slow, 5), restore_options(&fixture.header, None)).await.unwrap();
            Some(Instant::now())
        };
        let before = never_both(&times, gateway, restoring).await;
        closest = closest.min(before.expect("it is restored"));
    }
    assert!(closest < seconds(10), "{closest:?}");
}

/// The standby cannot know whether the gateway that has claimed serves.
#[tokio::test(start_paused = true)]
async fn a_standby_waits_a_lease_after_it_has_found_a_claim_without_objects() {
    let fixture = fixture().await;
    let opened = Vault::start(setup_of_gateway(&fixture, DELAY)).await.unwrap();
    let recorder = Recorder::new();
    let began = Instant::now();
    let gateways = async {
        timeout(seconds(10), work_and_kill(opened.1, sleep(seconds(10)))).await.ok();
        fixture.disk.unplug();
        // The next gateway claims, and no object of it arrives.
        let disk = fixture.disk.mount().unwrap();
        let interceptor = HoldAll::default();
        interceptor.is_on.set(true);
        let store = Intercepted { inner: fixture.store.clone(), interceptor };
        assert!(timeout(seconds(10), Vault::start(fixture.setup_over(&disk, store))).await.is_err());
    };
    let taking_over = async {
        let link = link(&fixture.store, DELAY);
        stand_by(setup(&memory_disk(), recorder.over(link), 77)).await.map(drop).unwrap();
        began.elapsed()
    };
    let ((), serves) = join(gateways, taking_over).await;
    let trace = recorder.take_trace();
    let is_claim = |event: &TraceEvent| matches!(event, TraceEvent::Asks { request: Request::PutIfAbsent { name, .. }, .. } if name == "epoch/00000003");
    let (claimed, _) = trace.iter().find(|(_, event)| is_claim(event)).expect("it claims the third epoch");
    assert!(serves >= *claimed + STANDBY_LEASE, "{claimed:?}, {serves:?}");
}

/// The same promise for a copy of the folder, which opens only if the gateway has created no object since.
#[tokio::test(start_paused = true)]
async fn an_opening_elsewhere_waits_from_the_end_of_the_old_journal() {
    let mut opened_elsewhere = 0;
    for seconds in 5..60 {
        let (fixture, times) = (fixture().await, AnswerTimes::default());
        let opened = Vault::start(setup_of_gateway(&fixture, DELAY)).await.unwrap();
        let pause = (Instant::now() + DISTURBED, Duration::from_secs(seconds));
        let gateway = PausableProcess::new(times.watch(opened), vec![pause]);
        let copying = async {
            sleep(DISTURBED + Duration::from_millis(100)).await;
            let copy = fixture.with_copied_disk();
            let slow = setup_of_gateway(&copy, Duration::from_secs(3));
            let host = host_named("another machine");
            let (vault, running) = Vault::start(Setup { host, ..slow }).await.ok()?;
            let serves = Instant::now();
            work_and_kill(running, vault.read(BlockId(0))).await.expect("it serves");
            Some(serves)
        };
        opened_elsewhere += u64::from(never_both(&times, gateway, copying).await.is_some());
    }
    assert!(opened_elsewhere > 10, "{opened_elsewhere} of 55 copies were opened");
}

/// The claim of a standby takes a while on its way.
#[derive(Clone, Default)]
struct SlowClaim;

const CLAIM_TAKES: Duration = Duration::from_secs(5);

impl Interceptor for SlowClaim {
    async fn before(&self, request: &Request) -> Result<usize, UntrustedError> {
        if matches!(request, Request::PutIfAbsent { name, .. } if name.starts_with("epoch/")) {
            sleep(CLAIM_TAKES).await;
        }
        Ok(0)
    }
}

/// A gateway that pauses, and runs again while the claim of the standby is on its way.
fn start_paused_gateway(vault_running: (Vault, impl Future<Output = ()> + 'static)) -> Vault {
    let (vault, running) = vault_running;
    let begin = Instant::now();
    // The last object comes at 15 s or before.
    let pauses = vec![(begin + seconds(17), Duration::from_millis(17_500))];
    spawn_local(PausableProcess::new(running, pauses));
    vault
}

#[test]
fn a_takeover_that_is_killed_in_its_wait_waits_again() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.unwrap(), async {
        let fixture = fixture().await;
        let disk = fixture.disk.mount().unwrap();
        let near = link(&fixture.store, DELAY);
        let first = Setup { host: host_named("the first"), ..fixture.setup_over(&disk, near) };
        let gateway = start_paused_gateway(Vault::start(first).await.unwrap());
        let own = FragileDisk::default();
        {
            let store = Intercepted { inner: fixture.store.clone(), interceptor: SlowClaim };
            let second = setup(&own.mount().unwrap(), store, 77);
            let second = Setup { host: host_named("the second"), ..second };
            let taking = pin!(stand_by(second));
            let is_ended = async {
                loop {
                    sleep(Duration::from_millis(100)).await;
                    if ended(&fixture).await {
                        return sleep(Duration::from_millis(100)).await;
                    }
                }
            };
            assert!(matches!(select(taking, pin!(is_ended)).await, Either::Right(_)), "it must wait");
            own.unplug();
        }
        let again = setup(&own.mount().unwrap(), fixture.store.clone(), 78);
        let again = Setup { host: host_named("the second"), ..again };
        let (vault, running, _) = stand_by(again).await.unwrap();
        spawn_local(running);
        vault.read(BlockId(1)).await.unwrap();
        assert!(!(vault.may_answer() && gateway.may_answer()), "both may answer");
    });
}

/// Returns whether the journal of the first epoch was ended.
async fn ended(fixture: &VaultFixture) -> bool {
    let listed = fixture.store.list("log/00000001-").await.unwrap();
    listed.iter().any(|blob| blob.size.0 < 150)
}

/// The session makes the heartbeats, and the opening before it.
#[tokio::test(start_paused = true)]
async fn a_gateway_that_replays_for_long_keeps_its_vault() {
    let parameters = VaultParameters { checkpoint_every: 5000, ship_every: 1000, ..with_heartbeats() };
    let fixture = VaultFixture::with(header(parameters, 1)).await;
    fixture
        .open_and_crash(async |vault| {
            for nth in 0..3000u64 {
                vault.write(BlockId(nth % 64), block(1)).await.unwrap();
            }
        })
        .await
        .unwrap();
    let gateway = async {
        let disk = fixture.disk.mount().unwrap();
        let link = link(&fixture.store, Duration::from_millis(50));
        sleep(seconds(3)).await;
        let began = Instant::now();
        let opened = Vault::start(fixture.setup_over(&disk, link)).await;
        let took = began.elapsed();
        let Ok((vault, running)) = opened else { return (took, opened.map(drop).err()) };
        work_and_kill(running, sleep(seconds(60))).await;
        (took, vault.failure())
    };
    let standby = async {
        let taking = stand_by(setup(&memory_disk(), fixture.store.clone(), 77));
        matches!(select(pin!(taking), pin!(sleep(seconds(60)))).await, Either::Left(_))
    };
    let ((took, failure), is_taken) = join(gateway, standby).await;
    assert!(failure.is_none() && !is_taken, "the opening took {took:?}: {failure:?}");
}
