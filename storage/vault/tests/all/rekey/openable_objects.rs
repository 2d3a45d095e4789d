//! The objects in a store that a key opens, one by one.

use super::owner::Owner;
use crate::support::shipped_contents::{ShippedContents, order};
use ameles_core::store::BucketVersion;
use ameles_core::types::Slot;
use ameles_seal::blob;
use ameles_seal::derive::Purpose;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::{Sealed, VersionedSlot};
use ameles_seal::slot_format::Nonces;
use ameles_seal::versions::TrustedVersions;
use ameles_store::Blobs;
use ameles_vault::VaultHeader;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// The names of all objects in the store that this key opens; a bucket counts if any of its slots opens. `reader` is a
/// key that opens the uploaded checkpoint, which holds the salts of epochs: they are secret under neither key.
pub async fn opened_by(owner: &Owner, key: &MasterKey, reader: &MasterKey) -> Vec<String> {
    let mut opened = Vec::new();
    let blobs = owner.store.list("").await.unwrap();
    for name in blobs.iter().map(|blob| &blob.name) {
        let bytes = owner.store.get(name, usize::MAX).await.unwrap().unwrap();
        let context = [owner.header.vault.0.as_slice(), name.as_bytes()].concat();
        let opens = |purpose| blob::open(key, purpose, &context, &bytes).is_ok();
        let is_opened = match name.split('/').next() {
            Some("vault") => VaultHeader::decode(&bytes, key).is_ok(),
            Some("epoch" | "ended") => opens(Purpose::HEADER),
            Some("checkpoint") => opens(Purpose::MANIFEST),
            Some("piece") => opens(Purpose::CHECKPOINT),
            Some("log") => opens(Purpose::named("store-journal")),
            _ => panic!("an object that this test does not know: {name}"),
        };
        if is_opened {
            opened.push(name.clone());
        }
    }
    let newest = blobs.iter().map(|blob| &blob.name).filter(|name| order(name).is_some()).max();
    let shipped =
        ShippedContents::open_with(&owner.header, newest.expect("one is shipped"), &owner.store, reader)
            .await;
    let sealed = sealed(owner, key, &shipped);
    for of in owner.store.bucket_versions() {
        if any_slot_opens(&sealed, of).await {
            opened.push(format!("{} {}", of.bucket, of.version));
        }
    }
    opened
}

fn sealed<'a>(
    owner: &'a Owner,
    key: &MasterKey,
    shipped: &ShippedContents,
) -> Sealed<&'a ameles_store::VersionedMemory> {
    let layout = owner.header.parameters.layout();
    let mut words = vec![0; (TrustedVersions::WORDS * layout.buckets()) as usize];
    for of in &shipped.needed {
        let at = (TrustedVersions::WORDS * of.bucket.0) as usize;
        let counter = of.version.counter;
        words[at..at + 3].copy_from_slice(&[of.version.epoch, (counter >> 32) as u32, counter as u32]);
    }
    let versions = TrustedVersions::from_parts(shipped.head.versions.clone(), &words).unwrap();
    let nonces = Nonces::Salted(Box::new(ChaCha20Rng::seed_from_u64(1)));
    let cipher = owner.header.parameters.cipher().unwrap();
    Sealed::new(&owner.store, key, cipher, nonces, versions, SealThreads::single()).unwrap()
}

async fn any_slot_opens(sealed: &Sealed<&ameles_store::VersionedMemory>, of: BucketVersion) -> bool {
    for index in 0..sealed.layout().extent(of.bucket).slots {
        let slot = Slot { bucket: of.bucket, index };
        let mut plain = vec![0; sealed.layout().slot_bytes(slot)];
        if sealed.read_places(&[VersionedSlot { slot, version: of.version }], &mut plain).await.is_ok() {
            return true;
        }
    }
    false
}
