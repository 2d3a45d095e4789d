//! The costs of an idle paced vault are as planned.

use crate::support::{every_scheme, header, setup};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::types::BlockId;
use ameles_store::{Meter, Usage, VersionedMemory};
use ameles_vault::{Call, Pace, SchemeParameters, TrustedDisk, Vault, VaultParameters};
use std::time::Duration;
use tokio::task::{LocalSet, spawn_local};

const TURN: Duration = Duration::from_millis(100);
const TURNS: u32 = 1500;

/// The usage of some idle turns, and the number of turns.
fn metered(parameters: &VaultParameters) -> (Usage, u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    LocalSet::new().block_on(&runtime.expect("a runtime can be made"), async {
        let store = Meter::new(VersionedMemory::new(parameters.layout()));
        let reader = store.reader();
        let folder = tempfile::tempdir().expect("there is room");
        let disk = TrustedDisk::open(&folder.path().join("disk")).expect("a new disk can be used");
        let mut setup = setup(&disk, store, 1);
        Vault::create(&mut setup, &header(parameters.clone(), 1)).await.expect("it is made");
        setup.pace = Some(Pace::every(TURN).expect("it is in range"));
        let (vault, running) = Vault::start(setup).await.expect("it opens");
        let driver = spawn_local(running);
        // Until every bucket was written.
        for _ in 0..4 {
            let block = vec![0; vault.block_bytes()];
            let all =
                (0..vault.capacity()).map(|nth| Call::Write(BlockId(nth), block.clone().into())).collect();
            vault.access(all).await.expect("it is filled");
        }
        let turns = || vault.status().pace.expect("it is paced").turns;
        let before = (reader.usage(), turns());
        tokio::time::sleep(TURN * TURNS).await;
        let after = (reader.usage().since(&before.0), turns() - before.1);
        vault.close().await.expect("it closes");
        driver.await.expect("it ends");
        after
    })
}

#[test]
fn an_idle_paced_vault_costs_what_is_said_beforehand() {
    let ring = RingParameters::for_capacity(1024, 16, 64, 8);
    let larger =
        VaultParameters { ship_every: 4, ..VaultParameters::with_defaults(SchemeParameters::Ring(ring)) };
    for parameters in every_scheme().into_iter().chain([larger]) {
        let name = parameters.scheme.name();
        let (usage, turns) = metered(&parameters);
        let expected = parameters.usage_of(turns as f64);
        for (what, usage, expected) in [
            ("reads", usage.gets(), expected.gets()),
            ("writes", usage.puts(), expected.puts()),
            ("removals", usage.deletes(), expected.deletes()),
            ("lists", usage.lists, expected.lists),
            ("bytes up", usage.bytes_up, expected.bytes_up),
            ("bytes down", usage.bytes_down, expected.bytes_down),
        ] {
            let off = usage as f64 / expected as f64 - 1.0;
            assert!(off.abs() < 0.1, "{name}, {what}: {usage} where {expected} were expected");
        }
    }
}
