//! The payloads of the stash in the store: which checkpoint has sent each, and which ones the next checkpoint sends.
//!
//! A checkpoint in the store sends the payloads that came into the stash, or changed, since the last one. It does not send
//! those that have an [origin](ameles_core::snapshot::incremental::Origins) in a bucket of the store. It has a public number
//! of **places**. In the remaining places it sends again the payloads that were sent longest ago. So what an older checkpoint
//! has sent is soon needed no longer, and its pieces are removed. Places, the pieces that they fill, and the time at which
//! pieces are removed follow from the numbers of accesses alone.

use super::long_notes::SENT_NOTE;
use super::sealed_note::load_note;
use super::slots::StashSlot;
use super::stash_directory::Entry;
use crate::error::VaultError;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::{PIECE_BYTES, VaultHeader, VaultParameters};
use crate::trusted::shipped_piece_name::piece_name;
use ameles_seal::cipher::TAG_BYTES;
use ameles_seal::master_key::MasterKey;
use borsh::{BorshDeserialize, BorshSerialize};
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of earlier checkpoints whose payloads the store keeps.
const MAX_SETS: u64 = 1024;
/// The number of accesses for which there is a place more than one for each.
const ACCESSES_A_SPARE: u64 = 32;
/// The number of places for new payloads for each spare one, and the maximum number of sets, if origins are not used.
const NEW_FOR_EACH_SPARE: u64 = 8;
const MAX_LARGE_SETS: u64 = 256;

/// The places for payloads in a checkpoint in the store. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PayloadPlaces {
    /// The number of places.
    pub(crate) all: u64,
    /// The number of them that are not for the blocks of accesses. Few blocks need one, so nearly all of these places send
    /// payloads again.
    pub(crate) spare: u64,
}

impl VaultParameters {
    /// The places for payloads in a checkpoint in the store, this many accesses after the last one.
    ///
    /// An access writes its own block. Other blocks that it brings into the stash have an origin in the store, until an
    /// eviction rewrites their bucket. Then they are in the bucket again, or are among the few that found no room.
    ///
    /// If the vault announces in the store, a restore fetches no bucket, so that all payloads need a place. If only leaves
    /// are in the store, an access brings at most two. With more levels, the worst mean in simulations of planned vaults
    /// was 1.25.
    pub(crate) fn payload_places(&self, accesses: u64) -> PayloadPlaces {
        let bound = self.scheme.stash_bound();
        let Some(more) = self.scheme.payloads_besides_accesses() else { return self.places_for_all() };
        let mut new = accesses;
        let mut spare = more + accesses / ACCESSES_A_SPARE;
        if !self.uses_origins() {
            new = accesses.saturating_mul(2).saturating_add(self.scheme.held_payloads());
            spare = new.div_ceil(NEW_FOR_EACH_SPARE).max(bound.div_ceil(MAX_LARGE_SETS));
        }
        let spare = spare.max(bound.div_ceil(MAX_SETS));
        let all = new.saturating_add(spare);
        if all < bound { PayloadPlaces { all, spare } } else { self.places_for_all() }
    }

    /// Returns whether payloads that have an origin in a bucket need no place.
    pub(crate) fn uses_origins(&self) -> bool {
        !self.journal.announces()
    }

    /// The places of a checkpoint that sends all payloads of the stash.
    pub(crate) fn places_for_all(&self) -> PayloadPlaces {
        let bound = self.scheme.stash_bound();
        PayloadPlaces { all: bound, spare: bound }
    }

    /// The maximum number of places in the pieces that earlier checkpoints have sent and the store keeps.
    ///
    /// The kept sets but the oldest have fewer places for accesses than a block waits, and fewer spare ones than the stash
    /// has room for. The oldest has at most as many places as the stash. Without origins, a set has at most nine places for
    /// each spare one.
    pub(crate) fn kept_places(&self) -> u64 {
        let Some(wait) = self.scheme.longest_wait() else { return 0 };
        match self.uses_origins() {
            true => wait + 2 * self.scheme.stash_bound(),
            false => (2 + NEW_FOR_EACH_SPARE) * self.scheme.stash_bound(),
        }
    }

    /// The number of sets in the store, that of the newest checkpoint among them, with this number of accesses between
    /// checkpoints.
    pub(crate) fn kept_sets(&self, accesses: u64) -> u64 {
        let PayloadPlaces { spare, .. } = self.payload_places(accesses);
        let until_sent = self.scheme.stash_bound().div_ceil(spare.max(1)).max(1);
        let until_gone = self.scheme.longest_wait().unwrap_or(0).div_ceil(accesses.max(1)).max(1);
        until_sent.min(until_gone)
    }

    /// The number of bytes of a place.
    pub(crate) fn place_bytes(&self) -> u64 {
        4 + u64::from(self.scheme.block_bytes())
    }

    /// The number of places in a piece.
    pub(crate) fn places_in_piece(&self) -> u64 {
        (PIECE_BYTES as u64 / self.place_bytes()).max(1)
    }
}

/// The payloads that a checkpoint has sent, as pieces that the store keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct PayloadSet {
    /// The epoch and the number of the checkpoint.
    pub(crate) epoch: u32,
    pub(crate) number: u64,
    /// The number of the first piece. The checkpoint's other pieces come before it.
    pub(crate) first: u64,
    /// The number of accesses in the checkpoint.
    accesses: u64,
    /// The number of spare places.
    spare: u64,
    /// The SHA-256 of each piece as stored.
    pub(crate) pieces: Vec<[u8; 32]>,
}

impl PayloadSet {
    /// The names of the pieces, with their digests.
    pub(crate) fn names(&self) -> impl Iterator<Item = (String, [u8; 32])> + '_ {
        let numbered = (self.first..).zip(&self.pieces);
        numbered.map(|(piece, digest)| (piece_name(self.epoch, self.number, piece), *digest))
    }
}

/// A payload in the store: its tag on the trusted disk, and the number of the checkpoint that has sent it last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
struct Sent {
    tag: [u8; TAG_BYTES],
    number: u64,
}

/// The payloads that the last checkpoint in the store names. Secret, but for the sets.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct SentPayloads {
    /// The number of accesses in that checkpoint.
    accesses: u64,
    /// The checkpoints whose payloads the store keeps, the oldest first.
    pub(crate) sets: Vec<PayloadSet>,
    blocks: BTreeMap<u32, Sent>,
}

/// The payloads that a checkpoint sends.
pub(crate) struct Shipment {
    /// The number of places; those without a payload are zeros.
    pub(crate) places: u64,
    pub(crate) entries: Vec<(StashSlot, Entry)>,
    /// The payloads in the store when the checkpoint is there. The last set has no pieces yet.
    pub(crate) then: SentPayloads,
}

/// The checkpoint that is to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextCheckpoint {
    pub(crate) epoch: u32,
    pub(crate) number: u64,
    pub(crate) accesses: u64,
    /// The oldest epoch whose pieces may be kept.
    pub(crate) keeps_from: u32,
}

impl SentPayloads {
    /// Loads the note; nothing was sent if there is none.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and the errors of the disk.
    pub(crate) fn load(
        disk: &TrustedDisk,
        header: &VaultHeader,
        master: &MasterKey,
    ) -> Result<Self, VaultError> {
        let note = load_note((disk, header, master), (SENT_NOTE, "the payloads"))?;
        Ok(note.unwrap_or_default())
    }

    /// The same pieces in the store, with no payload known to be in them.
    pub(crate) fn without_payloads(self) -> Self {
        SentPayloads { blocks: BTreeMap::new(), ..self }
    }

    /// Plans what the next checkpoint sends of a stash. These are the entries of its blocks without an origin.
    pub(crate) fn plan(
        &self,
        parameters: &VaultParameters,
        entries: Vec<(StashSlot, Entry)>,
        next: NextCheckpoint,
    ) -> Shipment {
        let places = parameters.payload_places(next.accesses.saturating_sub(self.accesses));
        let is_kept = self.sets.iter().all(|set| set.epoch >= next.keeps_from);
        let shipment = is_kept.then(|| self.plan_within(parameters, &entries, next, places)).flatten();
        shipment.unwrap_or_else(|| {
            let places = parameters.places_for_all();
            // More blocks than the bound allows would show as a multiple of it.
            let all = places.all * (entries.len() as u64).div_ceil(places.all.max(1)).max(1);
            let order = (0..entries.len()).collect();
            self.ship(entries, order, (next, PayloadPlaces { all, ..places }), 0)
        })
    }

    /// Plans a shipment with these places. `None` if they do not suffice: then everything is sent.
    fn plan_within(
        &self,
        parameters: &VaultParameters,
        entries: &[(StashSlot, Entry)],
        next: NextCheckpoint,
        places: PayloadPlaces,
    ) -> Option<Shipment> {
        let kept = self.kept_sets(parameters, next.accesses, places.spare);
        let oldest = self.sets.len() - kept;
        let oldest = self.sets.get(oldest).map_or(next.number, |set| set.number);
        // A payload that was not sent comes first, and then those that were sent longest ago.
        let mut order: Vec<(u64, u64, usize)> = (0..)
            .zip(entries)
            .map(|(at, (_, entry))| (self.sent_in(entry).unwrap_or(0), entry.block.0, at))
            .collect();
        order.sort_unstable();
        let later = order.split_off(order.len().min(usize::try_from(places.all).ok()?));
        let is_enough = later.first().is_none_or(|(number, ..)| *number >= oldest);
        let order = order.into_iter().map(|(.., at)| at).collect();
        is_enough.then(|| self.ship(entries.to_vec(), order, (next, places), kept))
    }

    /// The shipment of the entries in this order. This many sets are kept.
    fn ship(
        &self,
        entries: Vec<(StashSlot, Entry)>,
        order: Vec<usize>,
        (next, places): (NextCheckpoint, PayloadPlaces),
        kept: usize,
    ) -> Shipment {
        let NextCheckpoint { epoch, number, accesses, .. } = next;
        let mut blocks: BTreeMap<u32, Sent> =
            entries.iter().filter_map(|(_, entry)| Some((entry.block.0 as u32, self.sent(entry)?))).collect();
        let entries: Vec<(StashSlot, Entry)> = order.into_iter().map(|at| entries[at]).collect();
        let sent = |entry: &Entry| Sent { tag: entry.tag(), number };
        blocks.extend(entries.iter().map(|(_, entry)| (entry.block.0 as u32, sent(entry))));
        let mut sets = self.sets[self.sets.len() - kept..].to_vec();
        sets.push(PayloadSet { epoch, number, accesses, spare: places.spare, ..PayloadSet::default() });
        Shipment { places: places.all, entries, then: SentPayloads { accesses, sets, blocks } }
    }

    /// The number of sets, from the newest on, that are kept beside a shipment after this many accesses with this many spare
    /// places. A set goes when the blocks that it has sent have left the stash, but for few. It also goes when the spare
    /// places since then are as many as the stash has room for: they have sent its payloads again.
    fn kept_sets(&self, parameters: &VaultParameters, accesses: u64, spare: u64) -> usize {
        let (bound, wait) = (parameters.scheme.stash_bound(), parameters.scheme.longest_wait().unwrap_or(0));
        let mut spare = spare;
        let newest_first = self.sets.iter().rev();
        newest_first
            .take_while(|set| {
                let is_kept = spare < bound && accesses.saturating_sub(set.accesses) < wait;
                spare = spare.saturating_add(set.spare);
                is_kept
            })
            .count()
    }

    fn sent(&self, entry: &Entry) -> Option<Sent> {
        self.blocks.get(&(entry.block.0 as u32)).copied().filter(|sent| sent.tag == entry.tag())
    }

    /// The number of the checkpoint that has sent the payload of an entry last.
    fn sent_in(&self, entry: &Entry) -> Option<u64> {
        self.sent(entry).map(|sent| sent.number)
    }

    /// The names of the pieces that the store keeps.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.sets.iter().flat_map(PayloadSet::names).map(|(name, _)| name).collect()
    }

    /// The set of the checkpoint itself, whose pieces are being sent.
    pub(crate) fn newest_mut(&mut self) -> Option<&mut PayloadSet> {
        self.sets.last_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trusted::header::JournalPlace;
    use ameles_core::schemes::ring::RingParameters;
    use ameles_core::types::BlockId;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::sync::LazyLock;

    /// The parameters of all tests. To plan them takes longer than most cases.
    static PARAMETERS: LazyLock<VaultParameters> = LazyLock::new(|| {
        let ring = RingParameters::for_capacity(2048, 32, 512, 8);
        VaultParameters::with_defaults(crate::SchemeParameters::Ring(ring))
    });

    /// The entry of a block with its nth payload.
    fn entry(block: u32, nth: u64) -> (StashSlot, Entry) {
        let mut tag = [0; TAG_BYTES];
        tag[..8].copy_from_slice(&nth.to_le_bytes());
        let mut entry = Entry::placeholder(tag);
        entry.block = BlockId(block.into());
        (StashSlot(block), entry)
    }

    fn next(number: u64, accesses: u64) -> NextCheckpoint {
        NextCheckpoint { epoch: 1, number, accesses, keeps_from: 0 }
    }

    proptest! {
        /// The store keeps what was shipped, as a restore reads it.
        #[test]
        fn the_store_keeps_every_payload_of_the_newest_checkpoint(
            steps in prop::collection::vec((0u64..200, 0u64..400, any::<u64>()), 1..120),
            announces in any::<bool>(),
        ) {
            let journal = if announces { JournalPlace::StoreFirst } else { JournalPlace::Disk };
            let parameters = &VaultParameters { journal, ..PARAMETERS.clone() };
            // Without origins, an access may bring two payloads.
            let brought = 1 + u64::from(announces);
            let mut sent = SentPayloads::default();
            let bound = parameters.scheme.stash_bound();
            let mut stash: BTreeMap<u32, u64> = BTreeMap::new();
            let mut shipped: BTreeMap<u64, BTreeMap<u32, u64>> = BTreeMap::new();
            let (mut accesses, mut nth) = (0, 0);
            let (mut kept_places, mut some_went) = (VecDeque::new(), false);
            for (number, (more, leaving, seed)) in (1..).zip(steps) {
                let at = |nth: u64| (seed.wrapping_mul(2 * nth + 1) >> 20) % 2048;
                (0..leaving).for_each(|nth| { stash.remove(&(at(nth) as u32)); });
                let new = (0..brought * more).map(|nth| at(nth + 1000) as u32);
                for block in new {
                    if stash.contains_key(&block) || (stash.len() as u64) < bound {
                        nth += 1;
                        stash.insert(block, nth);
                    }
                }
                accesses += more;
                let entries: Vec<_> = stash.iter().map(|(block, nth)| entry(*block, *nth)).collect();
                let since = accesses - sent.accesses;
                let shipment = sent.plan(parameters, entries, next(number, accesses));
                prop_assert_eq!(shipment.places, parameters.payload_places(since).all);
                prop_assert!(shipment.entries.len() as u64 <= shipment.places);
                let own = shipment.entries.iter().map(|(_, entry)| (entry.block.0 as u32, nth_of(entry)));
                shipped.insert(number, own.collect());
                sent = shipment.then;
                let kept: BTreeSet<u64> = sent.sets.iter().map(|set| set.number).collect();
                shipped.retain(|number, _| kept.contains(number));
                prop_assert!(kept.len() as u64 <= MAX_SETS);
                some_went |= kept.len() < number as usize;
                kept_places.push_back(shipment.places);
                kept_places.drain(..kept_places.len() - kept.len());
                let earlier: u64 = kept_places.iter().rev().skip(1).sum();
                prop_assert!(earlier <= parameters.kept_places(), "{} places", earlier);
                for (block, nth) in &stash {
                    let newest = shipped.values().rev().find_map(|set| set.get(block));
                    prop_assert_eq!(newest, Some(nth), "block {} of checkpoint {}", block, number);
                }
            }
            prop_assert!(some_went || accesses < 4 * bound, "no set went after {} accesses", accesses);
        }
    }

    fn nth_of(entry: &Entry) -> u64 {
        u64::from_le_bytes(*entry.tag().first_chunk().unwrap())
    }

    #[test]
    fn more_payloads_than_an_access_can_bring_are_sent_as_a_whole_stash() {
        let (parameters, sent) = (&*PARAMETERS, SentPayloads::default());
        let bound = parameters.scheme.stash_bound();
        let PayloadPlaces { all, spare } = parameters.payload_places(16);
        assert!(all == 16 + spare && all < bound / 2, "{all} of {bound}");
        let entries = |count: u64| (0..count as u32).map(|block| entry(block, 1)).collect();
        let fitting = sent.plan(parameters, entries(all), next(1, 16));
        assert_eq!((fitting.places, fitting.entries.len() as u64), (all, all));
        let whole = sent.plan(parameters, entries(all + 1), next(1, 16));
        assert_eq!((whole.places, whole.entries.len() as u64), (bound, all + 1));
    }

    #[test]
    fn a_set_goes_after_a_round_of_evictions_and_what_still_needs_it_is_sent_again() {
        let parameters = &*PARAMETERS;
        let wait = parameters.scheme.longest_wait().unwrap();
        let old: Vec<_> = (0..5).map(|block| entry(block, 1)).collect();
        let first = SentPayloads::default().plan(parameters, old.clone(), next(1, 16)).then;
        for (age, is_kept) in [(wait - 1, true), (wait, false)] {
            let (mut sent, mut number) = (first.clone(), 1);
            // As many new payloads as there are places, but for three of the last ones.
            let mut ship = |accesses: u64, left: u64| {
                number += 1;
                let places = parameters.payload_places(accesses - sent.accesses).all;
                let new = (5..(5 + places - left) as u32).map(|block| entry(block, number));
                let entries = old.iter().copied().chain(new).collect();
                let shipment = sent.plan(parameters, entries, next(number, accesses));
                sent = shipment.then.clone();
                (shipment, places)
            };
            for accesses in (16..age).step_by(100).skip(1) {
                let (shipment, places) = ship(accesses, 0);
                assert_eq!((shipment.places, shipment.then.sets[0].number), (places, 1));
            }
            let (last, places) = ship(16 + age, 3);
            let sent_again = last.entries.iter().filter(|(_, entry)| entry.block.0 < 5).count();
            assert_eq!(last.then.sets[0].number == 1, is_kept);
            assert_eq!((last.places == places, sent_again), if is_kept { (true, 3) } else { (false, 5) });
        }
    }

    #[test]
    fn nothing_that_the_earlier_key_opens_is_kept() {
        let (parameters, sent) = (&*PARAMETERS, SentPayloads::default());
        let entries: Vec<_> = (0..20).map(|block| entry(block, 1)).collect();
        let first = sent.plan(parameters, entries.clone(), next(1, 16)).then;
        let kept = first.plan(parameters, entries.clone(), NextCheckpoint { epoch: 2, ..next(2, 17) });
        assert_eq!(kept.then.sets.len(), 2);
        let changed = NextCheckpoint { epoch: 2, keeps_from: 2, ..next(2, 17) };
        let renewed = first.plan(parameters, entries, changed);
        assert_eq!((renewed.then.sets.len(), renewed.entries.len()), (1, 20));
    }
}
