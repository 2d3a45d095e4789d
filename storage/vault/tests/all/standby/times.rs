//! The times of a standby's requests, and outages of the store.

use super::{DELAY, fixture, link, seconds, stand_by};
use crate::promises::fixture::block;
use crate::support::fragile_disk::FragileDisk;
use crate::support::intercepted::{Intercepted, Interceptor, Request};
use crate::support::recorder::{Recorder, TraceEvent};
use crate::support::{memory_disk, setup, work_and_kill};
use ameles_core::store::UntrustedError;
use ameles_core::types::BlockId;
use ameles_vault::{RowChange, Vault};
use futures::future::{join, select};
use std::cell::Cell;
use std::future::pending;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The store of a standby, which fails for a minute from a read of buckets on.
#[derive(Clone)]
struct Outage {
    from: Instant,
    until: Rc<Cell<Option<Instant>>>,
}

impl Interceptor for Outage {
    async fn before(&self, request: &Request) -> Result<usize, UntrustedError> {
        let now = Instant::now();
        if self.until.get().is_none() && now >= self.from && matches!(request, Request::Read(_)) {
            self.until.set(Some(now + seconds(60)));
        }
        match self.until.get() {
            Some(until) if now < until => Err(UntrustedError::Unavailable("no route to the store".into())),
            _ => Ok(0),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_waits_while_the_store_cannot_be_reached() {
    let fixture = fixture().await;
    let gateway = async {
        let working = async |vault: &Vault| {
            for nth in 0..200u8 {
                vault.write(BlockId(u64::from(nth) % 64), block(nth)).await.unwrap();
                sleep(Duration::from_millis(500)).await;
            }
        };
        fixture.open_and_crash(working).await.unwrap();
    };
    let outage = Outage { from: Instant::now() + seconds(10), until: Rc::default() };
    let standby = async {
        sleep(seconds(1)).await;
        let store = Intercepted { inner: fixture.store.clone(), interceptor: outage };
        stand_by(setup(&memory_disk(), store, 77)).await.map(drop)
    };
    let ((), taken) = join(gateway, standby).await;
    taken.unwrap();
}

/// The pieces of checkpoints that were fetched since the last claim.
#[derive(Clone, Default)]
struct PiecesAfterClaim(Rc<Cell<Option<usize>>>);

impl Interceptor for PiecesAfterClaim {
    async fn before(&self, request: &Request) -> Result<usize, UntrustedError> {
        match request {
            Request::PutIfAbsent { name, .. } if name.starts_with("epoch/") => self.0.set(Some(0)),
            Request::Get(name) if name.starts_with("piece/") => {
                self.0.set(self.0.get().map(|count| count + 1))
            }
            _ => {}
        }
        Ok(0)
    }
}

#[tokio::test(start_paused = true)]
async fn a_takeover_fetches_no_piece_after_its_claim_if_the_gateway_was_late_before() {
    let fixture = fixture().await;
    let working = async |vault: &Vault| {
        for nth in 0..40u8 {
            vault.write(BlockId(u64::from(nth)), block(nth)).await.unwrap();
            sleep(Duration::from_millis(200)).await;
        }
    };
    let pieces = PiecesAfterClaim::default();
    let standby = async {
        let store = Intercepted { inner: fixture.store.clone(), interceptor: pieces.clone() };
        stand_by(setup(&memory_disk(), store, 77)).await.map(drop)
    };
    let (worked, taken) = join(fixture.open_and_crash(working), standby).await;
    worked.unwrap();
    taken.unwrap();
    assert_eq!(pieces.0.get(), Some(0));
}

#[test]
fn the_requests_of_a_standby_come_at_the_same_times_for_reads_as_for_changes_of_rows() {
    let times = |changes_rows: bool| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let (fixture, of_gateway, of_standby) = (fixture().await, Recorder::new(), Recorder::new());
            let gateway = async {
                let disk = fixture.disk.mount().unwrap();
                let link = link(&fixture.store, DELAY);
                let (vault, running) =
                    Vault::start(fixture.setup_over(&disk, of_gateway.over(link))).await.unwrap();
                let working = async {
                    sleep(seconds(10)).await;
                    of_gateway.clear();
                    of_standby.clear();
                    for nth in 0..5u8 {
                        vault.read(BlockId(1)).await.unwrap();
                        match changes_rows {
                            true => {
                                vault.commit_rows(vec![RowChange::put(vec![nth], "a row")]).await.unwrap()
                            }
                            false => vault.settle_reads().await.unwrap(),
                        }
                    }
                    sleep(seconds(3)).await;
                };
                work_and_kill(running, working).await;
            };
            let standby = async {
                let own = FragileDisk::default();
                own.take_time(Duration::from_millis(4), Duration::ZERO);
                let link = link(&fixture.store, DELAY);
                let following = stand_by(setup(&own.mount().unwrap(), of_standby.over(link), 77));
                select(pin!(following), pin!(pending::<()>())).await;
            };
            select(pin!(gateway), pin!(standby)).await;
            let times = |recorder: &Recorder| -> Vec<Duration> {
                let asks = |event: &TraceEvent| matches!(event, TraceEvent::Asks { .. });
                recorder.take_trace().iter().filter(|(_, event)| asks(event)).map(|(at, _)| *at).collect()
            };
            (times(&of_gateway), times(&of_standby))
        })
    };
    let (reads, changes) = (times(false), times(true));
    assert_eq!(reads.0, changes.0, "the gateway");
    assert_eq!(reads.1, changes.1, "the standby");
}
