//! A standby whose vault is converted, or gets a new key, while it follows.

use super::{fixture, follow_for_a_minute, seconds, stand_by, with_heartbeats};
use crate::lease::pausable::PausableProcess;
use crate::promises::fixture::{VaultFixture, block};
use crate::support::intercepted::{Intercepted, Interceptor, Request};
use crate::support::{header, host_named, memory_disk, open_elsewhere, setup, work_and_kill};
use ameles_core::store::UntrustedError;
use ameles_core::types::BlockId;
use ameles_seal::master_key::MasterKey;
use ameles_vault::{
    JournalPlace, NewKey, Setup, Vault, VaultError, VaultParameters, change_key, move_journal,
};
use futures::future::{Either, join, select};
use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Serves the vault for so long that a standby follows, and stops.
async fn serve_for_a_while(fixture: &VaultFixture) {
    let working = async |vault: &Vault| {
        vault.write(BlockId(1), block(1)).await.unwrap();
        sleep(seconds(20)).await;
    };
    fixture.open(working).await.unwrap();
}

/// Converts the vault while a standby follows, and serves it again. The standby must not take it over.
async fn follow_over_a_conversion(place: JournalPlace) {
    let fixture = fixture().await;
    let displaced = Rc::new(RefCell::new(None));
    let of_gateway: RefCell<Option<Vault>> = RefCell::new(None);
    let gateway = async {
        serve_for_a_while(&fixture).await;
        let disk = fixture.disk.mount().unwrap();
        move_journal(fixture.setup(&disk), place).await.unwrap();
        fixture.disk.unplug();
        let disk = fixture.disk.mount().unwrap();
        let (vault, running) = Vault::start(fixture.setup(&disk)).await.unwrap();
        let working = async {
            *of_gateway.borrow_mut() = Some(vault.clone());
            sleep(seconds(3)).await;
            vault.write(BlockId(1), block(2)).await.unwrap();
            assert_eq!(vault.read(BlockId(1)).await.unwrap(), block(2));
            sleep(seconds(400)).await;
        };
        work_and_kill(running, working).await;
        *displaced.borrow_mut() = vault.failure();
    };
    let standby = async {
        sleep(seconds(2)).await;
        let following = stand_by(setup(&memory_disk(), fixture.store.clone(), 77));
        match select(pin!(following), pin!(sleep(seconds(380)))).await {
            Either::Left((Ok((vault, running, _)), _)) => {
                let read = work_and_kill(running, vault.read(BlockId(1))).await.unwrap();
                let may_answer = of_gateway.borrow().as_ref().is_some_and(Vault::may_answer);
                Some((read[0], may_answer))
            }
            Either::Left((Err(error), _)) => {
                assert!(matches!(error, VaultError::Parameters(_)), "{error:?}");
                None
            }
            Either::Right(_) => None,
        }
    };
    let ((), taken) = join(gateway, standby).await;
    assert_eq!(
        taken,
        None,
        "the standby serves a vault without heartbeats (block 1, and whether the gateway may still answer); the gateway: {:?}",
        displaced.borrow()
    );
    assert!(displaced.borrow().is_none(), "{:?}", displaced.borrow());
}

#[tokio::test(start_paused = true)]
async fn a_standby_does_not_take_over_a_vault_that_was_converted_to_the_disk() {
    follow_over_a_conversion(JournalPlace::Disk).await;
}

#[tokio::test(start_paused = true)]
async fn a_standby_does_not_take_over_a_vault_that_was_converted_to_the_store() {
    follow_over_a_conversion(JournalPlace::Store).await;
}

#[tokio::test(start_paused = true)]
async fn a_standby_does_not_take_over_a_vault_that_was_converted_to_store_first() {
    follow_over_a_conversion(JournalPlace::StoreFirst).await;
}

#[tokio::test(start_paused = true)]
async fn a_standby_whose_vault_gets_a_new_key_does_not_report_tampering() {
    let fixture = fixture().await;
    let new_key = || MasterKey::take(&mut [8; 32]);
    let gateway = async {
        serve_for_a_while(&fixture).await;
        let disk = fixture.disk.mount().unwrap();
        let new = NewKey { master: new_key(), passphrase: None };
        change_key(fixture.setup(&disk), new).await.unwrap();
        fixture.disk.unplug();
        let disk = fixture.disk.mount().unwrap();
        let setup = Setup { master: new_key(), ..fixture.setup(&disk) };
        let (_vault, running) = Vault::start(setup).await.unwrap();
        work_and_kill(running, sleep(seconds(60))).await;
    };
    let standby = async {
        sleep(seconds(2)).await;
        stand_by(setup(&memory_disk(), fixture.store.clone(), 77)).await.map(drop)
    };
    let ((), taken) = join(gateway, standby).await;
    let error = taken.unwrap_err();
    assert!(!error.is_tampering(), "{error}");
}

/// Looks for a newer claim are slow once the switch is on.
#[derive(Clone, Default)]
struct SlowLooks {
    are_on: Rc<Cell<bool>>,
}

impl Interceptor for SlowLooks {
    async fn before(&self, request: &Request) -> Result<usize, UntrustedError> {
        if self.are_on.get() && request.is_lease_check() {
            sleep(seconds(2)).await;
        }
        Ok(0)
    }
}

/// Neither a journal on the disk nor the looks of the old gateway would keep it from renewing its lease.
#[test]
fn a_gateway_whose_vault_was_converted_elsewhere_answers_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.unwrap(), async {
        let fixture = fixture().await;
        let disk = fixture.disk.mount().unwrap();
        let looks = SlowLooks::default();
        let store = Intercepted { inner: fixture.store.clone(), interceptor: looks.clone() };
        let first = Setup { host: host_named("the first"), ..fixture.setup_over(&disk, store) };
        let (gateway, running) = Vault::start(first).await.unwrap();
        let begin = Instant::now();
        spawn_local(PausableProcess::new(running, vec![(begin + seconds(30), seconds(600))]));
        gateway.write(BlockId(1), block(1)).await.unwrap();
        gateway.checkpoint().await.unwrap();
        sleep_until(begin + seconds(31)).await;
        let copy = fixture.with_copied_disk();
        let second = || {
            let disk = copy.disk.mount().unwrap();
            Setup { host: host_named("the second"), ..copy.setup(&disk) }
        };
        move_journal(second(), JournalPlace::Disk).await.unwrap();
        let (vault, running) = Vault::start(second()).await.unwrap();
        spawn_local(running);
        vault.write(BlockId(1), block(2)).await.unwrap();
        assert!(begin.elapsed() < seconds(300) && !gateway.may_answer());
        looks.are_on.set(true);
        sleep_until(begin + seconds(629)).await;
        let reading = gateway.clone();
        let read = spawn_local(async move { reading.read(BlockId(1)).await });
        let mut answers = 0;
        while begin.elapsed() < seconds(640) {
            answers += u32::from(gateway.may_answer());
            sleep(Duration::from_millis(100)).await;
        }
        assert!(vault.failure().is_none());
        let read = read.await.unwrap();
        assert!(read.is_err(), "the old gateway answers with {:?}", read.map(|block| block[0]));
        assert_eq!(answers, 0, "tenths of a second");
    });
}

/// A vault that was converted to heartbeats from this journal.
async fn converted(from: JournalPlace) -> VaultFixture {
    let parameters = VaultParameters { journal: from, ship_every: 1000, ..with_heartbeats() };
    let fixture = VaultFixture::with(header(parameters, 1)).await;
    fixture.open(async |vault| vault.write(BlockId(1), block(1)).await.unwrap()).await.unwrap();
    let disk = fixture.disk.mount().unwrap();
    move_journal(fixture.setup(&disk), JournalPlace::Standby).await.unwrap();
    fixture.disk.unplug();
    fixture
}

#[tokio::test(start_paused = true)]
async fn a_standby_follows_a_vault_that_was_converted_from_store_first() {
    let fixture = converted(JournalPlace::StoreFirst).await;
    let disk = fixture.disk.mount().unwrap();
    let (vault, running) = Vault::start(fixture.setup(&disk)).await.unwrap();
    let following = async {
        vault.write(BlockId(1), block(2)).await.unwrap();
        follow_for_a_minute(setup(&memory_disk(), fixture.store.clone(), 77)).await
    };
    let taken = work_and_kill(running, following).await;
    assert!(taken.is_none(), "the gateway works: the standby {taken:?}, the gateway {:?}", vault.failure());
}

#[tokio::test(start_paused = true)]
async fn a_vault_that_was_converted_from_store_first_is_restored_after_a_loss() {
    let fixture = converted(JournalPlace::StoreFirst).await;
    fixture.open_and_crash(async |vault| vault.write(BlockId(1), block(2)).await.unwrap()).await.unwrap();
    let (header, store) = (&fixture.header, fixture.store.clone());
    let (vault, running) = open_elsewhere(header, store, None, (false, 99)).await.unwrap();
    assert_eq!(work_and_kill(running, vault.read(BlockId(1))).await.unwrap(), block(2));
}

/// The checkpoint from before the conversion lacks the payloads that buckets have.
#[tokio::test(start_paused = true)]
async fn an_idle_vault_that_was_converted_from_store_ships_a_checkpoint_that_a_standby_can_start_from() {
    let fixture = converted(JournalPlace::Store).await;
    let disk = fixture.disk.mount().unwrap();
    let (_vault, running) = Vault::start(fixture.setup(&disk)).await.unwrap();
    let gateway = work_and_kill(running, sleep(seconds(60)));
    let standby = timeout(seconds(300), stand_by(setup(&memory_disk(), fixture.store.clone(), 77)));
    let ((), taken) = join(gateway, standby).await;
    let (vault, running, _) = taken.expect("it follows, and takes over").unwrap();
    assert_eq!(work_and_kill(running, vault.read(BlockId(1))).await.unwrap(), block(1));
}
