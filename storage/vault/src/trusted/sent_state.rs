//! The state parts in the store: what checkpoints have sent of words and rows, and what the next one sends.
//!
//! Each checkpoint in the store sends a **part**: the words and rows that changed since the last one, and a portion of
//! all words and all rows, in turn. A **turn** is a sequence of parts whose portions go once through both tables. Parts
//! from before a turn are needed until it is complete. Afterwards its own parts have everything, because what changed
//! since it began is among their changes. When portions and turns end follows from the numbers of accesses alone.

use super::changed_rows;
use super::database_changes;
use super::header::{VaultHeader, VaultParameters};
use super::long_notes::STATE_NOTE;
use super::sealed_note::load_note;
use super::sent_payloads::{NextCheckpoint, SentPayloads};
use super::shipped_piece_name::piece_name;
use super::table_shares::TableShare;
use crate::error::VaultError;
use crate::store::SHIPPED_NOTE;
use crate::trusted::disk::TrustedDisk;
use ameles_seal::master_key::MasterKey;
use borsh::{BorshDeserialize, BorshSerialize};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// A state part in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct StatePart {
    /// The epoch and the number of its checkpoint.
    pub(crate) epoch: u32,
    pub(crate) number: u64,
    /// The SHA-256 of each piece as stored.
    pub(crate) pieces: Vec<[u8; 32]>,
}

impl StatePart {
    /// The names of the pieces, with their digests.
    pub(crate) fn names(&self) -> impl Iterator<Item = (String, [u8; 32])> + '_ {
        (0..).zip(&self.pieces).map(|(piece, digest)| (piece_name(self.epoch, self.number, piece), *digest))
    }
}

/// The place up to which rows were sent in a turn, in the order of the hashes of their keys. Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) enum RowCursor {
    /// A row, and the number of its bytes that were sent.
    At([u8; 32], u64),
    /// The end of the table.
    End,
}

impl Default for RowCursor {
    fn default() -> Self {
        RowCursor::At([0; 32], 0)
    }
}

/// A turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Turn {
    /// The number of its first checkpoint.
    first: u64,
    /// The mark of the changes of rows that were sent before it began.
    pub(crate) rows_before: u64,
    /// The number of words that were sent.
    pub(crate) words: u64,
    /// The number of bytes that were sent for rows.
    rows: u64,
    pub(crate) cursor: RowCursor,
}

impl Turn {
    fn is_complete(&self, parameters: &VaultParameters) -> bool {
        self.words >= parameters.words() && self.rows >= parameters.rows_bytes
    }
}

/// The words and rows that the last checkpoint in the store has sent, with the parts before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct SentState {
    /// True if the next checkpoint cannot build on these parts.
    is_outdated: bool,
    /// The number of that checkpoint.
    pub(crate) number: u64,
    /// The number of accesses in it.
    accesses: u64,
    /// The mark of the changes of rows up to it.
    pub(crate) rows_mark: u64,
    /// The parts that it needs, the oldest first.
    pub(crate) parts: Vec<StatePart>,
    turn: Turn,
}

/// The part that the next checkpoint sends.
#[derive(Clone, Debug)]
pub(crate) struct StatePlan {
    pub(crate) words: TableShare,
    pub(crate) rows: TableShare,
    /// The number of accesses since the last checkpoint in the store.
    pub(crate) since: u64,
    /// The turn that the part belongs to, as it was before.
    pub(crate) turn: Turn,
    /// The mark of the changes of rows that the last checkpoint has sent.
    pub(crate) rows_before: u64,
    parts: Vec<StatePart>,
    next: NextCheckpoint,
}

impl SentState {
    /// Loads the note; nothing was sent if there is none.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and the errors of the disk.
    pub(crate) fn load(
        disk: &TrustedDisk,
        header: &VaultHeader,
        master: &MasterKey,
    ) -> Result<Self, VaultError> {
        let note = load_note((disk, header, master), (STATE_NOTE, "the state"))?;
        if let Some(note) = note {
            return Ok(note);
        }
        // A checkpoint of which nothing is noted was restored, or sent by an earlier version.
        let is_outdated = disk.meta(SHIPPED_NOTE)?.is_some();
        Ok(SentState { is_outdated, ..SentState::default() })
    }

    /// The same parts in the store, on which no checkpoint can build.
    pub(crate) fn outdated(self) -> Self {
        SentState { is_outdated: true, ..self }
    }

    /// The number of accesses since that checkpoint.
    pub(crate) fn accesses_since(&self, accesses: u64) -> u64 {
        accesses.saturating_sub(self.accesses)
    }

    /// The last checkpoint after which changes of words must be known; `None` if the next checkpoint sends all words
    /// anyway.
    pub(crate) fn words_needed_after(&self, parameters: &VaultParameters, accesses: u64) -> Option<u64> {
        let is_whole = self.is_outdated || parameters.words_share(self.accesses_since(accesses)).is_whole();
        (!is_whole).then_some(self.number)
    }

    /// Plans the part of the next checkpoint.
    pub(crate) fn plan(&self, parameters: &VaultParameters, next: NextCheckpoint) -> StatePlan {
        let since = self.accesses_since(next.accesses);
        let (mut words, mut rows) = (parameters.words_share(since), parameters.rows_share(since));
        let is_kept = self.parts.iter().all(|part| part.epoch >= next.keeps_from);
        if self.is_outdated || !is_kept {
            (words, rows) = (words.whole(), rows.whole());
        }
        let begins = self.turn.is_complete(parameters) || (words.is_whole() && rows.is_whole());
        let turn = match begins {
            true => Turn { first: next.number, rows_before: self.rows_mark, ..Turn::default() },
            false => self.turn,
        };
        StatePlan { words, rows, since, turn, rows_before: self.rows_mark, parts: self.parts.clone(), next }
    }

    /// The marks of changes of rows up to this one are needed no longer.
    pub(crate) fn rows_needed_after(&self, parameters: &VaultParameters) -> u64 {
        if self.turn.is_complete(parameters) { self.rows_mark } else { self.turn.rows_before }
    }

    /// The part of the checkpoint itself, whose pieces are being sent.
    pub(crate) fn newest_mut(&mut self) -> Option<&mut StatePart> {
        self.parts.last_mut()
    }
}

impl StatePlan {
    /// The words whose turn it is.
    pub(crate) fn words_in_turn(&self) -> std::ops::Range<u64> {
        if self.words.is_whole() {
            return 0..self.words.all / 4;
        }
        let first = self.turn.words.min(self.words.all / 4);
        first..(first + self.words.turn / 4).min(self.words.all / 4)
    }

    /// Returns whether the turn of the rows is over with this part.
    pub(crate) fn ends_rows(&self) -> bool {
        self.turn.rows.saturating_add(self.rows.turn) >= self.rows.all
    }

    /// The state in the store when the checkpoint is there. Its part has no pieces yet. `rows_mark` is the mark of the
    /// changes of rows up to the checkpoint, and `cursor` the end of its portion.
    pub(crate) fn into_sent(
        self,
        parameters: &VaultParameters,
        rows_mark: u64,
        cursor: RowCursor,
    ) -> SentState {
        let words = if self.words.is_whole() { self.words.all / 4 } else { self.words_in_turn().end };
        let StatePlan { rows, mut turn, mut parts, next, .. } = self;
        let NextCheckpoint { epoch, number, accesses, .. } = next;
        turn.words = words;
        turn.rows = if rows.is_whole() { rows.all } else { turn.rows.saturating_add(rows.turn) };
        turn.cursor = cursor;
        parts.push(StatePart { epoch, number, pieces: Vec::new() });
        if turn.is_complete(parameters) {
            parts.retain(|part| part.number >= turn.first);
        }
        SentState { is_outdated: false, number, accesses, rows_mark, parts, turn }
    }
}

/// The contents of the checkpoint in the store, and of those before it that it needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentCheckpoint {
    pub(crate) payloads: SentPayloads,
    pub(crate) state: SentState,
}

impl SentCheckpoint {
    /// Loads the notes.
    ///
    /// # Errors
    /// The errors of [`SentState::load`].
    pub(crate) fn load(
        disk: &TrustedDisk,
        header: &VaultHeader,
        master: &MasterKey,
    ) -> Result<Self, VaultError> {
        let payloads = SentPayloads::load(disk, header, master)?;
        Ok(SentCheckpoint { payloads, state: SentState::load(disk, header, master)? })
    }

    /// The names of the pieces that the store keeps.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let mut names = self.payloads.names();
        names.extend(self.state.parts.iter().flat_map(StatePart::names).map(|(name, _)| name));
        names
    }
}

impl TrustedDisk {
    /// Begins another mark of changes of rows, and returns the last one. A snapshot that is taken afterwards has all
    /// changes up to it.
    pub(crate) fn next_row_mark(&self) -> u64 {
        let _turn = self.writes.lock().expect("no thread panics while it holds this lock");
        self.row_mark.fetch_add(1, Ordering::Relaxed)
    }

    /// Sets several values, and records that the store has the changes of rows up to a mark. Those up to another one are
    /// forgotten.
    pub(crate) fn note_sent<V: AsRef<[u8]>>(
        &self,
        values: &[(&str, V)],
        (sent, forgotten): (u64, u64),
    ) -> Result<(), VaultError> {
        self.with_write(|transaction| {
            changed_rows::forget(transaction, forgotten)?;
            database_changes::set_metas(transaction, &[(changed_rows::SENT, sent.to_le_bytes())])?;
            database_changes::set_metas(transaction, values)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SchemeParameters;
    use ameles_core::schemes::ring::RingParameters;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::ops::Range;
    use std::sync::LazyLock;

    /// The parameters of all tests. To plan them takes longer than most cases.
    static PARAMETERS: LazyLock<VaultParameters> = LazyLock::new(|| {
        let ring = RingParameters::for_capacity(2048, 32, 512, 8);
        let usual = VaultParameters::with_defaults(SchemeParameters::Ring(ring));
        VaultParameters { rows_bytes: 256 << 10, ..usual }
    });

    fn next(number: u64, accesses: u64) -> NextCheckpoint {
        NextCheckpoint { epoch: 1, number, accesses, keeps_from: 0 }
    }

    /// The words of a part: those that changed, and those in turn.
    type Words = (Vec<(usize, u32)>, Range<u64>, Vec<u32>);

    proptest! {
        #[test]
        fn the_kept_parts_have_every_word(
            steps in prop::collection::vec((0u64..9, any::<u64>(), 0u64..6, 0u8..5), 200..260),
        ) {
            let (parameters, mut sent) = (&*PARAMETERS, SentState::default());
            let mut table = vec![0; parameters.words() as usize];
            let mut store: BTreeMap<u64, Words> = BTreeMap::new();
            let (mut accesses, mut unsent, mut turns) = (0, BTreeSet::new(), 0);
            for (number, (more, seed, changes, lost)) in (1..).zip(steps) {
                accesses += more;
                for nth in 0..changes {
                    let place = (seed.wrapping_mul(2 * nth + 1) >> 20) as usize % table.len();
                    table[place] = number as u32;
                    unsent.insert(place);
                }
                let plan = sent.plan(parameters, next(number, accesses));
                prop_assert!(!plan.words.is_whole() && !plan.rows.is_whole());
                let turn = plan.words_in_turn();
                prop_assert!(4 * (turn.end - turn.start) <= plan.words.turn);
                let in_turn = table[turn.start as usize..turn.end as usize].to_vec();
                store.insert(number, (unsent.iter().map(|at| (*at, table[*at])).collect(), turn, in_turn));
                let then = plan.into_sent(parameters, 0, RowCursor::End);
                prop_assert!(then.parts.len() <= 2 * 64, "{} parts", then.parts.len());
                let mut restored = vec![0; table.len()];
                for part in &then.parts {
                    let (changed, turn, words) = &store[&part.number];
                    changed.iter().for_each(|(at, word)| restored[*at] = *word);
                    restored[turn.start as usize..turn.end as usize].copy_from_slice(words);
                }
                prop_assert!(restored == table, "checkpoint {}", number);
                if lost > 0 {
                    turns += u64::from(then.parts.len() <= sent.parts.len());
                    sent = then;
                    unsent.clear();
                    store.retain(|number, _| sent.parts.iter().any(|part| part.number == *number));
                }
            }
            prop_assert!(turns > 0, "parts were removed");
        }
    }

    #[test]
    fn nothing_that_the_earlier_key_opens_is_kept() {
        let parameters = &*PARAMETERS;
        let first =
            SentState::default().plan(parameters, next(1, 0)).into_sent(parameters, 1, RowCursor::End);
        let kept = first.plan(parameters, NextCheckpoint { epoch: 2, ..next(2, 1) });
        assert!(!kept.words.is_whole() && !kept.rows.is_whole());
        assert_eq!(kept.into_sent(parameters, 2, RowCursor::End).parts.len(), 2);
        for renewed in [
            first.plan(parameters, NextCheckpoint { epoch: 2, keeps_from: 2, ..next(2, 1) }),
            first.clone().outdated().plan(parameters, next(2, 1)),
        ] {
            assert!(renewed.words.is_whole() && renewed.rows.is_whole());
            assert_eq!(renewed.into_sent(parameters, 2, RowCursor::End).parts.len(), 1);
        }
    }
}
