//! The contents of a shipped checkpoint, read as the owner of the key can.

use super::master;
use ameles_core::store::BucketVersion;
use ameles_core::types::Bucket;
use ameles_core::types::Version;
use ameles_seal::blob;
use ameles_seal::derive::Purpose;
use ameles_seal::master_key::MasterKey;
use ameles_seal::versions::VersionsHead;
use ameles_store::{Blobs, VersionedMemory};
use ameles_vault::{Receipt, Row, SchemeParameters, VaultHeader};
use borsh::BorshDeserialize;
use std::collections::BTreeSet;

/// The beginning of a shipped checkpoint's stream, defined here a second time.
#[derive(BorshDeserialize)]
pub struct Head {
    pub number: u64,
    pub epoch: u32,
    pub accesses: u64,
    pub rest: Vec<u8>,
    pub versions: VersionsHead,
    pub history: Vec<(u64, [u8; 32])>,
    pub stash: u64,
    pub rows: u64,
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
    /// The names of the checkpoint's pieces.
    pub pieces: Vec<String>,
    /// The number of bytes of manifest and pieces in the store.
    pub bytes: usize,
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
        let manifest = get(name).await?;
        let (mut bytes, mut stream, mut pieces) = (manifest.len(), Vec::new(), Vec::new());
        let text = open(Purpose::MANIFEST, name, &manifest);
        // With a journal in the store, the place of an object comes after them.
        let digests: Vec<[u8; 32]> =
            borsh::BorshDeserialize::deserialize(&mut &text[..]).expect("a manifest decodes");
        for nth in 0..digests.len() {
            let piece = format!("{}-{nth:08x}", name.replace("checkpoint/", "piece/"));
            let sealed = get(&piece).await?;
            bytes += sealed.len();
            stream.extend(open(Purpose::CHECKPOINT, &piece, &sealed));
            pieces.push(piece);
        }
        let mut rest = &stream[..];
        let head = Head::deserialize(&mut rest).expect("the head decodes");
        let mut words = |count: u64| {
            let (words, behind) = rest.split_at(4 * count as usize);
            rest = behind;
            words.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect::<Vec<u32>>()
        };
        let buckets = header.parameters.layout().buckets();
        let scheme = words(scheme_words(&header.parameters.scheme));
        let versions = words(3 * buckets);
        let needed = (0..).map(Bucket).zip(versions.as_chunks().0).filter_map(|(bucket, version)| {
            let [epoch, high, low] = *version;
            let version = Version { epoch, counter: u64::from(high) << 32 | u64::from(low) };
            (!version.is_never()).then_some(BucketVersion { bucket, version })
        });
        let needed = needed.collect();
        let stash = words(head.stash);
        let block = u64::from(header.parameters.scheme.block_bytes());
        let mut rows = &rest[(head.stash * (4 + block)) as usize..][..head.rows as usize];
        let mut found = Vec::new();
        while !rows.is_empty() {
            found.push(Row::deserialize(&mut rows).expect("a row decodes"));
        }
        Some(ShippedContents { head, words: scheme, stash, rows: found, needed, pieces, bytes })
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
