//! The heartbeats of a gateway, and its lease.

use super::{DELAY, fixture, link, seconds};
use crate::promises::fixture::block;
use crate::store_journal::objects;
use crate::support::intercepted::{Intercepted, Interceptor, Request};
use crate::support::recorder::{Recorder, TraceEvent};
use crate::support::work_and_kill;
use ameles_core::store::UntrustedError;
use ameles_core::types::BlockId;
use ameles_vault::{HEARTBEAT_EVERY, STANDBY_LEASE, Vault};
use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Holds back the first log object after the switch is on, forever.
#[derive(Clone, Default)]
pub struct HoldOne {
    pub is_on: Rc<Cell<bool>>,
}

impl Interceptor for HoldOne {
    async fn before(&self, request: &Request) -> Result<usize, UntrustedError> {
        if request.creates_log_object() && self.is_on.replace(false) {
            pending::<()>().await;
        }
        Ok(0)
    }
}

/// The times between the starts of two log objects.
fn times_between_objects(recorder: &Recorder) -> Vec<Duration> {
    let is_object = |event: &TraceEvent| matches!(event, TraceEvent::Asks { request, .. } if request.creates_log_object());
    let trace = recorder.take_trace();
    let times: Vec<Duration> =
        trace.iter().filter(|(_, event)| is_object(event)).map(|(at, _)| *at).collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[tokio::test(start_paused = true)]
async fn a_gateway_creates_an_object_when_the_last_one_was_created_a_heartbeat_ago() {
    let (fixture, recorder) = (fixture().await, Recorder::new());
    let disk = fixture.disk.mount().unwrap();
    let link = link(&fixture.store, DELAY);
    let (vault, running) = Vault::start(fixture.setup_over(&disk, recorder.over(link))).await.unwrap();
    let idle = async {
        sleep(Duration::from_secs(20)).await;
        recorder.clear();
        sleep(Duration::from_secs(61)).await;
        let idle = times_between_objects(&recorder);
        vault.write(BlockId(1), block(1)).await.unwrap();
        sleep(Duration::from_secs(30)).await;
        (idle, times_between_objects(&recorder))
    };
    let (idle, after_a_write) = work_and_kill(running, idle).await;
    assert_eq!(idle, [HEARTBEAT_EVERY; 12]);
    assert!(after_a_write.iter().all(|time| *time <= HEARTBEAT_EVERY), "{after_a_write:?}");
    assert!(after_a_write.len() > 5, "{after_a_write:?}");
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_creates_no_object_for_a_lease_answers_nothing_until_it_has_created_one() {
    let fixture = fixture().await;
    let disk = fixture.disk.mount().unwrap();
    // Nothing is refused, and nothing comes back in time.
    let link = link(&fixture.store, seconds(12));
    let (vault, running) = Vault::start(fixture.setup_over(&disk, link)).await.unwrap();
    let waiting = async {
        let mut answers = Vec::new();
        for _ in 0..600 {
            answers.push(vault.may_answer());
            sleep(Duration::from_millis(100)).await;
        }
        answers
    };
    let answers = work_and_kill(running, waiting).await;
    // An object that took twelve seconds leaves two of a lease.
    let valid = answers.iter().filter(|may| **may).count();
    assert!((20..300).contains(&valid), "{valid} of 600");
    assert!(STANDBY_LEASE == 3 * HEARTBEAT_EVERY);
}

/// The journal may be ended at the object that is missing, and names behind it stay free.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_created_behind_a_missing_one_renews_no_lease() {
    let fixture = fixture().await;
    let disk = fixture.disk.mount().unwrap();
    let interceptor = HoldOne::default();
    let store = Intercepted { inner: fixture.store.clone(), interceptor: interceptor.clone() };
    let (vault, running) = Vault::start(fixture.setup_over(&disk, store)).await.unwrap();
    let holding = async {
        sleep(Duration::from_secs(20)).await;
        assert!(vault.may_answer());
        interceptor.is_on.set(true);
        // The object that is held back, and two more.
        sleep(4 * HEARTBEAT_EVERY).await;
        (objects(&fixture.store).await, vault.may_answer())
    };
    let (objects, may_answer) = work_and_kill(running, holding).await;
    let names: Vec<u64> =
        objects.iter().filter_map(|name| u64::from_str_radix(&name[13..], 16).ok()).collect();
    assert!(names.windows(2).any(|pair| pair[1] == pair[0] + 2), "no object is missing: {objects:?}");
    assert!(!may_answer);
}

/// A store that takes no object of the journal from some time on.
#[derive(Clone, Default)]
pub struct HoldAll {
    pub is_on: Rc<Cell<bool>>,
}

impl Interceptor for HoldAll {
    async fn before(&self, request: &Request) -> Result<usize, UntrustedError> {
        if self.is_on.get() && request.creates_log_object() {
            return pending().await;
        }
        Ok(0)
    }
}

/// A successor that has ended the journal waits for nobody who has only looked.
#[tokio::test(start_paused = true)]
async fn a_look_for_a_newer_claim_that_finds_none_renews_no_lease() {
    let fixture = fixture().await;
    let disk = fixture.disk.mount().unwrap();
    let interceptor = HoldAll::default();
    let store = Intercepted { inner: fixture.store.clone(), interceptor: interceptor.clone() };
    let recorder = Recorder::new();
    let (vault, running) = Vault::start(fixture.setup_over(&disk, recorder.over(store))).await.unwrap();
    let holding = async {
        sleep(seconds(12)).await;
        interceptor.is_on.set(true);
        recorder.clear();
        let held = Instant::now();
        let mut last = held;
        while held.elapsed() < seconds(90) {
            if vault.may_answer() {
                last = Instant::now();
            }
            sleep(Duration::from_millis(100)).await;
        }
        (last - held, recorder.requests().iter().filter(|request| request.is_lease_check()).count())
    };
    let (answered_for, looks) = work_and_kill(running, holding).await;
    assert!(looks >= 4, "{looks} looks");
    assert!(answered_for < STANDBY_LEASE, "{answered_for:?}");
}
