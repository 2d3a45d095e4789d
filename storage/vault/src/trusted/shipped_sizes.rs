//! The sizes of checkpoints in the store, and how often they are shipped. All of them follow from the parameters and the
//! number of accesses.

use super::header::{JournalPlace, PIECE_BYTES, VaultParameters};

/// The bytes of blocks between two shipped checkpoints, if the rest of a checkpoint is small.
const SHIP_EVERY_BYTES: u64 = 64 << 20;

/// The objects of a shipped checkpoint and their plaintext, but for the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShippedSize {
    /// The number of pieces.
    pub pieces: u64,
    /// The number of bytes in these pieces.
    pub bytes: u64,
    /// The number of bytes of the manifest, after many checkpoints with this number of accesses between them.
    pub manifest: u64,
}

impl VaultParameters {
    /// The number of checkpoints on the trusted disk for each shipped one. With the journal on the trusted disk, a lost
    /// machine loses what came after the shipped one. With the journal in the store it loses nothing, and a checkpoint
    /// that sends the whole stash adds a quarter of a block to each access.
    pub(super) fn planned_ship_every(&self) -> u64 {
        let block = u64::from(self.scheme.block_bytes()).max(1);
        let seldom = 4 * self.shipped_bytes().div_ceil(block);
        let accesses = match self.journal {
            JournalPlace::Disk => {
                (SHIP_EVERY_BYTES / block).max(4 * self.state_bytes().div_ceil(block)).min(seldom)
            }
            JournalPlace::Store => seldom,
        };
        accesses.div_ceil(self.checkpoint_every).max(1)
    }

    /// The number of plaintext bytes of a shipped state without payloads. They follow from the parameters alone.
    pub(crate) fn state_bytes(&self) -> u64 {
        // The rest is small and of fixed size: parameters, epochs, receipts.
        self.scheme.map_bytes() + 4 * self.scheme.stash_bound() + self.rows_bytes + (64 << 10)
    }

    /// Returns the maximum number of plaintext bytes of a shipped checkpoint: that of one that sends the whole stash.
    pub fn shipped_bytes(&self) -> u64 {
        self.state_bytes() + self.scheme.stash_bound() * self.place_bytes()
    }

    /// Returns the size of a checkpoint that is shipped this many accesses after the last one.
    pub fn shipped_size(&self, accesses: u64) -> ShippedSize {
        let places = self.payload_places(accesses);
        let of_state = self.state_bytes().div_ceil(PIECE_BYTES as u64);
        let of_payloads = places.all.div_ceil(self.places_in_piece());
        let sets = self.scheme.stash_bound().div_ceil(places.again.max(1)).max(1);
        ShippedSize {
            pieces: of_state + of_payloads,
            bytes: self.state_bytes() + places.all * self.place_bytes(),
            manifest: 8 + 32 * of_state + sets * (32 + 32 * of_payloads),
        }
    }

    /// Returns the number of accesses between two shipped checkpoints. A lost machine loses at most these, those during
    /// an upload, and a quarter of `checkpoint_every` if a checkpoint was late.
    pub fn recovery_point(&self) -> u64 {
        self.checkpoint_every * self.ship_every
    }

    /// The maximum number of bytes in the store: buckets, the versions of them that a restore or a recovery may need,
    /// two checkpoints, the payloads that earlier ones have sent, and the journal if it is there, with batches of one
    /// access. It counts expected evictions; chance changes it by a few per cent.
    pub fn stored_bytes(&self) -> u64 {
        let buckets = self.layout().bytes().0;
        let block = f64::from(self.scheme.block_bytes());
        let written = |accesses: u64| (accesses as f64 * self.scheme.bytes_written_per_byte() * block) as u64;
        let for_restore = written(self.recovery_point()).min(buckets);
        let for_recovery = written(2 * self.latest_checkpoint());
        let journal = match self.journal {
            JournalPlace::Disk => 0,
            // Log objects are deleted after a checkpoint has been shipped. Another one may be due before.
            JournalPlace::Store => 2 * self.recovery_point() * self.journal_object_bytes(1),
        };
        let payloads = self.kept_places() * self.place_bytes();
        let checkpoints = 2 * self.shipped_size(self.recovery_point()).bytes + payloads;
        buckets + for_restore + for_recovery + checkpoints + journal
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::scheme::SchemeParameters;
    use ameles_core::schemes::ring::RingParameters;

    /// A vault as `ameles init` plans it.
    fn default_vault(gib: u64) -> VaultParameters {
        let blocks = gib << 14;
        let ring = RingParameters::for_capacity(blocks, 64 << 10, blocks / 16, 16);
        VaultParameters::with_defaults(SchemeParameters::Ring(ring))
    }

    #[test]
    #[allow(clippy::print_stdout, reason = "these are the figures of decision 0068")]
    fn a_checkpoint_sends_little_of_a_large_stash() {
        for gib in [1, 8, 100] {
            let parameters = default_vault(gib);
            let (whole, point) = (parameters.shipped_bytes(), parameters.recovery_point());
            let (first, later) = (parameters.shipped_size(16), parameters.shipped_size(point));
            let block = u64::from(parameters.scheme.block_bytes());
            let an_access = later.bytes as f64 / (point * block) as f64;
            println!(
                "{gib} GiB: whole {} MiB, after 16 accesses {} MiB; one every {point} accesses, {} MiB of blocks, sends {} MiB: \
                 {an_access:.2} blocks an access; at rest {} GiB",
                whole >> 20,
                first.bytes >> 20,
                (point * block) >> 20,
                later.bytes >> 20,
                parameters.stored_bytes() >> 30
            );
            assert!(gib == 1 || 5 * first.bytes < whole, "{first:?} of {whole}");
            assert!(point * block < gib << 25 | 128 << 20, "{point} accesses");
            assert!(an_access < 2.75, "{an_access} blocks");
            let logged = parameters.with_journal(JournalPlace::Store);
            let later = logged.shipped_size(logged.recovery_point());
            assert!(later.bytes <= whole && later.bytes < (logged.recovery_point() * block) / 3);
        }
    }
}
