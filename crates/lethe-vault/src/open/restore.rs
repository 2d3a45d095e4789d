//! The restore after a lost machine: the vault comes back from the store and the key.
//!
//! Positions that were in use when the machine was lost may have been read under since the last shipped checkpoint.
//! So nothing is read by them again: the buckets of the checkpoint are fetched in the order of their numbers, a scheme
//! over that local copy gives up the blocks one after the other, and each is written into a new, empty scheme, which
//! draws every position anew. The watcher sees one scan and then `capacity` accesses, whatever the vault holds.

use super::create::lay_down;
use super::header::{raw_header, raw_header_of_store};
use super::inventory::{refuse_planted, take_inventory};
use super::setup::Setup;
use super::{recovery, restoring};
use crate::claims::Claims;
use crate::engine::Engine;
use crate::engine::gate::Gate;
use crate::engine::record::Call;
use crate::engine::record::Input;
use crate::engine::work::carry_out;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::lease::LEASE;
use crate::reason::Reason;
use crate::session::check::check;
use crate::store::{SHIPPED, VaultStore};
use crate::trusted::checkpoint::{Receipt, Shipped, ShippedCheckpoint, blob_name, blob_order, digest};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::row::{Row, RowChange};
use crate::trusted::rows::Rows;
use crate::vault::Vault;
use bytes::Bytes;
use lethe_core::store::Untrusted;
use lethe_core::words::BlockId;
use lethe_seal::blob;
use lethe_seal::derive::Purpose;
use lethe_seal::epoch::Epoch;
use lethe_seal::master_key::MasterKey;
use lethe_seal::parallel::Workers;
use lethe_seal::sealed::Sealed;
use lethe_seal::versions::TrustedVersions;
use std::rc::Rc;
use tokio::time::{Instant, sleep_until};

/// The options of a restore.
pub struct Restore<L> {
    /// A local, empty store with the vault's layout, for the copy of the buckets; to be thrown away afterwards.
    pub copy: L,
    /// The receipt that the owner kept: the restored state must be this one or a later one.
    pub expect: Option<Receipt>,
    /// True if a gateway that has the vault open may be displaced.
    pub takeover: bool,
    /// A function that is told the stage, and how much of how much is done.
    pub progress: Box<dyn Fn(&'static str, u64, u64)>,
}

/// Brings a vault back from its store into an empty trusted disk, and returns the receipt of what was restored.
/// Afterwards it can be opened as any other. Writes since the last shipped checkpoint are gone.
///
/// # Errors
/// [`VaultError::AlreadyThere`], [`VaultError::TakeoverNeeded`], [`VaultError::NoCheckpoint`],
/// [`VaultError::Receipt`], [`VaultError::WrongKey`], tampering, and those of disk and store.
pub async fn restore<U: VaultStore, L: Untrusted + 'static>(
    mut setup: Setup<U>,
    options: Restore<L>,
) -> Result<Receipt, VaultError> {
    if raw_header(&setup.disk).is_ok() && !restoring::is_unfinished(&setup.disk)? {
        return Err(VaultError::AlreadyThere("the trusted folder"));
    }
    let encoded = raw_header_of_store(&setup.store).await?;
    let header = VaultHeader::decode(&encoded, &setup.master)?;
    let (receipt, shipped) = choose_checkpoint(&setup, &header, options.expect.as_ref()).await?;

    let (next, serves_from) = take_over(&mut setup, &header, shipped.epoch, options.takeover).await?;
    fetch_buckets(&setup.store, &options, &shipped.versions).await?;
    let ShippedCheckpoint { number, accesses, scheme, versions, rows, history, .. } = shipped;
    let old =
        Old::over(&options.copy, &header, &setup.master, scheme, versions, accesses, &mut setup.entropy)?;
    old.verify().await?;

    let base = Epoch { number: next, salt: setup.entropy.salt() };
    let fresh = versions_after(&setup.store, &header, &setup.master, base)?;
    lay_down(&mut setup, &header, &encoded, number, fresh)?;
    bring_back_rows(&setup, &header, rows)?;
    remember(&setup.disk, &receipt, history)?;
    let disk = setup.disk.clone();
    let (vault, running) = Vault::over(recovery::open_during_restore(setup).await?);
    // It owns the vault: the session ends when it does, whether or not it succeeds.
    let moving = async move {
        let restored = rewrite(&vault, old, &*options.progress).await?;
        if let Some(from) = serves_from {
            (options.progress)("waiting until the old gateway has stopped answering", 0, 1);
            sleep_until(from).await;
        }
        restoring::complete(&disk)?;
        vault.close().await?;
        Ok(restored)
    };
    let (moved, ()) = futures::join!(moving, running);
    moved
}

/// Claims an epoch after the last one that was claimed. Returns it, and the moment before which nothing may be served,
/// unless the gateway of the last one has stopped in order.
async fn take_over<U: VaultStore>(
    setup: &mut Setup<U>,
    header: &VaultHeader,
    shipped_in: u32,
    may_displace: bool,
) -> Result<(u32, Option<Instant>), VaultError> {
    let claims = Claims { blobs: &setup.store, master: &setup.master, vault: header.vault };
    // The gateway that shipped the checkpoint had claimed its epoch.
    let claimed = claims.newest(shipped_in).await?;
    refuse_planted(&take_inventory(&setup.store).await?, &claims, claimed).await?;
    if claimed > 0 && !may_displace {
        return Err(VaultError::TakeoverNeeded(claimed));
    }
    // From here on the old gateway cannot ship or delete any more.
    restoring::begin(&setup.disk)?;
    let has_ended = claims.has_ended(claimed).await?;
    let next = claims.claim(&setup.disk, (shipped_in, claimed), &mut setup.entropy).await?;
    Ok((next, (!has_ended).then(|| Instant::now() + LEASE)))
}

/// Notes the receipt of what is restored, and those before it: they are still recognised afterwards.
fn remember(
    disk: &TrustedDisk,
    receipt: &Receipt,
    mut history: Vec<(u64, [u8; 32])>,
) -> Result<(), VaultError> {
    let Receipt { epoch, checkpoint: number, digest, .. } = *receipt;
    history.push((number, digest));
    let known = Shipped { number, epoch, newest: (0, 0), digest };
    let note = borsh::to_vec(&(known, history)).map_err(|error| VaultError::Damaged(Reason::of(error)))?;
    disk.set_meta(SHIPPED, &note)
}

/// Writes every block of the old vault into the new one, and ships the result.
async fn rewrite<L: Untrusted>(
    vault: &Vault,
    mut old: Old<'_, L>,
    progress: &dyn Fn(&'static str, u64, u64),
) -> Result<Receipt, VaultError> {
    let (capacity, batch) = (vault.capacity(), vault.max_batch() as u64);
    for first in (0..capacity).step_by(batch as usize) {
        let blocks: Vec<BlockId> = (first..capacity.min(first + batch)).map(BlockId).collect();
        let payloads = old.read(&blocks).await?;
        let writes = blocks.into_iter().zip(payloads).map(|(at, payload)| Call::Write(at, payload));
        vault.access(writes.collect()).await?;
        progress("rewriting", capacity.min(first + batch), capacity);
    }
    // The first checkpoint that is shipped: from now on the old buckets are orphans.
    vault.checkpoint().await
}

/// Chooses the newest checkpoint in the store. An object that bears the name of a newer one and does not open was
/// planted, or is a spoilt checkpoint: it is passed over only for the sake of a receipt, which tells that nothing is
/// missing.
async fn choose_checkpoint<U: VaultStore>(
    setup: &Setup<U>,
    header: &VaultHeader,
    expect: Option<&Receipt>,
) -> Result<(Receipt, ShippedCheckpoint), VaultError> {
    let names = setup.store.list("checkpoint/").await?;
    let mut orders: Vec<(u32, u64)> = names.iter().filter_map(|blob| blob_order(&blob.name)).collect();
    orders.sort_unstable();
    let mut refused = None;
    for (epoch, number) in orders.into_iter().rev() {
        let chosen = match fetch_checkpoint(&setup.store, header, &setup.master, epoch, number).await {
            Ok((receipt, shipped)) => {
                verify_receipt(header, &receipt, &shipped, expect).map(|()| (receipt, shipped))
            }
            Err(error) => Err(error),
        };
        match chosen {
            Ok(chosen) => return Ok(chosen),
            Err(error) if error.is_tampering() && expect.is_some() => {
                tracing::warn!(%error, "passed over: an older checkpoint may be the receipt's");
                refused.get_or_insert(error);
            }
            Err(error) => return Err(refused.unwrap_or(error)),
        }
    }
    Err(refused.unwrap_or(VaultError::NoCheckpoint))
}

/// The meaning of a newest checkpoint that does not open.
const SPOILT: &str = "it was planted, or it is the newest and was spoilt; with --expect RECEIPT an older one is restored \
    that the receipt vouches for";

async fn fetch_checkpoint<U: VaultStore>(
    store: &U,
    header: &VaultHeader,
    master: &MasterKey,
    epoch: u32,
    number: u64,
) -> Result<(Receipt, ShippedCheckpoint), VaultError> {
    let name = blob_name(epoch, number);
    let most = ShippedCheckpoint::most_sealed_bytes(&header.parameters);
    let vanished = || VaultError::Tampered(format!("{name} is listed by the store and not there").into());
    let sealed = store.get(&name, most).await?.ok_or_else(vanished)?;
    let context = [header.vault.0.as_slice(), name.as_bytes()].concat();
    let text = blob::open(master, Purpose::CHECKPOINT, &context, &sealed).map_err(|error| {
        let why = Reason::of(error).about(format_args!("{name} in the store"));
        VaultError::Tampered(why.followed_by(SPOILT))
    })?;
    let shipped = ShippedCheckpoint::decode(&text)
        .ok_or_else(|| VaultError::Tampered("the checkpoint in the store is not one".into()))?;
    let receipt =
        Receipt { vault: header.vault, epoch: shipped.epoch, checkpoint: number, digest: digest(&sealed) };
    Ok((receipt, shipped))
}

/// Verifies that the restored state is the receipt's own, or one that came after it.
fn verify_receipt(
    header: &VaultHeader,
    found: &Receipt,
    shipped: &ShippedCheckpoint,
    expect: Option<&Receipt>,
) -> Result<(), VaultError> {
    // Without a receipt, an older consistent state cannot be told from the newest: for the caller to say.
    let Some(expect) = expect else { return Ok(()) };
    if expect.vault != header.vault {
        return Err(VaultError::Receipt("it belongs to another vault".into()));
    }
    let is_found = expect.checkpoint == found.checkpoint && expect.digest == found.digest;
    if is_found || shipped.history.contains(&(expect.checkpoint, expect.digest)) {
        return Ok(());
    }
    if expect.checkpoint == found.checkpoint {
        return Err(VaultError::Receipt(format!(
            "checkpoint {} in the store is another than the receipt's of the same number: the store was rolled back \
             or the receipt is mistyped",
            found.checkpoint
        )));
    }
    Err(VaultError::Receipt(format!(
        "the newest checkpoint in the store is number {} and does not come after number {} of the receipt, as far \
         as it remembers: the store was rolled back, or the receipt is older than the last 256",
        found.checkpoint, expect.checkpoint
    )))
}

/// Copies the buckets of the checkpoint, in the order of their numbers.
async fn fetch_buckets<U: VaultStore, L: Untrusted>(
    store: &U,
    options: &Restore<L>,
    versions: &TrustedVersions,
) -> Result<(), VaultError> {
    let live: Vec<_> = versions.live().collect();
    for (nth, bucket) in live.iter().enumerate() {
        let slots = 0..store.layout().extent(bucket.bucket).slots;
        let place = |index| lethe_core::store::Place {
            slot: lethe_core::words::Slot { bucket: bucket.bucket, index },
            version: bucket.version,
        };
        let mut sealed = vec![0; store.layout().bucket_bytes(bucket.bucket)];
        Untrusted::read(store, &slots.map(place).collect::<Vec<_>>(), &mut sealed).await?;
        Untrusted::write(&options.copy, &[*bucket], &sealed).await?;
        (options.progress)("fetching", nth as u64 + 1, live.len() as u64);
    }
    Ok(())
}

/// An empty version table whose newest epoch is `base`.
fn versions_after<U: VaultStore>(
    store: &U,
    header: &VaultHeader,
    master: &MasterKey,
    base: Epoch,
) -> Result<TrustedVersions, VaultError> {
    let empty = TrustedVersions::new(header.vault, header.parameters.layout().buckets());
    let (cipher, nonces) = (header.parameters.cipher()?, Entropy::system().nonces(header.parameters.slots));
    let sealed = Sealed::new(store, master, cipher, nonces, empty, Workers::single())?;
    sealed.replay_epoch(base)?;
    Ok(sealed.snapshot())
}

fn bring_back_rows<U>(setup: &Setup<U>, header: &VaultHeader, rows: Vec<Row>) -> Result<(), VaultError> {
    let table =
        Rows::open(setup.disk.clone(), setup.master.clone(), header.vault, header.parameters.rows_bytes)?;
    let mut entropy = Entropy::system();
    // Left from an earlier attempt.
    let stale = table.load()?.into_iter().map(|row| RowChange::remove(row.key));
    let changes = stale.chain(rows.into_iter().map(RowChange::from)).collect();
    table.commit(changes, || entropy.salt())
}

/// The old vault, over the local copy.
struct Old<'a, L> {
    engine: Engine<&'a L>,
}

impl<'a, L: Untrusted> Old<'a, L> {
    fn over(
        copy: &'a L,
        header: &VaultHeader,
        master: &MasterKey,
        scheme: crate::engine::scheme::SchemeSnapshot,
        versions: TrustedVersions,
        accesses: u64,
        entropy: &mut Entropy,
    ) -> Result<Self, VaultError> {
        let gate = Rc::new(Gate::default());
        let damaged = || VaultError::Tampered("the checkpoint in the store contradicts itself".into());
        let scheme = scheme.restore(gate.clone(), entropy.seed()).ok_or_else(damaged)?;
        let (cipher, nonces) = (header.parameters.cipher()?, entropy.nonces(header.parameters.slots));
        let sealed = Sealed::new(copy, master, cipher, nonces, versions, Workers::single())?;
        sealed.begin_epoch(entropy.salt())?;
        let mut engine = Engine::new(Rc::new(sealed), scheme, gate, accesses);
        engine.go_live();
        Ok(Old { engine })
    }

    /// Authenticates every slot of the copy, dummies included, before anything is built on it.
    async fn verify(&self) -> Result<(), VaultError> {
        let report = check(&self.engine.sealed, Box::new(|_, _| {})).await?;
        report.complaints.into_iter().next().map_or(Ok(()), |wrong| Err(VaultError::Tampered(wrong.into())))
    }

    /// Reads blocks through the old scheme; only the local copy sees it.
    async fn read(&mut self, blocks: &[BlockId]) -> Result<Vec<Bytes>, VaultError> {
        while self.engine.scheme.must_idle() {
            self.run(Input::Idle).await?;
        }
        self.run(Input::Batch(blocks.iter().map(|block| Call::Read(*block)).collect())).await?;
        let answers = self.engine.take_answers().ok_or(VaultError::Closed)??;
        Ok(answers.into_iter().flatten().collect())
    }

    async fn run(&mut self, input: Input) -> Result<(), VaultError> {
        let mut todo = self.engine.step(input, Vec::new())?.work;
        while let Some((operation, work)) = todo.pop() {
            let answer = carry_out(&self.engine.sealed, work).await?;
            todo.extend(self.engine.step(Input::Complete(operation), answer)?.work);
        }
        self.engine.take_superseded();
        Ok(())
    }
}
