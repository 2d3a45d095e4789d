//! The sizes of checkpoints in the store, and how often they are shipped. All of them follow from the parameters and
//! the number of accesses.

use super::header::{JournalPlace, PIECE_BYTES, VaultParameters};
use super::shipped_state::PartRoom;
use super::table_shares::TableShare;

/// The bytes of blocks between two shipped checkpoints.
const SHIP_EVERY_BYTES: u64 = 64 << 20;
/// The room for the head of a state part. The rest of the state is small and of fixed size: parameters, epochs,
/// receipts.
const HEAD_BYTES: u64 = 64 << 10;

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
    /// machine loses what came after the shipped one. With announcements in the store, a restore repeats it. With only
    /// payloads in the store neither matters, and a checkpoint that sends everything adds a quarter of a block to each
    /// access.
    pub(super) fn planned_ship_every(&self) -> u64 {
        let block = u64::from(self.scheme.block_bytes()).max(1);
        let seldom = 4 * self.shipped_bytes().div_ceil(block);
        let accesses = match self.journal {
            JournalPlace::Disk | JournalPlace::StoreFirst | JournalPlace::Standby | JournalPlace::Etcd => {
                (SHIP_EVERY_BYTES / block).min(seldom)
            }
            JournalPlace::Store => seldom,
        };
        accesses.div_ceil(self.checkpoint_every).max(1)
    }

    /// The room in a state part with these shares of words and rows.
    pub(crate) fn part_room(&self, words: TableShare, rows: TableShare) -> PartRoom {
        let order = 4 * self.scheme.stash_bound();
        PartRoom { head: self.head_bytes(), words: words.bytes(), order, rows: rows.bytes() }
    }

    fn head_bytes(&self) -> u64 {
        HEAD_BYTES + self.scheme.rest_bytes()
    }

    /// The number of plaintext bytes of the state part of a checkpoint this many accesses after the last one.
    fn part_bytes(&self, accesses: u64) -> u64 {
        self.part_room(self.words_share(accesses), self.rows_share(accesses)).bytes()
    }

    /// The number of plaintext bytes of a state part with all words and rows. They follow from the parameters alone.
    pub(crate) fn state_bytes(&self) -> u64 {
        self.head_bytes() + 4 * self.words() + 4 * self.scheme.stash_bound() + self.rows_bytes
    }

    /// Returns the maximum number of plaintext bytes of a shipped checkpoint: that of one that sends everything.
    pub fn shipped_bytes(&self) -> u64 {
        self.state_bytes() + self.scheme.stash_bound() * self.place_bytes()
    }

    /// Returns the size of a checkpoint that is shipped this many accesses after the last one.
    pub fn shipped_size(&self, accesses: u64) -> ShippedSize {
        self.size_with(accesses, self.part_bytes(accesses))
    }

    /// Does the same for a checkpoint that sends all rows, because more have changed than there is room for.
    pub fn shipped_size_with_all_rows(&self, accesses: u64) -> ShippedSize {
        let rows = self.rows_share(accesses).whole();
        self.size_with(accesses, self.part_room(self.words_share(accesses), rows).bytes())
    }

    fn size_with(&self, accesses: u64, part_bytes: u64) -> ShippedSize {
        let places = self.payload_places(accesses);
        let of_state = part_bytes.div_ceil(PIECE_BYTES as u64);
        let of_payloads = places.all.div_ceil(self.places_in_piece());
        let sets = self.kept_sets(accesses);
        let kept = self.kept_parts(accesses);
        ShippedSize {
            pieces: of_state + of_payloads,
            bytes: part_bytes + places.all * self.place_bytes(),
            manifest: 8 + kept * (16 + 32 * of_state) + sets * (32 + 32 * of_payloads),
        }
    }

    /// The maximum number of state parts that the store keeps for a checkpoint, with this number of accesses between
    /// them: those of two turns.
    fn kept_parts(&self, accesses: u64) -> u64 {
        let (words, rows) = (self.words_share(accesses), self.rows_share(accesses));
        let turns = [words, rows].map(|share| share.all.div_ceil(share.turn.max(1)));
        let turn = turns.into_iter().max().unwrap_or(1).max(1);
        if turn == 1 { 1 } else { 2 * turn }
    }

    /// Returns the number of accesses between two shipped checkpoints. A lost machine loses at most these, those during
    /// an upload, and a quarter of `checkpoint_every` if a checkpoint was late.
    pub fn recovery_point(&self) -> u64 {
        self.checkpoint_every * self.ship_every
    }

    /// The maximum number of bytes in the store. It includes buckets, with the versions that a restore or a recovery
    /// may need, and two checkpoints, with the parts and payloads that earlier checkpoints have sent. It also includes
    /// the journal, with batches of one access, if the journal is in the store. It counts expected evictions; chance
    /// changes it by a few per cent. Parts are smallest, and so needed for longest, if few accesses come between
    /// checkpoints.
    pub fn stored_bytes(&self) -> u64 {
        let buckets = self.layout().bytes().0;
        let block = f64::from(self.scheme.block_bytes());
        let written = |accesses: u64| (accesses as f64 * self.scheme.bytes_written_per_byte() * block) as u64;
        // What a standby needs goes one checkpoint later.
        let points = 1 + u64::from(self.journal.has_heartbeats());
        let for_restore = written(points * self.recovery_point()).min(points * buckets);
        let for_recovery = written(2 * self.latest_checkpoint());
        let journal = match self.journal {
            JournalPlace::Disk => 0,
            // Log objects are deleted after a checkpoint has been shipped. Another one may be due before.
            JournalPlace::Store | JournalPlace::StoreFirst | JournalPlace::Standby | JournalPlace::Etcd => {
                (1 + points) * self.recovery_point() * self.journal_object_bytes(1)
            }
        };
        let payloads = self.kept_places() * self.place_bytes();
        let parts =
            [0, self.recovery_point()].map(|accesses| self.kept_parts(accesses) * self.part_bytes(accesses));
        let parts = parts.into_iter().max().unwrap_or_default();
        let checkpoints = 2 * self.shipped_size(self.recovery_point()).bytes + parts + payloads;
        buckets + for_restore + for_recovery + checkpoints + journal
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::scheme::{SchemeParameters, with_default_slices};
    use ameles_core::schemes::ring::RingParameters;

    /// A vault as `ameles init` plans it.
    fn default_vault(gib: u64) -> VaultParameters {
        let blocks = gib << 14;
        let ring = RingParameters::for_capacity(blocks, 64 << 10, blocks / 16, 16);
        let ring = with_default_slices(ring);
        VaultParameters::with_defaults(SchemeParameters::Ring(ring))
    }

    #[test]
    #[allow(clippy::print_stdout, reason = "these are the figures of decisions 0069 and 0070")]
    fn a_checkpoint_sends_little_of_a_large_stash() {
        for gib in [1, 8, 100] {
            let parameters = default_vault(gib);
            let (whole, point) = (parameters.shipped_bytes(), parameters.recovery_point());
            let (first, later) = (parameters.shipped_size(16), parameters.shipped_size(point));
            let block = u64::from(parameters.scheme.block_bytes());
            let blocks_an_access = |bytes: u64| bytes as f64 / (point * block) as f64;
            let (all, state) =
                (blocks_an_access(later.bytes), blocks_an_access(parameters.part_bytes(point)));
            let kept = parameters.kept_sets(point) * parameters.payload_places(point).all;
            let sets = kept as f64 / parameters.scheme.stash_bound() as f64;
            println!(
                "{gib} GiB: whole {} MiB, without payloads {} MiB; after 16 accesses {} MiB, without payloads {} KiB; one every \
                 {point} accesses, {} MiB of blocks, sends {} MiB, without payloads {} KiB: {all:.2} blocks an access, without \
                 payloads {state:.3}; payloads at rest {sets:.2} stashes, parts at rest {} MiB, all at rest {} GiB",
                whole >> 20,
                parameters.state_bytes() >> 20,
                first.bytes >> 20,
                parameters.part_bytes(16) >> 10,
                (point * block) >> 20,
                later.bytes >> 20,
                parameters.part_bytes(point) >> 10,
                (parameters.kept_parts(point) * parameters.part_bytes(point)) >> 20,
                parameters.stored_bytes() >> 30
            );
            assert!(all <= 1.3 && sets <= 2.5, "{all} blocks, {sets} stashes at rest");
            assert!(gib == 1 || 5 * first.bytes < whole, "{first:?} of {whole}");
            assert_eq!(point * block, SHIP_EVERY_BYTES);
            assert!(state < 0.2, "{state} without payloads");
            let logged = parameters.with_journal(JournalPlace::Store);
            let later = logged.shipped_size(logged.recovery_point());
            assert!(later.bytes <= whole && later.bytes < (logged.recovery_point() * block) / 3);
        }
    }
}
