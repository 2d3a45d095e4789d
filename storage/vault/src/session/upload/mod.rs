//! The upload of a checkpoint to the store, piece by piece: the words, rows and payloads that the store lacks, and some
//! that it was sent longest ago.
//!
//! An upload takes a while. It keeps the state of its checkpoint. Its rows and words are in memory, or are read from
//! snapshots if it sends all of them. The blocks of the stash are in their slots, which are not overwritten meanwhile.
//! Pieces are built and sealed on another thread, while accesses and checkpoints on the trusted disk continue. The
//! manifest is sent last. It turns the pieces into a checkpoint. Only when the trusted disk has noted that are the pieces
//! of older checkpoints removed: until then the next checkpoint may build on them.

mod steps;

use crate::error::VaultError;
use crate::trusted::checkpoint::{ShippedCheckpoint, blob_name, digest};
use crate::trusted::header::VaultHeader;
use crate::trusted::journal_point::JournalPoint;
use crate::trusted::payload_pieces::PayloadPieceWriter;
use crate::trusted::seal_context::context;
use crate::trusted::sent_state::SentCheckpoint;
use crate::trusted::shipped_piece_name::piece_name;
use crate::trusted::shipped_state::{Manifest, ShippedStateWriter};
use ameles_seal::blob;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::master_key::MasterKey;
use tokio::time::Instant;

/// A checkpoint that is being uploaded, with the object that is sent next.
pub(super) struct CheckpointUpload {
    writer: ShippedStateWriter,
    payloads: PayloadPieceWriter,
    /// The contents of the store when the checkpoint is there.
    sent: SentCheckpoint,
    /// The point at which a journal continues the state.
    from: JournalPoint,
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
    /// A piece, with its number.
    Piece(u64, Vec<u8>),
    Manifest(Vec<u8>),
}

/// A checkpoint that has reached the store.
pub(super) struct UploadedCheckpoint {
    shipped: ShippedCheckpoint,
    from: JournalPoint,
    sent: SentCheckpoint,
}

impl CheckpointUpload {
    /// Seals the next piece, or the manifest after the last one.
    fn seal_next(&mut self, header: &VaultHeader, master: &MasterKey, salt: Salt) -> Result<(), VaultError> {
        let cipher = header.parameters.cipher()?;
        let seal = |purpose, name: &str, text: &[u8]| {
            blob::seal(master, purpose, &context(header, name), cipher, salt, text)
        };
        let seal_piece = |piece: u64, text: &[u8]| {
            let sealed = seal(Purpose::CHECKPOINT, &piece_name(self.epoch, self.number, piece), text);
            (digest(&sealed), Object::Piece(piece, sealed))
        };
        let SentCheckpoint { payloads, state } = &mut self.sent;
        let of_state = state.newest_mut().expect("a shipment has a part of its own");
        let of_payloads = payloads.newest_mut().expect("a shipment has a set of its own");
        let piece = (of_state.pieces.len() + of_payloads.pieces.len()) as u64;
        self.next = if let Some(text) = self.writer.next_piece()? {
            let (digest, object) = seal_piece(piece, &text);
            of_state.pieces.push(digest);
            object
        } else if let Some(text) = self.payloads.next_piece()? {
            let (digest, object) = seal_piece(piece, &text);
            of_payloads.first = of_state.pieces.len() as u64;
            of_payloads.pieces.push(digest);
            object
        } else {
            let has_origins = header.parameters.uses_origins();
            let manifest = Manifest { parts: state.parts.clone(), sets: payloads.sets.clone(), has_origins };
            let text = manifest.encode(&self.from);
            Object::Manifest(seal(Purpose::MANIFEST, &blob_name(self.epoch, self.number), &text))
        };
        Ok(())
    }
}
