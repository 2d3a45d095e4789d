//! Elasticity: a vault grows under load. The section shows the served requests, their slowdown, and lost writes.
//!
//! A vault grows by a successor: a larger vault that serves together with it until all blocks are copied. Both are
//! whole vaults over stores in memory, each behind its own link, in real time.

use super::error::ThesisError;
use super::reliability::count_lost;
use super::vault_folder::{fill, settle, vault_folder};
use super::write_history::WriteHistory;
use crate::bench::service::TrustedFolder;
use crate::report::{Section, Sheet};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::types::BlockId;
use ameles_store::{Link, LinkSpeed, Meter, MeterReader, Usage, VersionedMemory};
use ameles_vault::{
    Call, Flow, MirroredVaults, SchemeParameters, Vault, VaultError, VaultParameters, cut_over,
};
use bytes::Bytes;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::time::{Duration, Instant};

/// The size of the trial.
pub(super) struct Plan {
    /// The number of blocks before. Afterwards there are twice as many.
    pub(super) blocks: u64,
    pub(super) block_bytes: u32,
    /// The number of batches that are served before, and afterwards.
    pub(super) batches: u64,
    pub(super) link: LinkSpeed,
    pub(super) seed: u64,
}

/// The service in one of the three times: before, while it grows, afterwards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    pub(super) name: &'static str,
    /// The number of accesses that were served, four to a batch.
    pub(super) accesses: u64,
    /// The mean time of a batch.
    pub(super) response: Duration,
    pub(super) duration: Duration,
    /// The requests and bytes, of both vaults if there are two.
    pub(super) usage: Usage,
}

/// The phases, and the writes that were lost.
pub(super) struct Growth {
    pub(super) phases: [Phase; 3],
    pub(super) acknowledged: u64,
    pub(super) lost: u64,
}

/// Grows a vault under load.
pub(super) fn growth(plan: &Plan) -> Result<Growth, ThesisError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(ThesisError::real_time)?.block_on(grow_under_load(plan))
}

async fn new_vault(plan: &Plan, blocks: u64) -> Result<(TrustedFolder, Vault, MeterReader), ThesisError> {
    let ring = RingParameters::for_capacity(blocks, plan.block_bytes, blocks / 8, 16);
    let folder = vault_folder(VaultParameters::with_defaults(SchemeParameters::Ring(ring)))?;
    let memory = VersionedMemory::new(folder.parameters().layout());
    folder.create(memory.clone()).await?;
    if blocks == plan.blocks {
        let vault = folder.open(memory.clone()).await?;
        fill(&vault, 0).await?;
        vault.close().await.map_err(ThesisError::real_time)?;
    }
    let meter = Meter::new(Link::new(memory, plan.link).precise());
    let reader = meter.reader();
    let vault = folder.open(meter).await?;
    Ok((folder, vault, reader))
}

async fn grow_under_load(plan: &Plan) -> Result<Growth, ThesisError> {
    let (old_folder, old, old_usage) = new_vault(plan, plan.blocks).await?;
    let mut client = Client {
        random: ChaCha8Rng::seed_from_u64(plan.seed),
        history: WriteHistory::new(plan.blocks),
        blocks: plan.blocks,
        lost: 0,
    };
    let (new_folder, new, new_usage) = new_vault(plan, 2 * plan.blocks).await?;
    let usage = || {
        let (old, new) = (old_usage.usage(), new_usage.usage());
        new.added_to(&old)
    };
    let start = usage();
    let before =
        client.serve("before", plan, async |calls| old.access(calls).await, |batch| batch == plan.batches);
    let before = before.await?;
    let before = Phase { usage: usage().since(&start), ..before };

    let start = usage();
    let (succession, mut copier) =
        MirroredVaults::new(old.clone(), new.clone()).await.map_err(ThesisError::real_time)?;
    let copying = tokio::spawn(async move {
        while !copier.step().await?.is_all() {}
        Ok::<_, VaultError>(())
    });
    let access = async |calls| succession.access_in(Flow(1), calls).await;
    let during = client.serve("while it grows", plan, access, |_| copying.is_finished());
    let during = during.await?;
    let during = Phase { usage: usage().since(&start), ..during };
    copying.await.map_err(ThesisError::real_time)?.map_err(ThesisError::real_time)?;
    settle(&old).await?;
    old.close().await.map_err(ThesisError::real_time)?;
    cut_over(old.header(), Vec::new(), &new).await.map_err(ThesisError::real_time)?;

    let start = usage();
    let after = client.serve(
        "afterwards",
        plan,
        async |calls| new.access(calls).await,
        |batch| batch == plan.batches,
    );
    let after = after.await?;
    let after = Phase { usage: usage().since(&start), ..after };
    // Blocks that came with the growth were never written.
    client.history.resize(2 * plan.blocks);
    let lost = client.lost
        + count_lost(&new, &mut client.history, &(0..2 * plan.blocks).collect::<Vec<_>>()).await?;
    new.close().await.map_err(ThesisError::real_time)?;
    drop((old_folder, new_folder));
    Ok(Growth { phases: [before, during, after], acknowledged: client.history.writes, lost })
}

/// A client that accesses random blocks in batches, and checks what it reads.
struct Client {
    random: ChaCha8Rng,
    history: WriteHistory,
    blocks: u64,
    lost: u64,
}

impl Client {
    async fn serve(
        &mut self,
        name: &'static str,
        plan: &Plan,
        access: impl AsyncFn(Vec<Call>) -> Result<Vec<Option<Bytes>>, VaultError>,
        is_over: impl Fn(u64) -> bool,
    ) -> Result<Phase, ThesisError> {
        let (begun, mut accesses, mut batches) = (Instant::now(), 0, 0);
        while !is_over(batches) {
            let mut blocks: Vec<u64> = (0..4).map(|_| self.random.next_u64() % self.blocks).collect();
            blocks.sort_unstable();
            blocks.dedup();
            let writes = self.random.next_u32().is_multiple_of(2);
            let call = |block: &u64| match writes {
                true => {
                    Call::Write(BlockId(*block), self.history.start_write(*block, plan.block_bytes as usize))
                }
                false => Call::Read(BlockId(*block)),
            };
            let calls = blocks.iter().map(call).collect();
            let answers = access(calls).await.map_err(ThesisError::real_time)?;
            for (block, found) in blocks.iter().zip(answers) {
                match found {
                    Some(found) => self.lost += u64::from(!self.history.accept_read(*block, &found)),
                    None => self.history.acknowledge(*block),
                }
            }
            accesses += blocks.len() as u64;
            batches += 1;
        }
        let duration = begun.elapsed();
        let response = duration.checked_div(batches as u32).unwrap_or_default();
        Ok(Phase { name, accesses, response, duration, usage: Usage::default() })
    }
}

/// Runs the experiment, and returns its section of the report.
pub(super) fn section(link: LinkSpeed, seed: u64) -> Result<Section, ThesisError> {
    let plan = Plan { blocks: 1024, block_bytes: 64 << 10, batches: 60, link, seed };
    let Growth { phases, acknowledged, lost } = growth(&plan)?;
    let mut section = Section::new("elasticity", "Elasticity: a vault grows under load (real time)");
    section.add_text(format!(
        "A vault of {} blocks of {} KiB by Ring ORAM grows to twice as many by a successor. Meanwhile a client asks for \
four blocks at a time without a pause. A separate link leads to each store.",
        plan.blocks,
        plan.block_bytes >> 10
    ));
    let header = ["", "accesses", "seconds", "response, ms", "slowdown", "requests", "MB"];
    let mut sheet = Sheet::new("growth", "", header);
    for phase in &phases {
        let Phase { name, accesses, response, duration, usage } = phase;
        sheet.rows.push(vec![
            (*name).to_owned(),
            accesses.to_string(),
            format!("{:.1}", duration.as_secs_f64()),
            format!("{:.0}", response.as_secs_f64() * 1000.0),
            format!("{:.2}", response.as_secs_f64() / phases[0].response.as_secs_f64()),
            usage.requests().to_string(),
            format!("{:.0}", (usage.bytes_up + usage.bytes_down) as f64 / 1_048_576.0),
        ]);
    }
    section.add_table(sheet);
    section.add_text(format!("{acknowledged} writes were acknowledged; {lost} were lost."));
    Ok(section)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_store::BitsPerSecond;

    #[test]
    fn a_vault_that_grows_goes_on_serving_and_loses_no_acknowledged_write() {
        let unlimited = BitsPerSecond(0);
        let link = LinkSpeed { round_trip: Duration::from_millis(1), up: unlimited, down: unlimited };
        let plan = Plan { blocks: 256, block_bytes: 512, batches: 20, link, seed: 1 };
        let growth = growth(&plan).unwrap();
        assert_eq!(growth.lost, 0);
        assert!(growth.acknowledged > 20);
        let during = growth.phases[1];
        assert!(during.accesses > 0, "it answers while it grows");
        let copied = plan.blocks * u64::from(plan.block_bytes);
        assert!(during.usage.bytes_up > copied, "every block is written to the successor");
    }
}
