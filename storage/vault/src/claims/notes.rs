//! The notes on the trusted disk of the claims that its openings have made, whether or not they reached the store.

use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use crate::trusted::disk::TrustedDisk;

const NAME: &str = "claims";
/// The noted claims with their epochs.
pub(crate) struct ClaimNotes(Vec<(u32, Vec<u8>)>);

impl ClaimNotes {
    /// Loads the notes of epochs above `known`. Earlier ones belong to openings that have written, and that are over.
    pub(super) fn load(disk: &TrustedDisk, known: u32) -> Result<Self, VaultError> {
        let damaged = |error: std::io::Error| VaultError::Damaged(ErrorReason::of(error));
        let mut noted: Vec<(u32, Vec<u8>)> = match disk.meta(NAME)? {
            Some(notes) => borsh::from_slice(&notes).map_err(damaged)?,
            None => Vec::new(),
        };
        noted.retain(|(epoch, _)| *epoch > known);
        Ok(ClaimNotes(noted))
    }

    /// Returns whether an opening of this trusted disk has made this claim, or was about to.
    pub(super) fn contains(&self, epoch: u32, claim: &[u8]) -> bool {
        self.0.iter().any(|(noted, bytes)| *noted == epoch && bytes == claim)
    }

    /// The note when no claim is noted: all openings in it are over.
    pub(crate) fn forgotten() -> (&'static str, Vec<u8>) {
        let none: Vec<(u32, Vec<u8>)> = Vec::new();
        (NAME, borsh::to_vec(&none).expect("a write to memory does not fail"))
    }

    /// Records a claim; it is durable when this returns.
    pub(super) fn add(&mut self, disk: &TrustedDisk, epoch: u32, claim: &[u8]) -> Result<(), VaultError> {
        self.0.push((epoch, claim.to_vec()));
        disk.set_meta(NAME, &borsh::to_vec(&self.0).expect("a write to memory does not fail"))
    }
}
