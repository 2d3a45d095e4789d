//! A new master key for a vault that is not open: the first half of a change of the key. After it, only the new key
//! opens the vault.
//!
//! It claims an epoch with the old key. This epoch is the last one of the old key, and it keeps other gateways out.
//! Then it seals everything on the trusted disk with the new key, in one step. It replaces the header in the store by
//! one that holds the old key, sealed with the new one. The [session](crate::session) does the rest while the vault is
//! served.

use crate::any_store::AnyStore;
use crate::claims::Claims;
use crate::engine::deferred_store::DeferredStore;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::open::fence::{ClaimedEpoch, fence};
use crate::open::header::{agree_on_header, read_header, read_header_with_ring};
use crate::open::persisted_state::{PersistedState, seal_journal};
use crate::open::setup::Setup;
use crate::open::state::State;
use crate::session::status::KeyChangeFigures;
use crate::store::VaultStore;
use crate::trusted::checkpoint_writer::{CheckpointInfo, TrustedState};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::header_exchange;
use crate::trusted::long_notes::{SENT_NOTE, STATE_NOTE};
use crate::trusted::payload_reader::PayloadReader;
use crate::trusted::rows::{Rows, seal_row};
use crate::trusted::seal_context::SealContext;
use crate::trusted::sent_payloads::SentPayloads;
use crate::trusted::sent_state::SentState;
use crate::trusted::state::Resealed;
use ameles_seal::epoch::Epoch;
use ameles_seal::key_ring::{EarlierKey, KeyRing};
use ameles_seal::master_key::MasterKey;
use ameles_seal::passphrase::PassphraseHeader;
use futures::future::LocalBoxFuture;
use std::rc::Rc;

/// The new key of a vault.
pub struct NewKey {
    /// The key.
    pub master: MasterKey,
    /// The derivation of the key from a passphrase, if there is one.
    pub passphrase: Option<PassphraseHeader>,
}

/// Changes the master key of a vault that is not open anywhere; `setup` has the current key. When this returns, the new
/// key opens the vault and its store, and the old one is refused. **The vault must be served afterwards**: while it is
/// open, the objects in the store are resealed. The old key, sealed with the new one, is needed until that is complete.
///
/// It may be cut off at any time. Until the trusted disk has changed, the vault has the old key, and from then on the
/// new one. In either case it can be repeated with the same keys.
///
/// # Errors
/// [`VaultError::KeyChanging`] while an earlier change is not complete, [`VaultError::Parameters`] if the key is the
/// same, and the errors of an opening.
pub async fn change_key<U: VaultStore>(setup: Setup<U>, new: NewKey) -> Result<(), VaultError> {
    change(setup.erase_store(), new).await
}

/// Changes the key. The future is boxed, so that the crates that poll it need not compile it.
fn change(setup: Setup<AnyStore>, new: NewKey) -> LocalBoxFuture<'static, Result<(), VaultError>> {
    Box::pin(change_unboxed(setup, new))
}

async fn change_unboxed(setup: Setup<AnyStore>, new: NewKey) -> Result<(), VaultError> {
    let Setup { disk, store, master, mut entropy, host, .. } = setup;
    if new.master == master {
        return Err(VaultError::Parameters("the new key is the one that the vault has".into()));
    }
    if let (Err(VaultError::WrongKey), Ok(_)) = (read_header(&disk, &master), read_header(&disk, &new.master))
    {
        // The last run was cut off after it had changed the disk.
        return agree_on_header(&disk, &store, &new.master).await;
    }
    let persisted = PersistedState::read(&disk, &store, &master).await?;
    if persisted.ring.earlier().is_some() {
        return Err(VaultError::KeyChanging);
    }
    let ClaimedEpoch { epoch: Epoch { number: until, .. }, lease_term, .. } =
        fence(&disk, &store, &persisted, &mut entropy, &host).await?;
    let (block, vault) = (persisted.header.parameters.block(), persisted.header.vault);
    let ring = KeyRing::from(&new.master);
    let resealed = reseal_disk(persisted, &disk, new, until, &mut entropy)?;
    disk.reseal(block, &resealed)?;
    header_exchange::complete(&disk, &store).await?;
    // This opening answers no request. But if the gateway before it may still answer, a takeover must wait for that
    // one.
    if lease_term.waits_until.is_none() {
        let claims = Claims { blobs: &store, ring, vault };
        if let Err(error) = claims.mark_end(until, entropy.salt()).await {
            tracing::warn!(%error, "cannot mark the end of this session in the store: a takeover will have to wait");
        }
    }
    Ok(())
}

/// Completes a change of the master key that was cut off after the trusted disk had changed; `setup` has the new key.
/// Does nothing if nothing is left to complete.
///
/// # Errors
/// [`VaultError::WrongKey`] if the vault does not have this key, and the errors of an opening.
pub async fn complete_change<U: VaultStore>(setup: &Setup<U>) -> Result<(), VaultError> {
    read_header(&setup.disk, &setup.master)?;
    agree_on_header(&setup.disk, &setup.store, &setup.master).await
}

/// The figures of a running change of the key, before its sweep has started. `None` if no change is running. Only a
/// served vault knows the progress of the sweep.
///
/// # Errors
/// The errors of [`read_header`].
pub fn change_under_way(
    disk: &TrustedDisk,
    master: &MasterKey,
) -> Result<Option<KeyChangeFigures>, VaultError> {
    let (header, ring) = read_header_with_ring(disk, master)?;
    let of = header.parameters.layout().buckets();
    Ok(ring.earlier().map(|_| KeyChangeFigures { passed: 0, of }))
}

/// Seals everything on the trusted disk with the new key. `until` is the last epoch of the old key.
fn reseal_disk(
    persisted: PersistedState,
    disk: &TrustedDisk,
    new: NewKey,
    until: u32,
    entropy: &mut Entropy,
) -> Result<Resealed, VaultError> {
    let PersistedState { header, ring, state, records, .. } = persisted;
    let old = ring.newest();
    let header = VaultHeader { passphrase: new.passphrase, ..header };
    let rows = Rows::open(disk.clone(), old.clone(), header.vault, header.parameters.rows_bytes)?;
    let unlogged = rows.reseal_unlogged(&new.master, || entropy.salt())?;
    let rows = rows.load()?;
    let rows = rows.iter().map(|row| seal_row(&new.master, header.vault, row, entropy.salt())).collect();

    let State { mut head, scheme, versions, garbage, mut writer } = state;
    let new_side = (disk, &header, &new.master);
    writer.directory.reseal((disk, &header), (old, &new.master), entropy)?;
    writer.force_full_checkpoint_keeping_payloads();
    let payload_reader = match writer.directory.entries().is_empty() {
        true => None,
        false => Some(PayloadReader::new(new_side, writer.directory.slot_map(), entropy)?),
    };
    let with = (Rc::new(DeferredStore::default()), head.seed);
    let scheme = State::resume(scheme, with, new_side, (&writer.directory, payload_reader.as_ref()))?;
    // The same state, as the next checkpoint: the journal continues from it.
    head.number += 1;
    let info = CheckpointInfo { head, since: 0, rewritten: Vec::new(), garbage: &garbage, in_store: None };
    let journal = seal_journal(&records, &header, &new.master, entropy, head.sequence)?;
    let seal = SealContext { header: &header, master: &new.master, entropy: &mut *entropy };
    let state =
        writer.build_checkpoint(&TrustedState { scheme: &*scheme, versions: &versions }, info, seal)?;

    // The next checkpoint sends everything. Until then the store's checkpoint needs the pieces that it names.
    let payloads = SentPayloads::load(disk, &header, old)?.without_payloads();
    let parts = SentState::load(disk, &header, old)?.outdated();
    let mut seal = SealContext { header: &header, master: &new.master, entropy: &mut *entropy };
    let notes = [(SENT_NOTE, seal.seal(&payloads, SENT_NOTE)?), (STATE_NOTE, seal.seal(&parts, STATE_NOTE)?)];

    let ring = KeyRing::new(new.master, Some(EarlierKey { key: old.clone(), last_epoch: until }));
    let encoded = header.encode(&ring, entropy.salt(), entropy.salt());
    let mut metas = Vec::from(header_exchange::begin_exchange(disk, encoded)?);
    metas.extend(notes);
    Ok(Resealed { state, journal, rows, unlogged, metas })
}
