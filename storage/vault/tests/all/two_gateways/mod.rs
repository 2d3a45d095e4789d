//! Two live gateways at one store, one with the original trusted folder and one with a copy of it or a restore. Each
//! request can be paused, and the seeds choose how the two interleave.
//!
//! For every interleaving:
//! - exactly one of the two continues, and the other ends with an error that says so, not with an alarm of tampering. A
//!   copy that misses a bucket before its claim says that it may be an older copy, and its original continues;
//! - once a gateway has learned that it was displaced, it acknowledges nothing any more;
//! - no bucket is lost: the one that continues authenticates everything in the end, and its store can be restored;
//! - no name in the store is given two contents, and no bucket is deleted without a check of the claims;
//! - what the newer one answers is right.
//!
//! The newer one serves when the older one answers nothing any more. But the older one may check the claims just before
//! the newer one claims, and delete a bucket after the newer one has listed the store. Of a thousand copies of a folder
//! in service, about one misses a bucket in this way ([`raced_with_deletion`]). Then both stop, and the vault can be
//! restored from the store alone.
//!
//! `AMELES_SIM_SEEDS` runs more seeds, and `AMELES_RIVALS_SEED` runs one of them.
#![allow(clippy::print_stdout, reason = "figures are shown with --nocapture")]

mod gateway;
mod scheduler;
mod store;

use crate::counts::counts;
use crate::simulation::number;
use crate::simulation::registers::Tick;
use crate::support::fragile_disk::FragileDisk;
use crate::support::rng::TestRng;
use crate::support::{every_scheme, header, restore_options, setup};
use ameles_core::types::BlockId;
use ameles_store::VersionedMemory;
use ameles_vault::{SchemeParameters, Vault, VaultError, VaultHeader, VaultParameters, restore};
use gateway::Gateway;
use scheduler::{GatewayId, SchedulePattern, Scheduler};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;
use store::{Flaw, Shared};
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, LocalSet};

/// The number of seeds of one run of the test.
const SEEDS: u64 = 75;
/// The simulation's number of seeds for which there are that many here.
const USUAL: u64 = 1000;
/// The number of seeds within which a flaw must be detected.
const FLAWED_SEEDS: u64 = 300;

/// The origin of the second gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SecondOrigin {
    /// The folder was copied while nothing served it: both openings race.
    CopiedAtRest,
    /// The folder was copied while the first gateway served.
    CopiedWhileServing,
    /// The vault was restored from the store only.
    TakenOver,
}

counts! {
    /// The counts of what became of the second gateways.
    struct Summary {
        turns: u64,
        /// The number of cases in which the second gateway continued.
        second_serves: u64,
        /// The cases in which the first gateway continued, and the second one was displaced when it opened.
        first_serves: u64,
        /// The cases in which both gateways have stopped: see [`raced_with_deletion`].
        none_serves: u64,
    }
}

fn vault_header(rng: &mut TestRng) -> VaultHeader {
    let schemes = every_scheme();
    let chosen = rng.one_of(&[0, 2, 2, 2]);
    let few =
        VaultParameters { checkpoint_every: rng.within(6..=24), rows_bytes: 64, ..schemes[chosen].clone() };
    assert!(!matches!(few.scheme, SchemeParameters::Trivial(_)));
    header(few, 1)
}

/// Two gateways and their store.
struct TwoGateways {
    header: VaultHeader,
    shared: Shared,
    scheduler: Scheduler,
    first: Gateway,
    second: Gateway,
    origin: SecondOrigin,
    /// The tick since which both gateways have the same contents.
    since: Tick,
}

impl TwoGateways {
    /// A vault that the first gateway has made and written to.
    async fn new(rng: &mut TestRng, flaw: Option<Flaw>) -> Self {
        let header = vault_header(rng);
        let memory = VersionedMemory::new(header.parameters.layout());
        let disk = FragileDisk::default();
        let mounted = disk.mount().expect("a new disk can be used");
        let mut setup = setup(&mounted, memory.clone(), rng.seed());
        Vault::create(&mut setup, &header).await.expect("the store is empty");
        drop((setup, mounted));
        disk.unplug();
        let (shared, scheduler) = (Shared::over(memory), Scheduler::default());
        let hands = (&shared, &scheduler, flaw);
        let first = Gateway::new(GatewayId::First, disk, &header, hands, rng.fork());
        let second = Gateway::new(GatewayId::Second, FragileDisk::default(), &header, hands, rng.fork());
        let origin = rng.one_of(&[
            SecondOrigin::CopiedAtRest,
            SecondOrigin::CopiedWhileServing,
            SecondOrigin::TakenOver,
        ]);
        TwoGateways { header, shared, scheduler, first, second, origin, since: 0 }
    }

    /// Runs both gateways until one of them should continue.
    async fn live(&mut self, rng: &mut TestRng) {
        self.first.open().await;
        let registers = self.first.registers.clone();
        self.first.overwrite_all(&registers, 0).await.expect("nobody else is there");
        self.since = registers.borrow_mut().tick();
        self.first.check_store().await;
        let some = rng.magnitude(1..=30);
        join_all_callers(self.first.ask(2, some)).await;
        if self.origin == SecondOrigin::CopiedAtRest {
            self.first.close().await.expect("nobody else is there");
            self.copy_folder();
            futures::join!(self.first.open(), self.second.open());
        }
        let callers = rng.within(1..=3);
        let requests = rng.magnitude(2..=40);
        let waits = rng.magnitude(1..=300);
        let mut asking = self.first.ask(callers, requests);
        for _ in 0..waits {
            self.scheduler.wait(GatewayId::Second).await;
        }
        if self.origin == SecondOrigin::CopiedWhileServing {
            self.copy_folder();
            self.second.open().await;
        } else if self.origin == SecondOrigin::TakenOver {
            self.second.take_over().await;
            self.second.open().await;
        }
        // An error ends it, and is checked later.
        let _ = self.second.overwrite_all(&registers, self.since).await;
        asking.extend(self.second.ask(callers, requests));
        asking.extend(self.first.ask(callers, requests));
        join_all_callers(asking).await;
    }

    /// Copies the first gateway's folder as it is.
    fn copy_folder(&mut self) {
        self.second.disk = self.first.disk.image();
        self.since = self.first.registers.borrow_mut().tick();
    }

    /// Lets both gateways check the store, and checks the errors that they get. Returns the one that continues.
    async fn check_both(&mut self) -> Option<GatewayId> {
        futures::join!(self.first.check_store(), self.second.check_store());
        // Two that check at once may both have checked too early.
        futures::join!(self.first.check_store(), self.second.check_store());
        let ends = [self.first.end(), self.second.end()];
        if self.origin == SecondOrigin::CopiedWhileServing && raced_with_deletion(&ends) {
            return None;
        }
        if self.origin != SecondOrigin::TakenOver && is_refused_before_its_claim(&ends) {
            return Some(GatewayId::First);
        }
        let is_loss = ends.iter().flatten().any(VaultError::is_tampering);
        assert!(!is_loss, "{:?}: the store has lost something, or says so: {ends:?}", self.origin);
        let (end, gateway_id) = match &ends {
            [Some(end), None] => (end, GatewayId::Second),
            [None, Some(end)] => (end, GatewayId::First),
            _ => panic!("{:?}: not one of two goes on: {ends:?}", self.origin),
        };
        let is_told = matches!(
            end,
            VaultError::Displaced { .. } | VaultError::StaleTrustedState(_) | VaultError::Copied(_)
        );
        assert!(is_told, "{:?}: the one that ends is told: {end}", self.origin);
        Some(gateway_id)
    }

    /// Lets the gateway that continues check everything and close. Checks that the other gateway serves nothing more.
    async fn end(&mut self, gateway_id: GatewayId) {
        let (serving, ended) = match gateway_id {
            GatewayId::First => (&mut self.first, &self.second),
            GatewayId::Second => (&mut self.second, &self.first),
        };
        let origin = self.origin;
        let looked = serving.check_everything().await;
        looked.unwrap_or_else(|error| panic!("{origin:?}: the one that goes on: {error}"));
        ended.acknowledges_nothing().await;
        self.since = serving.registers.borrow_mut().tick();
        serving.close().await.unwrap_or_else(|error| panic!("{origin:?}: the one that goes on: {error}"));
    }

    /// Restores the vault from its store alone, as it was when this gateway was closed.
    async fn restore(&self, gateway_id: Option<GatewayId>) {
        let disk = FragileDisk::default().mount().expect("a new disk can be used");
        let options = restore_options(&self.header, None);
        let store = &self.shared.memory;
        let restored = restore(setup(&disk, store.clone(), 9), options).await;
        restored.unwrap_or_else(|error| panic!("{:?}: the store cannot be restored: {error}", self.origin));
        let (vault, running) = Vault::start(setup(&disk, store.clone(), 10)).await.expect("it was restored");
        let registers = gateway_id.map(|gateway_id| {
            if gateway_id == GatewayId::First { &self.first.registers } else { &self.second.registers }
        });
        let reading = async {
            for block in 0..vault.capacity() {
                let bytes = vault.read(BlockId(block)).await.expect("it is open");
                if let Some(registers) = registers {
                    registers.borrow_mut().read_copy(block, self.since, &bytes);
                }
            }
            vault.close().await.expect("it can be closed");
        };
        futures::join!(reading, running);
    }
}

/// Returns whether a bucket that the newer of the two needs was deleted after its list of the store, following a check
/// that came before its claim.
fn raced_with_deletion(ends: &[Option<VaultError>; 2]) -> bool {
    matches!(ends, [Some(VaultError::Displaced { .. }), Some(newer)] if newer.is_tampering())
}

/// Returns whether the copy misses a bucket that the older gateway has deleted, and has not claimed. It cannot know that
/// the bucket was deleted, and says so.
fn is_refused_before_its_claim(ends: &[Option<VaultError>; 2]) -> bool {
    matches!(ends, [None, Some(copy)] if copy.is_tampering() && copy.to_string().contains("is an older copy"))
}

/// Propagates the panics of callers.
async fn join_all_callers(callers: Vec<JoinHandle<()>>) {
    for caller in callers {
        if let Err(error) = caller.await {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

/// Runs a seed.
///
/// # Panics
/// If a promise is broken.
fn run(seed: u64, flaw: Option<Flaw>) -> Summary {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime can be made");
    LocalSet::new().block_on(&runtime, async {
        let mut rng = TestRng::of(seed);
        let mut gateways = TwoGateways::new(&mut rng, flaw).await;
        let pattern = SchedulePattern::draw(&mut rng);
        let (mut scheduler_rng, scheduler, violation) =
            (rng.fork(), gateways.scheduler.clone(), gateways.shared.violation.clone());
        let living = async {
            gateways.live(&mut rng).await;
            let gateway_id = gateways.check_both().await;
            if let Some(gateway_id) = gateway_id {
                gateways.end(gateway_id).await;
            }
            gateway_id
        };
        let (gateway_id, turns) = scheduler.run_turns(&pattern, &mut scheduler_rng, living).await;
        violation.assert_none();
        gateways.restore(gateway_id).await;
        let is = |whom| u64::from(gateway_id == whom);
        Summary {
            turns,
            second_serves: is(Some(GatewayId::Second)),
            first_serves: is(Some(GatewayId::First)),
            none_serves: is(None),
        }
    })
}

/// Runs a seed; returns how a promise was broken, if one was.
fn try_run(seed: u64, flaw: Option<Flaw>) -> Result<Summary, String> {
    catch_unwind(AssertUnwindSafe(|| run(seed, flaw))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}

#[test]
fn of_two_live_gateways_one_goes_on_and_loses_nothing_however_they_come_between_each_other() {
    if let Some(seed) = number("AMELES_RIVALS_SEED") {
        println!("{:?}", run(seed, None));
        return;
    }
    let (began, seeds) = (Instant::now(), SEEDS * number("AMELES_SIM_SEEDS").unwrap_or(USUAL) / USUAL);
    let (mut all, mut broken) = (Summary::default(), Vec::new());
    for seed in 0..seeds {
        match try_run(seed, None) {
            Ok(summary) => all += summary,
            Err(how) => broken.push(format!("AMELES_RIVALS_SEED={seed}: {how}")),
        }
    }
    assert!(broken.is_empty(), "{} of {seeds} seeds break a promise:\n{}", broken.len(), broken.join("\n"));
    println!("{seeds} seeds: {all:?} in {:?}", began.elapsed());
    assert!(all.second_serves > seeds / 4 && all.first_serves > seeds / 20, "{all:?}");
    assert!(all.none_serves <= seeds / 100, "{all:?}");
}

/// Searches for a seed with which a flaw breaks a promise in this way.
fn is_caught(flaw: Flaw, origin: &str) {
    let broken = (0..FLAWED_SEEDS).find_map(|seed| {
        let how = try_run(seed, Some(flaw)).err()?;
        how.contains(origin).then_some((seed, how))
    });
    let (seed, how) = broken.unwrap_or_else(|| panic!("no seed has seen that {flaw:?}"));
    println!("{flaw:?} is seen by seed {seed}: {how}");
}

#[test]
fn claims_that_two_openings_share_are_seen() {
    is_caught(Flaw::ClaimsAreShared, "was written twice, with other contents");
}

#[test]
fn a_gateway_that_ships_and_deletes_without_a_look_at_the_claims_is_seen() {
    is_caught(Flaw::StopsChecking, "the store has lost something");
}
