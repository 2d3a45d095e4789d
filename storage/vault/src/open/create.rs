//! The creation of a vault, with an empty state.

use super::setup::Setup;
use crate::entropy::Entropy;
use crate::error::{ExistsIn, VaultError};
use crate::store::{HEADER, MAX_HEADER_BYTES, VaultStore};
use crate::trusted::checkpoint_writer::CheckpointWrite;
use crate::trusted::header::{VaultHeader, VaultParameters};
use crate::trusted::seal_context::SealContext;
use crate::trusted::summary::{CheckpointHead, Summary};
use ameles_seal::passphrase::PassphraseHeader;
use ameles_seal::versions::{TrustedVersions, VaultId};
use std::rc::Rc;

/// Draws the identity of a new vault and builds its header.
pub fn draw_header(
    entropy: &mut Entropy,
    parameters: VaultParameters,
    passphrase: Option<PassphraseHeader>,
) -> VaultHeader {
    VaultHeader { vault: VaultId::draw(entropy.source()), parameters, passphrase }
}

/// Creates an empty vault. Only the vault's header is written to the store, for a vault of any size.
///
/// # Errors
/// [`VaultError::AlreadyExists`] if the disk or the store holds a vault; the errors of disk and store.
pub(crate) async fn create<U: VaultStore>(
    setup: &mut Setup<U>,
    header: &VaultHeader,
) -> Result<(), VaultError> {
    header.parameters.validate()?;
    if setup.disk.meta(HEADER)?.is_some() {
        return Err(VaultError::AlreadyExists(ExistsIn::TrustedFolder));
    }
    if setup.store.get(HEADER, MAX_HEADER_BYTES).await?.is_some() {
        return Err(VaultError::AlreadyExists(ExistsIn::Store));
    }
    let encoded = header.encode(&setup.master, setup.entropy.salt(), setup.entropy.salt());
    let versions = TrustedVersions::new(header.vault, header.parameters.layout().buckets());
    write_initial_state(setup, header, &encoded, 0, versions)?;
    // If a crash comes before this, opening the vault puts the header into the store.
    if !setup.store.put_if_absent(HEADER, &encoded).await? {
        return Err(VaultError::AlreadyExists(ExistsIn::Store));
    }
    Ok(())
}

/// Writes an empty state to the trusted disk, as checkpoint `number`, with these versions.
pub(crate) fn write_initial_state<U: VaultStore>(
    setup: &mut Setup<U>,
    header: &VaultHeader,
    encoded: &[u8],
    number: u64,
    versions: TrustedVersions,
) -> Result<(), VaultError> {
    let seed = setup.entropy.seed();
    let scheme = header.parameters.scheme.start(Rc::default(), seed)?;
    let summary = Summary {
        head: CheckpointHead { number, sequence: 0, accesses: 0, seed },
        rest: scheme.rest(),
        versions: versions.head(),
        slots: 0,
        keys: Vec::new(),
        oldest: number,
        next_piece: 0,
    };
    let seal = SealContext { header, master: &setup.master, entropy: &mut setup.entropy };
    setup.disk.commit_state(header.parameters.block(), &CheckpointWrite::first(&summary, seal)?)?;
    setup.disk.set_meta(HEADER, encoded)
}
