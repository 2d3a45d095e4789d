//! The contents of a shipped checkpoint, read as the owner of the key can.

use super::master;
use ameles_core::store::BucketVersion;
use ameles_core::types::{Bucket, Leaf, Level, Version};
use ameles_seal::blob;
use ameles_seal::derive::{Purpose, Salt, derive};
use ameles_seal::master_key::MasterKey;
use ameles_seal::versions::VersionsHead;
use ameles_store::{Blobs, VersionedMemory};
use ameles_vault::{Receipt, Row, SchemeParameters, VaultHeader};
use borsh::BorshDeserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The beginning of a state part's stream, defined here a second time.
#[derive(Debug, BorshDeserialize)]
pub struct Head {
    pub number: u64,
    pub epoch: u32,
    pub accesses: u64,
    pub rest: Vec<u8>,
    pub versions: VersionsHead,
    pub history: Vec<(u64, [u8; 32])>,
    /// The bytes of the changed words.
    pub delta: u64,
    /// The first word in turn, and their number.
    pub turn: (u64, u64),
    pub stash: u64,
    pub rows: RowBytes,
}

/// The numbers of bytes of the rows of a part, defined here a second time.
#[derive(Clone, Copy, Debug, BorshDeserialize)]
pub struct RowBytes {
    pub is_whole: bool,
    pub put: u64,
    pub removed: u64,
    pub continued: u64,
    pub turn: u64,
}

/// A shipped checkpoint.
pub struct ShippedContents {
    pub head: Head,
    /// The words of the scheme's state.
    pub words: Vec<u32>,
    /// The blocks of the stash.
    pub stash: Vec<u32>,
    pub rows: Vec<Row>,
    /// The bucket versions that a restore from the checkpoint reads.
    pub needed: BTreeSet<BucketVersion>,
    /// The names of all pieces that a restore from the checkpoint reads.
    pub pieces: Vec<String>,
    /// The numbers of bytes in the store of the pieces that this checkpoint itself has sent.
    pub sent: Vec<usize>,
    /// The places for payloads that this checkpoint has sent, without the seal.
    pub places: usize,
}

/// The words and rows that a checkpoint has sent, defined here a second time.
#[derive(BorshDeserialize)]
struct StatePart {
    epoch: u32,
    number: u64,
    pieces: Vec<[u8; 32]>,
}

/// The payloads that a checkpoint has sent, defined here a second time.
#[derive(BorshDeserialize)]
struct PayloadSet {
    epoch: u32,
    number: u64,
    first: u64,
    _accesses: u64,
    _spare: u64,
    pieces: Vec<[u8; 32]>,
}

impl ShippedContents {
    /// Opens the checkpoint of this name.
    ///
    /// # Panics
    /// If it is not what a vault ships.
    pub async fn open(header: &VaultHeader, name: &str, store: &VersionedMemory) -> ShippedContents {
        Self::open_with(header, name, store, &master()).await
    }

    /// Opens the checkpoint of this name with this key.
    ///
    /// # Panics
    /// If it is not what a vault ships.
    pub async fn open_with(
        header: &VaultHeader,
        name: &str,
        store: &VersionedMemory,
        key: &MasterKey,
    ) -> ShippedContents {
        Self::find(header, name, store, key).await.expect("it is there")
    }

    /// Opens the checkpoint of this name; `None` if a part of it is not in the store.
    ///
    /// # Panics
    /// If it is not what a vault ships.
    pub async fn find(
        header: &VaultHeader,
        name: &str,
        store: &VersionedMemory,
        key: &MasterKey,
    ) -> Option<ShippedContents> {
        let get = async |name: &str| store.get(name, usize::MAX).await.expect("memory");
        let open = |purpose, name: &str, sealed: &[u8]| {
            let context = [header.vault.0.as_slice(), name.as_bytes()].concat();
            blob::open(key, purpose, &context, sealed).expect("what was shipped opens")
        };
        let text = open(Purpose::MANIFEST, name, &get(name).await?);
        // With a journal in the store, the place of an object comes after them.
        let (parts, sets): (Vec<StatePart>, Vec<PayloadSet>) =
            BorshDeserialize::deserialize(&mut &text[..]).expect("a manifest decodes");
        let (mut merged, mut pieces, mut sent) = (MergedState::of(header, key), Vec::new(), Vec::new());
        for StatePart { epoch, number, pieces: digests } in parts {
            let mut stream = Vec::new();
            sent.clear();
            for nth in 0..digests.len() {
                let piece = format!("piece/{epoch:08x}-{number:016x}-{nth:08x}");
                let sealed = get(&piece).await?;
                sent.push(sealed.len());
                stream.extend(open(Purpose::CHECKPOINT, &piece, &sealed));
                pieces.push(piece);
            }
            merged.take(&stream);
        }
        let place = 4 + header.parameters.scheme.block_bytes() as usize;
        let (mut payloads, mut places) = (BTreeSet::new(), 0);
        for PayloadSet { epoch, number, first, pieces: digests, .. } in sets {
            let own = order(name) == Some((epoch, number));
            for nth in 0..digests.len() as u64 {
                let piece = format!("piece/{epoch:08x}-{number:016x}-{:08x}", first + nth);
                let sealed = get(&piece).await?;
                let context = [header.vault.0.as_slice(), piece.as_bytes()].concat();
                // Another key may have sealed what an earlier epoch has sent.
                if let Ok(text) = blob::open(key, Purpose::CHECKPOINT, &context, &sealed) {
                    let numbers = text.chunks_exact(place).map(|place| place.as_chunks::<4>().0[0]);
                    payloads.extend(numbers.map(u32::from_le_bytes).filter(|number| *number > 0));
                    places += if own { text.len() / place } else { 0 };
                }
                if own {
                    sent.push(sealed.len());
                }
                pieces.push(piece);
            }
        }
        let MergedState { words, rows, last, .. } = merged;
        let (head, stash) = last.expect("the checkpoint itself has sent a part");
        let (scheme, versions) = words.split_at(scheme_words(&header.parameters.scheme) as usize);
        let needed = (0..).map(Bucket).zip(versions.as_chunks().0).filter_map(|(bucket, version)| {
            let [epoch, high, low] = *version;
            let version = Version { epoch, counter: u64::from(high) << 32 | u64::from(low) };
            (!version.is_never()).then_some(BucketVersion { bucket, version })
        });
        let needed = needed.collect();
        payloads.extend(in_buckets(&header.parameters.scheme, scheme, &head.rest));
        assert!(
            stash.iter().all(|block| payloads.contains(&(block + 1))),
            "a payload is nowhere in the store"
        );
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_unstable();
        Some(ShippedContents { head, words: scheme.to_vec(), stash, rows, needed, pieces, sent, places })
    }
}

/// The numbers of the blocks whose payloads the buckets of a checkpoint still have, defined here a second time: block + 1 in
/// the words of a slot. The top bit marks a slot that was read.
fn in_buckets(scheme: &SchemeParameters, words: &[u32], mut rest: &[u8]) -> Vec<u32> {
    const READ: u32 = 1 << 31;
    let SchemeParameters::Ring(ring) = scheme else { return Vec::new() };
    let [_, begun, _]: [u64; 3] = BorshDeserialize::deserialize(&mut rest).expect("the schedule");
    let (_, replaced): (Vec<u64>, Vec<u32>) = BorshDeserialize::deserialize(&mut rest).expect("the rest");
    let slots = &words[ring.capacity as usize..];
    let mut numbers: Vec<u32> =
        slots.iter().map(|word| word ^ READ).filter(|number| *number < READ).collect();
    // The buckets that an eviction in slices has read and not filled: the slice of the leaves comes first.
    let (tree, mut levels) = (ring.geometry(), ring.slices());
    levels.reverse();
    let (path, read) = (begun / levels.len() as u64, (begun % levels.len() as u64) as usize);
    let leaf = Leaf(path.reverse_bits() >> (63 - ring.leaf_level.0) >> 1);
    for level in levels[..read].iter().cloned().flatten().map(Level) {
        let bucket = tree.bucket(level, leaf).0;
        let each = u64::from(tree.shape(level).slots);
        let first = tree.slots_above(level) + (bucket - tree.first_of(level).0) * each;
        numbers.extend(&slots[first as usize..][..each as usize]);
    }
    numbers.extend(replaced);
    numbers
}

/// The state parts of a checkpoint, put together.
struct MergedState<'a> {
    header: &'a VaultHeader,
    key: &'a MasterKey,
    words: Vec<u32>,
    rows: BTreeMap<[u8; 32], Row>,
    begun: Vec<u8>,
    last: Option<(Head, Vec<u32>)>,
}

impl<'a> MergedState<'a> {
    fn of(header: &'a VaultHeader, key: &'a MasterKey) -> Self {
        let words = scheme_words(&header.parameters.scheme) + 3 * header.parameters.layout().buckets();
        let (words, rows, begun) = (vec![0; words as usize], BTreeMap::new(), Vec::new());
        MergedState { header, key, words, rows, begun, last: None }
    }

    fn put(&mut self, row: Row) {
        let name = [&self.header.vault.0[..], &row.key[..]].concat();
        self.rows.insert(*derive(self.key, Purpose::ROWS, &Salt([0; 32]), &name), row);
    }

    fn take(&mut self, stream: &[u8]) {
        let mut rest = stream;
        let head = Head::deserialize(&mut rest).expect("the head decodes");
        let mut take = |bytes: u64| {
            let (taken, behind) = rest.split_at(bytes as usize);
            rest = behind;
            taken
        };
        let mut delta = take(head.delta);
        if !delta.is_empty() {
            let runs: Vec<(u64, Vec<u32>)> =
                BorshDeserialize::deserialize(&mut delta).expect("runs of words");
            for (first, words) in runs {
                self.words[first as usize..][..words.len()].copy_from_slice(&words);
            }
        }
        let words_of = |bytes: &[u8]| -> Vec<u32> {
            bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
        };
        let turn = words_of(take(4 * head.turn.1));
        self.words[head.turn.0 as usize..][..turn.len()].copy_from_slice(&turn);
        let stash = words_of(take(4 * head.stash));
        let RowBytes { is_whole, put, removed, continued, turn } = head.rows;
        let (mut put, removed, turn) = (take(put), take(32 * removed), take(turn));
        assert!(rest.iter().all(|byte| *byte == 0), "the padding is zeros");
        if is_whole {
            self.rows.clear();
        }
        while !put.is_empty() {
            self.put(Row::deserialize(&mut put).expect("a row decodes"));
        }
        removed.as_chunks().0.iter().for_each(|hash| drop(self.rows.remove(hash)));
        if continued == 0 {
            self.begun.clear();
        }
        let stream = [std::mem::take(&mut self.begun), turn.to_vec()].concat();
        let mut rest = &stream[..];
        let mut at = rest;
        while let Ok(row) = Row::deserialize(&mut at) {
            self.put(row);
            rest = at;
        }
        self.begun = rest.to_vec();
        self.last = Some((head, stash));
    }
}

/// Returns the number of words of a scheme's state: positions, slots, and a bit for each bucket.
fn scheme_words(scheme: &SchemeParameters) -> u64 {
    let layout = scheme.layout();
    match scheme {
        SchemeParameters::Ring(ring) => ring.capacity + layout.slots() + layout.buckets().div_ceil(32),
        SchemeParameters::Path(path) => path.capacity,
        SchemeParameters::Trivial(_) => 0,
    }
}

/// The epoch and the number in the name of a checkpoint's blob.
pub fn order(name: &str) -> Option<(u32, u64)> {
    let (epoch, number) = name.strip_prefix("checkpoint/")?.split_once('-')?;
    Some((u32::from_str_radix(epoch, 16).ok()?, u64::from_str_radix(number, 16).ok()?))
}

/// The name of the checkpoint that a receipt is for.
pub fn name(receipt: &Receipt) -> String {
    format!("checkpoint/{:08x}-{:016x}", receipt.epoch, receipt.checkpoint)
}
