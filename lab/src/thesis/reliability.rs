//! Reliability: the serving side is killed at many instants of a job and comes back. What was lost, and how long did it
//! take?
//!
//! The vault is complete, over a store in memory behind a link in real time. A kill ends the process, with all that it
//! has in flight: from then on, the trusted disk refuses all its calls. The vault's own tests cover power loss.

use super::error::ThesisError;
use super::vault_folder::{fill, vault_folder};
use super::write_history::WriteHistory;
use crate::report::{Section, Sheet};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::types::BlockId;
use ameles_store::{Link, LinkSpeed, Meter, Usage, VersionedMemory};
use ameles_vault::{Call, SchemeParameters, Vault, VaultError, VaultParameters};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

/// The size of the trial.
pub(super) struct Plan {
    pub(super) blocks: u64,
    pub(super) block_bytes: u32,
    pub(super) kills: u64,
    pub(super) link: LinkSpeed,
    pub(super) seed: u64,
}

/// A life of the vault after a kill, up to the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Restart {
    /// The number of requests of the life before the kill.
    pub(super) requests_before_kill: u64,
    /// The number of writes that were acknowledged in that life.
    pub(super) acknowledged: u64,
    /// The number of blocks with wrong contents.
    pub(super) lost: u64,
    /// The number of records of the journal that the opening replayed.
    pub(super) records: u64,
    /// The requests and bytes of the opening.
    pub(super) opening: Usage,
    /// The time of the opening.
    pub(super) duration: Duration,
}

/// A figure of a restart: its name, its decimal places, and the function that returns it.
type Figure = (&'static str, usize, fn(&Restart) -> f64);

/// Kills the vault as often as the plan says, and returns the restarts.
pub(super) fn restarts(plan: &Plan) -> Result<Vec<Restart>, ThesisError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(ThesisError::real_time)?.block_on(kill_and_restart(plan))
}

async fn kill_and_restart(plan: &Plan) -> Result<Vec<Restart>, ThesisError> {
    let ring = RingParameters::for_capacity(plan.blocks, plan.block_bytes, plan.blocks / 8, 16);
    let folder = vault_folder(VaultParameters::with_defaults(SchemeParameters::Ring(ring)))?;
    let store = VersionedMemory::new(folder.parameters().layout());
    folder.create(store.clone()).await?;
    let vault = folder.open(store.clone()).await?;
    fill(&vault, 0).await?;
    vault.close().await.map_err(ThesisError::real_time)?;
    let mut history = WriteHistory::new(plan.blocks);
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
    let (mut restarts, mut before) = (Vec::new(), (0, 0));
    for kill in 0..=plan.kills {
        let meter = Meter::new(Link::new(store.clone(), plan.link).precise());
        let reader = meter.reader();
        let begun = Instant::now();
        let (vault, running) = Vault::start(folder.setup(meter)?).await.map_err(ThesisError::real_time)?;
        let (duration, opening) = (begun.elapsed(), reader.usage());
        let mut running = Box::pin(running);
        // Each life checks what the one before it wrote, and the last one checks every block.
        let started = if kill == plan.kills { (0..plan.blocks).collect() } else { history.take_started() };
        let checked = async {
            let lost = count_lost(&vault, &mut history, &started).await?;
            Ok::<_, ThesisError>((lost, vault.status().opening.records))
        };
        let (lost, records) = tokio::select! {
            checked = checked => checked?,
            () = &mut running => return Err(stop_reason(&vault)),
        };
        if kill > 0 {
            let (requests_before_kill, acknowledged) = before;
            restarts.push(Restart { requests_before_kill, acknowledged, lost, records, opening, duration });
        }
        // The instants of the kills lie between the requests of some batches, and differ from restart to restart.
        let (start_write, writes) = (reader.usage().requests(), history.writes);
        let instant = 1 + random.next_u64() % 800;
        let kill_instant = poll_fn(|_| match reader.usage().requests() >= start_write + instant {
            true => Poll::Ready(()),
            false => Poll::Pending,
        });
        tokio::select! {
            biased;
            () = kill_instant => {}
            failed = write_until_stopped(&vault, &mut history, &mut random) => return Err(failed),
            () = &mut running => return Err(stop_reason(&vault)),
        }
        folder.kill();
        drop(running);
        before = (reader.usage().requests() - start_write, history.writes - writes);
    }
    Ok(restarts)
}

/// Writes random blocks, batch after batch, until the vault stops.
async fn write_until_stopped(
    vault: &Vault,
    history: &mut WriteHistory,
    random: &mut ChaCha8Rng,
) -> ThesisError {
    loop {
        let mut blocks: Vec<u64> = (0..4).map(|_| random.next_u64() % vault.capacity()).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let mut write =
            |block: &u64| Call::Write(BlockId(*block), history.start_write(*block, vault.block_bytes()));
        let calls = blocks.iter().map(&mut write).collect();
        if let Err(error) = vault.access(calls).await {
            return ThesisError::real_time(error);
        }
        blocks.iter().for_each(|block| history.acknowledge(*block));
    }
}

/// The number of these blocks that are not as they must be.
pub(super) async fn count_lost(
    vault: &Vault,
    history: &mut WriteHistory,
    blocks: &[u64],
) -> Result<u64, ThesisError> {
    let mut lost = 0;
    for blocks in blocks.chunks(vault.max_batch()) {
        let calls = blocks.iter().map(|block| Call::Read(BlockId(*block))).collect();
        let answers = vault.access(calls).await.map_err(ThesisError::real_time)?;
        for (block, found) in blocks.iter().zip(answers) {
            lost += u64::from(!found.is_some_and(|found| history.accept_read(*block, &found)));
        }
    }
    Ok(lost)
}

fn stop_reason(vault: &Vault) -> ThesisError {
    ThesisError::real_time(vault.failure().unwrap_or(VaultError::Closed))
}

/// Runs the experiment, and returns its section of the report.
pub(super) fn section(link: LinkSpeed, seed: u64) -> Result<Section, ThesisError> {
    let plan = Plan { blocks: 1024, block_bytes: 64 << 10, kills: 24, link, seed };
    let restarts = restarts(&plan)?;
    let mut section =
        Section::new("reliability", "Reliability: killed at many instants, and back (real time)");
    section.add_text(format!(
        "A vault of {} blocks of {} KiB by Ring ORAM writes without a pause and is killed {} times. After each kill it is \
opened again over the link, and what was written is read; after the last one, every block is. A block counts as lost if \
it holds neither the last acknowledged write nor one that was under way.",
        plan.blocks,
        plan.block_bytes >> 10,
        plan.kills
    ));
    let of = |figure: fn(&Restart) -> f64| {
        let mut all: Vec<f64> = restarts.iter().map(figure).collect();
        all.sort_by(f64::total_cmp);
        (all.first().copied(), all.get(all.len() / 2).copied(), all.last().copied())
    };
    let mut sheet = Sheet::new("kills", "", ["for each kill", "min", "median", "max"]);
    let figures: [Figure; 7] = [
        ("requests before the kill", 0, |restart| restart.requests_before_kill as f64),
        ("writes acknowledged before it", 0, |restart| restart.acknowledged as f64),
        ("acknowledged writes lost", 0, |restart| restart.lost as f64),
        ("records replayed", 0, |restart| restart.records as f64),
        ("requests of the recovery", 0, |restart| restart.opening.requests() as f64),
        ("MB of the recovery", 3, |restart| {
            (restart.opening.bytes_up + restart.opening.bytes_down) as f64 / 1_048_576.0
        }),
        ("ms of the recovery", 0, |restart| restart.duration.as_secs_f64() * 1000.0),
    ];
    for (name, digits, figure) in figures {
        let (min, median, max) = of(figure);
        let cell = |value: Option<f64>| format!("{:.digits$}", value.unwrap_or_default());
        sheet.rows.push(vec![name.to_owned(), cell(min), cell(median), cell(max)]);
    }
    section.add_table(sheet);
    let (acknowledged, lost) = restarts
        .iter()
        .fold((0, 0), |(all, lost), restart| (all + restart.acknowledged, lost + restart.lost));
    section.add_text(format!("{acknowledged} writes were acknowledged; {lost} were lost."));
    Ok(section)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_store::BitsPerSecond;

    #[test]
    fn no_acknowledged_write_is_lost_by_a_kill_at_any_instant() {
        let unlimited = BitsPerSecond(0);
        let link = LinkSpeed { round_trip: Duration::from_millis(1), up: unlimited, down: unlimited };
        let plan = Plan { blocks: 64, block_bytes: 512, kills: 12, link, seed: 1 };
        let restarts = restarts(&plan).unwrap();
        assert_eq!(restarts.len(), 12);
        assert_eq!(restarts.iter().map(|restart| restart.lost).sum::<u64>(), 0);
        assert!(restarts.iter().map(|restart| restart.acknowledged).sum::<u64>() > 100, "{restarts:?}");
        assert!(
            restarts.iter().any(|restart| restart.records > 0),
            "some kill leaves a journal: {restarts:?}"
        );
    }
}
