//! A single gateway at a time, even if openings are interrupted and trusted folders are copied. Exactly one copy
//! serves, the others get an error, and no owner is ever locked out.

mod copied_machines;
mod copies;
mod cut_off_openings;
mod lost_answers;

use crate::promises::fixture::{VaultFixture, block, write_all};
use crate::support::stepped::{step, stepped};
use ameles_core::types::BlockId;
use ameles_store::Blobs;
use ameles_vault::{Vault, VaultError};
use std::pin::Pin;

/// The fill byte of the blocks before any test opening.
const FILL: u8 = 40;
/// A number of steps above that of any opening.
const MANY: usize = 400;

/// The point at which an opening is cut off.
#[derive(Clone, Copy, Debug)]
enum CutPoint {
    /// The process is killed before or after a request to the store takes effect.
    Step(usize),
    /// The power fails in the middle of a change to the disk.
    Change(u64),
}

/// A written vault that was killed without a checkpoint of the last writes, so that an opening repeats reads.
async fn written() -> VaultFixture {
    let fixture = VaultFixture::new().await;
    fixture.open(async |vault| write_all(vault, FILL - 1).await).await.unwrap();
    fixture
        .open_and_crash(async |vault| {
            write_all(vault, FILL).await;
            vault.checkpoint().await.unwrap();
            for at in 0..3 {
                vault.write(BlockId(at), block(FILL + at as u8)).await.unwrap();
            }
        })
        .await
        .unwrap();
    fixture
}

/// An independent copy, with its own store and disk.
fn again(fixture: &VaultFixture) -> VaultFixture {
    fixture.copy(&fixture.store.snapshot())
}

/// An opening that is polled step by step, and killed as soon as the vault is open.
fn opening(fixture: &VaultFixture) -> Pin<Box<impl Future<Output = Result<(), VaultError>>>> {
    let disk = fixture.disk.mount().unwrap();
    let setup = fixture.setup_over(&disk, stepped(fixture.store.clone()));
    // Tokio limits how long a task runs without yielding; this one would wait for a turn that never comes.
    Box::pin(tokio::task::unconstrained(async move { Vault::start(setup).await.map(drop) }))
}

/// Cuts an opening off at this point; returns whether it was cut off.
async fn cut_off(fixture: &VaultFixture, cut: CutPoint) -> bool {
    let was_cut_off = match cut {
        CutPoint::Step(steps) => {
            let mut opening = opening(fixture);
            let ended = (0..steps).any(|_| step(&mut opening).is_some());
            fixture.disk.unplug();
            !ended
        }
        CutPoint::Change(changes) => {
            fixture.disk.fail_after(Some(changes));
            let opened = match fixture.disk.mount() {
                Ok(disk) => Vault::start(fixture.setup(&disk)).await.err(),
                Err(error) => Some(error),
            };
            fixture.disk.unplug();
            opened.is_some()
        }
    };
    fixture.disk.fail_after(None);
    was_cut_off
}

/// All points at which an opening of this vault can be cut off.
async fn cuts(fixture: &VaultFixture) -> Vec<CutPoint> {
    let mut cuts = Vec::new();
    for cut in (0..MANY).map(CutPoint::Step) {
        if !cut_off(&again(fixture), cut).await {
            break;
        }
        cuts.push(cut);
    }
    let steps = cuts.len();
    for cut in (1..MANY as u64).map(CutPoint::Change) {
        if !cut_off(&again(fixture), cut).await {
            break;
        }
        cuts.push(cut);
    }
    assert!(steps > 12 && steps < MANY, "{steps} steps");
    assert!(cuts.len() - steps > 3, "{} changes", cuts.len() - steps);
    cuts
}

async fn claims(fixture: &VaultFixture) -> usize {
    fixture.store.list("epoch/").await.unwrap().len()
}

fn is_displaced<T>(opened: &Result<T, VaultError>) -> bool {
    matches!(opened, Err(VaultError::Displaced { .. }))
}
