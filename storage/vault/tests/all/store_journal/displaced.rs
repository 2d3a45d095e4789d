//! Two live gateways: one is displaced in the middle of its work, and its successor has everything that it
//! acknowledged.

use super::{restore_from, with_journal_in_store};
use crate::every_step::more_if_thorough;
use crate::promises::fixture::{CAPACITY, VaultFixture};
use crate::support::network::{Network, NetworkLink};
use crate::support::rng::TestRng;
use crate::support::{header, host_named, memory_disk, restore_options, setup};
use ameles_core::types::BlockId;
use ameles_vault::{Row, RowChange, Setup, Vault, VaultError, restore};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep};

/// The number of seeds of a usual run; a thorough one has ten times as many.
const SEEDS: u64 = 20;
/// The number in a block before the first write.
const NEVER: u64 = 0;

/// A caller's acknowledgements: the last write of each block, and the last row, each with its time.
#[derive(Default)]
struct Acknowledged {
    writes: Vec<u64>,
    row: u64,
    after_claim: u64,
    claimed: Option<Instant>,
}

fn block(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(4)
}

fn number(block: &[u8]) -> u64 {
    u64::from_le_bytes(*block.first_chunk().expect("a block has more"))
}

/// Writes and commits until the vault stops, and records what was acknowledged.
async fn ask_on(vault: Vault, acknowledged: Rc<RefCell<Acknowledged>>, mut rng: TestRng) -> VaultError {
    for number in 1u64.. {
        let at = rng.below(CAPACITY);
        let is_row = rng.percent(30);
        let asked = if is_row {
            vault.commit_rows(vec![RowChange::put("row", number.to_le_bytes().to_vec())]).await
        } else {
            vault.write(BlockId(at), block(number)).await
        };
        let mut acknowledged = acknowledged.borrow_mut();
        match asked {
            Ok(()) if is_row => acknowledged.row = number,
            Ok(()) => acknowledged.writes[at as usize] = number,
            Err(VaultError::LeaseExpired) => continue,
            Err(error) => return error,
        }
        acknowledged.after_claim += u64::from(acknowledged.claimed.is_some());
    }
    unreachable!("the numbers do not end")
}

/// Runs a takeover; returns how often the old gateway acknowledged something after the successor had begun.
fn run_scenario(seed: u64) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.expect("a runtime can be made"), async {
        let mut rng = TestRng::of(seed);
        let fixture = VaultFixture::with(header(with_journal_in_store(), 1)).await;
        let link = NetworkLink::new(rng.magnitude(1..=300), rng.fork());
        let store = Network::new(fixture.store.clone(), link);
        let disk = fixture.disk.mount().unwrap();
        let (vault, running) = Vault::start(fixture.setup_over(&disk, store.clone())).await.unwrap();
        spawn_local(running);
        let acknowledged = Acknowledged { writes: vec![NEVER; CAPACITY as usize], ..Acknowledged::default() };
        let acknowledged = Rc::new(RefCell::new(acknowledged));
        let asking = spawn_local(ask_on(vault, acknowledged.clone(), rng.fork()));
        sleep(Duration::from_millis(rng.within(500..=60_000))).await;
        acknowledged.borrow_mut().claimed = Some(Instant::now());
        let successor = memory_disk();
        loop {
            let options = restore_options(&fixture.header, None);
            match restore(setup(&successor, store.clone(), rng.seed()), options).await {
                Ok(_) => break,
                // A deletion was in flight just at the takeover: the scenario is run again.
                Err(error) if error.is_tampering() => {}
                Err(error) => panic!("seed {seed}: {error}"),
            }
        }
        let stopped = asking.await.unwrap();
        assert!(matches!(stopped, VaultError::Displaced { .. }), "seed {seed}: {stopped}");
        let (vault, running) = Vault::start(setup(&successor, store, rng.seed())).await.unwrap();
        spawn_local(running);
        let acknowledged = acknowledged.take();
        for (at, acknowledged) in acknowledged.writes.iter().enumerate() {
            let found = number(&vault.read(BlockId(at as u64)).await.unwrap());
            assert!(found >= *acknowledged, "seed {seed}: block {at} has {found}, not {acknowledged}");
        }
        let rows = vault.load_rows().await.unwrap();
        let found = rows.first().map_or(0, |row: &Row| number(&row.value));
        assert!(found >= acknowledged.row, "seed {seed}: the row has {found}, not {}", acknowledged.row);
        acknowledged.after_claim
    })
}

#[test]
fn a_displaced_gateway_acknowledges_nothing_that_its_successor_lacks() {
    let seeds = more_if_thorough(SEEDS, 10);
    let late = (0..seeds).filter(|seed| run_scenario(*seed) > 0).count();
    // Without those the test would show nothing.
    assert!(late as u64 > seeds / 2, "{late} gateways acknowledged something beside their successor");
}

/// The lease expires no earlier than 57 seconds after a check, and checks come every 20: the journal ends at once.
#[tokio::test(start_paused = true)]
async fn a_gateway_whose_journal_has_ended_is_told_at_its_next_access() {
    let fixture = VaultFixture::with(header(with_journal_in_store(), 1)).await;
    let disk = fixture.disk.mount().unwrap();
    let first = Setup { host: host_named("the first"), ..fixture.setup(&disk) };
    let (vault, running) = Vault::start(first).await.unwrap();
    let old = async {
        vault.write(BlockId(1), block(1)).await.unwrap();
        let began = Instant::now();
        let successor = memory_disk();
        let restored = restore_from(&fixture.header, fixture.store.clone(), &successor);
        let asked = async {
            sleep(Duration::from_secs(1)).await;
            assert!(vault.may_answer(), "its lease lasts");
            for refused in [vault.read(BlockId(1)).await.err(), vault.write(BlockId(2), block(2)).await.err()]
            {
                assert!(matches!(refused, Some(VaultError::Displaced { .. })), "{refused:?}");
            }
            assert!(began.elapsed() < Duration::from_secs(2));
        };
        futures::join!(restored, asked).0.unwrap();
    };
    futures::join!(old, running);
}
