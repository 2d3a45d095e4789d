//! The rows that a checkpoint sends to the store: those that changed since the last one, and a portion of all rows in
//! turn, in the order of the hashes of their keys.
//!
//! A portion may begin and end anywhere in a row. A row that changed since its turn began is left out of portions: a
//! checkpoint of the turn has sent it whole. So portions have at most as many bytes as the rows when the turn began.

use super::row::Row;
use super::rows::RowsSnapshot;
use super::sent_state::{RowCursor, StatePlan};
use crate::error::VaultError;
use ameles_seal::blob;
use borsh::{BorshDeserialize, BorshSerialize};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The number of bytes that are read in one go if all rows are sent.
const AT_ONCE: u64 = 1 << 20;

/// The numbers of bytes of the rows of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct RowBytes {
    /// True if the portion is all rows, and rows of earlier parts do not count.
    pub(crate) is_whole: bool,
    /// The bytes of rows that changed.
    pub(crate) put: u64,
    /// The number of rows that were removed, each with the hash of its key.
    pub(crate) removed: u64,
    /// The bytes at the start of the portion that continue a row of the last part's portion.
    pub(crate) continued: u64,
    /// The bytes of the portion.
    pub(crate) turn: u64,
}

impl RowBytes {
    /// The number of all bytes. `None` if they are too many for any memory.
    pub(crate) fn all(&self) -> Option<u64> {
        self.removed.checked_mul(32)?.checked_add(self.put)?.checked_add(self.turn)
    }
}

/// The rows of a part.
pub(crate) struct RowsPart {
    pub(crate) bytes: RowBytes,
    /// The place up to which rows were sent in the turn.
    pub(crate) cursor: RowCursor,
    /// Bytes that were read and not written yet.
    read: Vec<u8>,
    /// The rest, if all rows are sent.
    rest: Option<(RowsSnapshot, RowCursor)>,
}

impl RowsPart {
    /// Reads the rows that are planned. If the room for changes does not suffice, plans to send all rows.
    pub(crate) fn read(snapshot: RowsSnapshot, plan: &mut StatePlan) -> Result<Self, VaultError> {
        if !plan.rows.is_whole()
            && let Some(part) = Self::read_changes(&snapshot, plan)?
        {
            return Ok(part);
        }
        plan.rows = plan.rows.whole();
        let mut turn = 0;
        snapshot.disk.visit_rows(&[], |_, sealed| {
            turn += blob::text_bytes(sealed.len()) as u64;
            ControlFlow::Continue(())
        })?;
        let bytes = RowBytes { is_whole: true, turn, ..RowBytes::default() };
        let rest = Some((snapshot, RowCursor::default()));
        Ok(RowsPart { bytes, cursor: RowCursor::End, read: Vec::new(), rest })
    }

    /// Reads changed rows and a portion. `None` if more rows changed than there is room for.
    fn read_changes(snapshot: &RowsSnapshot, plan: &StatePlan) -> Result<Option<Self>, VaultError> {
        let changed = snapshot.disk.changed_rows(plan.turn.rows_before)?;
        let unsent = changed.iter().filter(|(_, mark)| **mark > plan.rows_before);
        let (mut put, mut removed, mut opened) = (Vec::new(), Vec::new(), Ok(()));
        let is_full = |put: &[u8], removed: &[u8]| (put.len() + removed.len()) as u64 > plan.rows.changes;
        snapshot.disk.visit_rows_of(unsent.map(|(hash, _)| &hash[..]), |hash, sealed| {
            match sealed.map(|sealed| snapshot.rows.open_text(hash, sealed)) {
                Some(Ok(text)) => put.extend_from_slice(&text),
                Some(Err(error)) => opened = Err(error),
                None => removed.extend_from_slice(hash),
            }
            match opened.is_err() || is_full(&put, &removed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        opened?;
        if is_full(&put, &removed) {
            return Ok(None);
        }
        let mut bytes =
            RowBytes { put: put.len() as u64, removed: removed.len() as u64 / 32, ..RowBytes::default() };
        let mut read = [put, removed].concat();
        let portion = snapshot.portion(plan.turn.cursor, plan.rows.turn, &changed)?;
        (bytes.continued, bytes.turn) = (portion.continued, portion.bytes.len() as u64);
        read.extend(portion.bytes);
        let is_enough = !plan.ends_rows() || portion.end == RowCursor::End;
        Ok(is_enough.then_some(RowsPart { bytes, cursor: portion.end, read, rest: None }))
    }

    /// The next bytes; nothing after the last ones.
    pub(crate) fn next_bytes(&mut self) -> Result<Vec<u8>, VaultError> {
        if let Some((snapshot, cursor)) = self.rest.take() {
            let portion = snapshot.portion(cursor, AT_ONCE, &BTreeMap::new())?;
            self.rest = (portion.end != RowCursor::End).then_some((snapshot, portion.end));
            return Ok(portion.bytes);
        }
        Ok(std::mem::take(&mut self.read))
    }
}

/// Bytes of neighbouring rows.
struct Portion {
    /// The bytes at the start that continue a row.
    continued: u64,
    bytes: Vec<u8>,
    end: RowCursor,
}

impl RowsSnapshot {
    /// Reads rows from a place on, at most this many bytes, without the rows of these hashes.
    fn portion(
        &self,
        from: RowCursor,
        room: u64,
        without: &BTreeMap<Vec<u8>, u64>,
    ) -> Result<Portion, VaultError> {
        let mut portion = Portion { continued: 0, bytes: Vec::new(), end: RowCursor::End };
        let RowCursor::At(first, sent) = from else { return Ok(portion) };
        let mut opened = Ok(());
        self.disk.visit_rows(&first, |hash, sealed| {
            if without.contains_key(hash) {
                return ControlFlow::Continue(());
            }
            let text = match self.rows.open_text(hash, sealed) {
                Ok(text) => text,
                Err(error) => {
                    opened = Err(error);
                    return ControlFlow::Break(());
                }
            };
            let begun = if hash == first { sent.min(text.len() as u64) } else { 0 };
            let rest = &text[begun as usize..];
            let some = (rest.len() as u64).min(room - portion.bytes.len() as u64);
            if begun > 0 {
                portion.continued = some;
            }
            portion.bytes.extend_from_slice(&rest[..some as usize]);
            match (some < rest.len() as u64, <[u8; 32]>::try_from(hash)) {
                (true, Ok(hash)) => {
                    portion.end = RowCursor::At(hash, begun + some);
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        })?;
        opened.map(|()| portion)
    }
}

/// The rows of parts, as a restore puts them together.
#[derive(Default)]
pub(crate) struct MergedRows {
    rows: BTreeMap<[u8; 32], Row>,
    /// The start of a row that the next portion may continue.
    begun: Vec<u8>,
}

impl MergedRows {
    /// Adds the rows of the next part, whose keys have these hashes. `None` if they contradict themselves.
    pub(crate) fn take(
        &mut self,
        bytes: RowBytes,
        mut text: &[u8],
        hash: &dyn Fn(&[u8]) -> [u8; 32],
    ) -> Option<()> {
        let removed = usize::try_from(bytes.removed).ok()?.checked_mul(32)?;
        let mut put = text.split_off(..usize::try_from(bytes.put).ok()?)?;
        let removed = text.split_off(..removed)?;
        let turn = text.split_off(..usize::try_from(bytes.turn).ok()?)?;
        if bytes.is_whole {
            self.rows.clear();
        }
        while !put.is_empty() {
            let row = Row::deserialize(&mut put).ok()?;
            self.rows.insert(hash(&row.key), row);
        }
        for hash in removed.as_chunks().0 {
            self.rows.remove(hash);
        }
        if bytes.continued == 0 {
            // The row that was begun has changed since.
            self.begun.clear();
        }
        let mut stream = std::mem::take(&mut self.begun);
        if bytes.continued > 0 && stream.is_empty() {
            return None;
        }
        stream.extend_from_slice(turn);
        let mut rest = &stream[..];
        loop {
            let mut after = rest;
            let Ok(row) = Row::deserialize(&mut after) else { break };
            self.rows.insert(hash(&row.key), row);
            rest = after;
        }
        self.begun = rest.to_vec();
        Some(())
    }

    /// The rows, sorted by key.
    pub(crate) fn into_rows(self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.into_values().collect();
        rows.sort_unstable();
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SchemeParameters;
    use crate::entropy::Entropy;
    use crate::trusted::disk::TrustedDisk;
    use crate::trusted::header::VaultParameters;
    use crate::trusted::journal::RecordsThen;
    use crate::trusted::memory_file::MemoryFile;
    use crate::trusted::row::RowChange;
    use crate::trusted::rows::{Rows, row_hash};
    use crate::trusted::sent_payloads::NextCheckpoint;
    use crate::trusted::sent_state::SentState;
    use ameles_core::schemes::trivial::TrivialParameters;
    use ameles_seal::master_key::MasterKey;
    use ameles_seal::versions::VaultId;
    use proptest::prelude::*;
    use redb::backends::InMemoryBackend;
    use std::sync::Arc;

    const VAULT: VaultId = VaultId([1; 16]);

    fn master() -> MasterKey {
        MasterKey::take(&mut [3; 32])
    }

    fn parameters() -> VaultParameters {
        let trivial = TrivialParameters { capacity: 8, block_bytes: 16, chunk_blocks: 2, max_batch: 3 };
        let usual = VaultParameters::with_defaults(SchemeParameters::Trivial(trivial));
        VaultParameters { rows_bytes: 16 << 10, ..usual }
    }

    /// A part in the store.
    struct Part {
        number: u64,
        bytes: RowBytes,
        text: Vec<u8>,
    }

    /// A trusted disk with rows, and a store with parts.
    struct Machine {
        files: [MemoryFile; 2],
        rows: Arc<Rows>,
        disk: TrustedDisk,
        entropy: Entropy,
        parameters: VaultParameters,
        sent: SentState,
        parts: Vec<Part>,
        number: u64,
        accesses: u64,
        /// The number of parts with all rows.
        whole: u64,
    }

    fn open(files: &[MemoryFile; 2], max: u64) -> (Arc<Rows>, TrustedDisk) {
        let [database, journal] = files.clone();
        let disk = TrustedDisk::with_backends(database, InMemoryBackend::new(), journal).unwrap();
        (Arc::new(Rows::open(disk.clone(), master(), VAULT, max).unwrap()), disk)
    }

    impl Machine {
        fn new() -> Self {
            let (files, parameters) = (<[MemoryFile; 2]>::default(), parameters());
            let (rows, disk) = open(&files, parameters.rows_bytes);
            let (entropy, sent, parts) = (Entropy::system(), SentState::default(), Vec::new());
            Machine { files, rows, disk, entropy, parameters, sent, parts, number: 0, accesses: 0, whole: 0 }
        }

        /// Commits a change; returns whether it had room.
        fn commit(&mut self, change: RowChange) -> bool {
            self.rows.commit(vec![change], || self.entropy.salt()).is_ok()
        }

        fn kill(&mut self) {
            // What the database writes when it is closed does not count.
            self.files = self.files.each_ref().map(|file| MemoryFile::of(file.copy()));
            (self.rows, self.disk) = open(&self.files, self.parameters.rows_bytes);
        }

        /// Sends a part. `change` happens while it is on its way. Returns what is noted if it arrives.
        fn send(&mut self, accesses: u64, change: impl FnOnce(&mut Self)) -> SentState {
            self.number += 1;
            self.accesses += accesses;
            let mark = self.disk.next_row_mark();
            let (snapshot, expected) = (self.rows.snapshot().unwrap(), self.rows.load().unwrap());
            change(self);
            let next =
                NextCheckpoint { epoch: 1, number: self.number, accesses: self.accesses, keeps_from: 0 };
            let mut plan = self.sent.plan(&self.parameters, next);
            let mut part = RowsPart::read(snapshot, &mut plan).unwrap();
            let (bytes, mut text) = (part.bytes, Vec::new());
            loop {
                match part.next_bytes().unwrap() {
                    more if more.is_empty() => break,
                    more => text.extend(more),
                }
            }
            assert_eq!(text.len() as u64, bytes.all().unwrap());
            assert!(bytes.put + 32 * bytes.removed <= plan.rows.changes && bytes.turn <= plan.rows.turn);
            self.whole += u64::from(bytes.is_whole);
            let sent = plan.into_sent(&self.parameters, mark, part.cursor);
            self.parts.push(Part { number: self.number, bytes, text });
            // What a restore finds if the part has arrived, whether or not that is noted.
            assert_eq!(self.restore(&sent), expected);
            sent
        }

        fn note(&mut self, sent: SentState) {
            let marks = (sent.rows_mark, sent.rows_needed_after(&self.parameters));
            self.disk.note_sent::<Vec<u8>>(&[], marks).unwrap();
            self.parts.retain(|part| sent.parts.iter().any(|needed| needed.number == part.number));
            assert!(self.parts.len() <= 128, "{} parts", self.parts.len());
            self.sent = sent;
        }

        fn restore(&self, sent: &SentState) -> Vec<Row> {
            let mut merged = MergedRows::default();
            for needed in &sent.parts {
                let part = self.parts.iter().find(|part| part.number == needed.number).expect("it is there");
                merged
                    .take(part.bytes, &part.text, &|key| row_hash(&master(), VAULT, key))
                    .expect("it is one");
            }
            merged.into_rows()
        }
    }

    proptest! {
        #[test]
        fn the_parts_in_the_store_have_all_rows_whatever_changed_and_whichever_uploads_ended(
            steps in prop::collection::vec((0u8..12, 0u8..24, 0usize..3, 0usize..900), 1..150),
        ) {
            let mut machine = Machine::new();
            for (what, key, size, more) in steps {
                // Some rows are longer than several portions.
                let bytes = [40, 300, 3000][size] + more;
                match what {
                    0..=3 => { machine.commit(RowChange::put(vec![key], vec![what; bytes])); }
                    4 => { machine.commit(RowChange::remove(vec![key])); }
                    5 => machine.disk.write(RecordsThen::Stay, |_| Ok(())).unwrap(),
                    6 => machine.kill(),
                    7 => {
                        // It arrives, but that is not noted.
                        machine.send(u64::from(key) / 6, |_| ());
                        machine.kill();
                    }
                    8 => drop(machine.send(u64::from(key) / 6, |_| ())),
                    _ => {
                        let accesses = u64::from(key) / 6;
                        let during = RowChange::put(vec![key], vec![what; bytes]);
                        let is_taken_over = more % 2 == 0;
                        let sent = machine.send(accesses, |machine| {
                            machine.commit(during);
                            if is_taken_over {
                                machine.disk.write(RecordsThen::Stay, |_| Ok(())).unwrap();
                            }
                        });
                        machine.note(sent);
                    }
                }
            }
        }
    }

    impl Machine {
        /// Does what a session does that ships a checkpoint: the database has taken changes over before.
        fn ship(&mut self) -> RowBytes {
            self.disk.write(RecordsThen::Stay, |_| Ok(())).unwrap();
            let sent = self.send(0, |_| ());
            self.note(sent);
            self.parts.last().expect("it was sent").bytes
        }
    }

    #[test]
    fn a_row_that_portions_cut_is_sent_by_its_turn_and_once_it_changed_by_its_change() {
        let mut machine = Machine::new();
        assert!(machine.commit(RowChange::put("row", vec![7; 6000])));
        assert!(machine.ship().is_whole, "its first change exceeds the room for changes");
        let cut = (0..40).filter(|_| machine.ship().continued > 0).count();
        assert!(cut >= 5, "{cut} portions continue it");
        // The portions of the next turn begin the row; it changes; the next portions leave it out.
        assert!((0..40).any(|_| machine.ship().continued > 0));
        assert!(machine.commit(RowChange::put("row", vec![8; 900])));
        let bytes = machine.ship();
        assert!(bytes.continued == 0 && bytes.put > 900 && bytes.turn == 0, "{bytes:?}");
        // It is removed while older parts have it.
        assert!(machine.commit(RowChange::remove("row")));
        assert_eq!(machine.ship().removed, 1);
        assert_eq!(machine.restore(&machine.sent), []);
        for _ in 0..2 * 64 {
            machine.ship();
        }
        assert_eq!((machine.restore(&machine.sent), machine.whole), (Vec::new(), 1));
    }

    #[test]
    fn rows_that_always_come_just_ahead_of_the_portions_make_no_turn_longer() {
        let mut machine = Machine::new();
        let mut keys: Vec<[u8; 2]> = (0..400u16).map(u16::to_le_bytes).collect();
        keys.sort_by_key(|key| row_hash(&master(), VAULT, key));
        let hash = |key: &[u8; 2]| row_hash(&master(), VAULT, key);
        let mut there: Vec<[u8; 2]> = Vec::new();
        for _ in 0..200 {
            let next = NextCheckpoint { epoch: 1, number: 1, accesses: 0, keeps_from: 0 };
            let cursor = match machine.sent.plan(&machine.parameters, next).turn.cursor {
                RowCursor::At(hash, _) => hash,
                RowCursor::End => [0xff; 32],
            };
            if there.len() == 15 {
                // The one that the portions reach last.
                there.sort_by_key(|key| (hash(key) > cursor, hash(key)));
                assert!(machine.commit(RowChange::remove(there.remove(0).to_vec())));
            }
            let is_ahead = |key: &&[u8; 2]| hash(key) > cursor && !there.contains(key);
            let Some(key) = keys.iter().find(is_ahead).or(keys.first()).copied() else {
                panic!("there are keys")
            };
            assert!(machine.commit(RowChange::put(key.to_vec(), vec![1; 1000])));
            there.retain(|other| *other != key);
            there.push(key);
            machine.ship();
        }
        assert_eq!(machine.whole, 0);
    }
}
