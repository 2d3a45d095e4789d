//! The upload of a checkpoint to the store, piece by piece, with all rows.
//!
//! An upload takes a while. It keeps the state of its checkpoint. The rows are in memory. The blocks of the stash are
//! in their slots, which are not overwritten meanwhile. Words that change before they are sent are kept. Pieces are
//! built and sealed on another thread, while accesses and checkpoints on the trusted disk continue. The manifest is
//! sent last. It turns the pieces into a checkpoint.

mod steps;

use crate::error::VaultError;
use crate::trusted::checkpoint::{blob_name, digest};
use crate::trusted::header::VaultHeader;
use crate::trusted::position::Position;
use crate::trusted::seal_context::context;
use crate::trusted::shipped_state::{Manifest, ShippedStateWriter, piece_name};
use ameles_seal::blob;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::master_key::MasterKey;
use tokio::time::Instant;

/// A checkpoint that is being uploaded, with the object that is sent next.
pub(super) struct CheckpointUpload {
    writer: ShippedStateWriter,
    manifest: Manifest,
    /// The first object of the journal in the store that the state does not hold, if there is such a journal.
    from: Option<Position>,
    /// The next object, sealed.
    next: Object,
    number: u64,
    epoch: u32,
    newest: (u32, u64),
    /// The time at which the work on that object started.
    began: Instant,
}

/// A sealed object of an upload.
enum Object {
    Piece(Vec<u8>),
    Manifest(Vec<u8>),
}

impl CheckpointUpload {
    /// Seals the next piece, or the manifest after the last one.
    fn seal_next(&mut self, header: &VaultHeader, master: &MasterKey, salt: Salt) -> Result<(), VaultError> {
        let cipher = header.parameters.cipher()?;
        let seal = |purpose, name: &str, text: &[u8]| {
            blob::seal(master, purpose, &context(header, name), cipher, salt, text)
        };
        self.next = match self.writer.next_piece()? {
            Some(text) => {
                let name = piece_name(self.epoch, self.number, self.manifest.pieces.len() as u64);
                let sealed = seal(Purpose::CHECKPOINT, &name, &text);
                self.manifest.pieces.push(digest(&sealed));
                Object::Piece(sealed)
            }
            None => {
                let text = self.manifest.encode(self.from);
                Object::Manifest(seal(Purpose::MANIFEST, &blob_name(self.epoch, self.number), &text))
            }
        };
        Ok(())
    }
}
