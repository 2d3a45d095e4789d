//! A store that cannot be reached for a while. Nothing is answered after the lease expires, nothing is lost, and the
//! vault continues when the store is back.

use super::{Flag, Machine};
use crate::promises::fixture::{VaultFixture, block, write_all};
use crate::support::intercepted::{Intercepted, Interceptor, Request};
use crate::support::recorder::{Recorder, TraceEvent};
use crate::support::setup;
use ameles_core::store::UntrustedError;
use ameles_core::types::BlockId;
use ameles_vault::{RowChange, Vault, VaultError};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// A connection to a store that can be cut, and that can delay answers.
struct Connection {
    is_cut: Flag,
    delay: Rc<Cell<Duration>>,
}

impl Interceptor for Connection {
    async fn before(&self, request: &Request) -> Result<usize, UntrustedError> {
        let is_of_inventory = matches!(request, Request::ListVersions | Request::Sweep);
        if self.is_cut.is_on() && !is_of_inventory {
            return Err(UntrustedError::Unavailable("the line is cut".into()));
        }
        Ok(0)
    }

    async fn after(&self, request: &Request, _: usize) {
        if matches!(request, Request::Get(_)) {
            sleep(self.delay.get()).await;
        }
    }
}

/// A write of block 1.
type BegunWrite = JoinHandle<Result<(), VaultError>>;

/// A vault with every bucket written, so that every access reads.
async fn filled() -> VaultFixture {
    let fixture = VaultFixture::new().await;
    fixture.open(async |vault| write_all(vault, 1).await).await.unwrap();
    fixture
}

/// Opens a vault over a connection, cuts it for long enough that the lease expires, begins a write, and runs the test.
fn with_unreachable_store(test: impl AsyncFnOnce(&Vault, BegunWrite, Flag, Recorder, VaultFixture)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.expect("a runtime can be made"), async {
        let fixture = filled().await;
        let (is_cut, recorder) = (Flag::default(), Recorder::new());
        let unreachable = Intercepted {
            inner: fixture.store.clone(),
            interceptor: Connection { is_cut: is_cut.clone(), delay: Rc::default() },
        };
        recorder.note_opening(None);
        let setup = Machine::new("it").setup(&fixture, recorder.over(unreachable));
        let (vault, running) = Vault::start(setup).await.unwrap();
        spawn_local(running);
        vault.write(BlockId(0), block(1)).await.unwrap();
        sleep(Duration::from_secs(1)).await;
        is_cut.set(true);
        sleep(Duration::from_secs(80)).await;
        recorder.take_trace();
        let writer = vault.clone();
        let writing = spawn_local(async move { writer.write(BlockId(1), block(2)).await });
        test(&vault, writing, is_cut, recorder, fixture).await;
    });
}

#[test]
fn past_the_lease_nothing_is_begun_or_answered_and_all_goes_on_when_the_store_is_back() {
    with_unreachable_store(async |vault, writing, is_cut, recorder, _| {
        let refused = vault.commit_rows(vec![RowChange::put("key", "value")]).await;
        assert!(matches!(refused, Err(VaultError::LeaseExpired)), "{refused:?}");
        let reader = vault.clone();
        let reading = spawn_local(async move { reader.read(BlockId(0)).await });
        sleep(Duration::from_secs(600)).await;
        assert!(!writing.is_finished() && !reading.is_finished() && vault.failure().is_none());
        let asked = recorder.take_trace().into_iter().filter_map(|(_, event)| match event {
            TraceEvent::Asks { request, .. } => Some(request),
            _ => None,
        });
        let asked: Vec<_> = asked.collect();
        assert!(asked.len() >= 30 && asked.iter().all(|request| request.is_lease_check()), "{asked:?}");
        is_cut.set(false);
        let back = Instant::now();
        writing.await.unwrap().expect("a write that waited is acknowledged");
        assert_eq!(reading.await.unwrap().unwrap(), block(1));
        assert!(back.elapsed() <= Duration::from_secs(20), "{:?}", back.elapsed());
        assert_eq!(vault.read(BlockId(1)).await.unwrap(), block(2));
        vault.close().await.unwrap();
    });
}

#[test]
fn a_gateway_that_was_displaced_while_the_store_was_away_answers_nothing_when_it_is_back() {
    with_unreachable_store(async |vault, writing, is_cut, _, fixture| {
        let (copy, other) = (fixture.with_copied_disk(), Machine::new("another start"));
        let (successor, running) = Vault::start(other.setup(&copy, fixture.store.clone())).await.unwrap();
        spawn_local(running);
        successor.write(BlockId(0), block(3)).await.unwrap();
        is_cut.set(false);
        let refused = writing.await.unwrap();
        assert!(matches!(refused, Err(VaultError::Displaced { .. })), "{refused:?}");
        let refused = vault.read(BlockId(0)).await;
        assert!(matches!(refused, Err(VaultError::Displaced { .. })), "{refused:?}");
        assert_eq!(successor.read(BlockId(0)).await.unwrap(), block(3));
        successor.close().await.unwrap();
    });
}

#[test]
fn a_vault_that_is_closed_while_the_store_is_away_ends_and_loses_nothing() {
    with_unreachable_store(async |vault, writing, is_cut, _, fixture| {
        sleep(Duration::from_secs(1)).await;
        let closed = timeout(Duration::from_secs(60), vault.close()).await.expect("it does not hang");
        assert!(matches!(closed, Err(VaultError::Unavailable(_))), "{closed:?}");
        assert!(matches!(writing.await.unwrap(), Err(VaultError::Unavailable(_))));
        fixture.disk.unplug();
        is_cut.set(false);
        let disk = fixture.disk.mount().unwrap();
        let mut again = setup(&disk, fixture.store.clone(), 50);
        again.host = Machine::new("it").host();
        let (vault, running) = Vault::start(again).await.unwrap();
        spawn_local(running);
        assert_eq!(vault.read(BlockId(0)).await.unwrap(), block(1));
        vault.close().await.unwrap();
    });
}

/// The start of a lease check counts: it may have been served before a successor claimed, and be answered long after.
#[tokio::test(start_paused = true)]
async fn a_look_whose_answer_was_kept_back_renews_the_lease_from_its_begin() {
    let fixture = filled().await;
    let delay = Rc::new(Cell::new(Duration::ZERO));
    let unreachable = Intercepted {
        inner: fixture.store.clone(),
        interceptor: Connection { is_cut: Flag::default(), delay: delay.clone() },
    };
    let machine = Machine::new("it");
    let (vault, running) = Vault::start(machine.setup(&fixture, unreachable)).await.unwrap();
    let working = async {
        sleep(Duration::from_secs(15)).await;
        delay.set(Duration::from_secs(50));
        // The check of second 20 is answered in second 70, and is valid until second 77.
        for (from, until, may_answer) in [(0, 57, true), (57, 70, false), (71, 77, true), (77, 119, false)] {
            for second in from..until {
                sleep_until_second(&machine, second).await;
                assert_eq!(vault.may_answer(), may_answer, "second {second}");
            }
        }
        delay.set(Duration::ZERO);
        vault.close().await.unwrap();
    };
    futures::join!(working, running);
}

/// Waits until the middle of this second of the machine, unless it has passed.
async fn sleep_until_second(machine: &Machine, second: u64) {
    sleep_until(machine.origin + Duration::from_millis(1000 * second + 500)).await;
}
