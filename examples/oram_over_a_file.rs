//! A sealed Ring ORAM over one file.
//!
//!     cargo run -p ameles-examples --example oram_over_a_file

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_core::oram::{Access, Oram};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::ring::{RingOram, RingParameters};
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_core::types::BlockId;
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::Salt;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::{Sealed, sealed_layout};
use ameles_seal::slot_format::{Nonces, SlotFormat};
use ameles_seal::versions::{TrustedVersions, VaultId};
use futures::executor::block_on;
use rand_chacha::ChaCha20Rng;
use rand_core::{OsRng, SeedableRng, TryRngCore};
use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

fn main() -> Result<(), Box<dyn Error>> {
    let (blocks, block_bytes) = (1024, 4096);
    let mut random = ChaCha20Rng::from_os_rng();
    let master = MasterKey::draw(&mut random);

    // The scheme states which slots it needs; sealing makes each of them longer by its salt and its tag.
    let parameters = RingParameters::for_capacity(blocks, block_bytes as u32, blocks / 8, 1);
    let layout = sealed_layout(&parameters.geometry().layout(), SlotFormat::Salted);
    let versions = TrustedVersions::new(VaultId::draw(&mut random), layout.buckets());
    let file = OneFile { file: tempfile::tempfile()?, layout };
    let nonces = Nonces::Salted(Box::new(OsRng.unwrap_err()));
    let sealed = Sealed::new(file, &master, Cipher::default(), nonces, versions, SealThreads::single())?;
    sealed.begin_epoch(Salt::draw(&mut random))?;

    let positions = FlatPositionMap::new(Positions::new(blocks));
    let oram = RingOram::new(parameters, sealed, positions, random)?;
    let secret = vec![42; block_bytes];
    let mut read = vec![0; block_bytes];
    block_on(async {
        oram.access(&mut [Access::Write(BlockId(7), &secret)]).await?;
        // More accesses, so that block 7 leaves the stash for the file. Off-line work may be pending after each.
        for _ in 0..1000 {
            oram.access(&mut [Access::Dummy]).await?;
            while oram.pending_steps() > 0 {
                oram.step().await?;
            }
        }
        oram.access(&mut [Access::Read(BlockId(7), &mut read)]).await
    })?;
    assert_eq!(read, secret);

    let sealed = oram.store();
    let bytes = sealed.untrusted().file.metadata()?.len();
    println!("block 7 was read back; the file spans {bytes} bytes and holds it sealed");
    assert!(!sealed.untrusted().holds(&secret)?, "the plaintext must not be in the file");
    Ok(())
}

/// Buckets in one file, each at its offset, in its newest version only: after a crash there is no recovery.
struct OneFile {
    file: File,
    layout: Layout,
}

impl OneFile {
    /// Goes to a slot. Every bucket gets as much room as the largest; a file system stores no holes.
    fn go_to(&self, bucket: u64, index: u32, slot_bytes: usize) -> io::Result<&File> {
        let room = self.layout.extents().iter().map(|e| u64::from(e.slots) * u64::from(e.slot_bytes)).max();
        let start = bucket * room.unwrap_or(0) + u64::from(index) * slot_bytes as u64;
        (&self.file).seek(SeekFrom::Start(start))?;
        Ok(&self.file)
    }

    fn holds(&self, needle: &[u8]) -> io::Result<bool> {
        let mut all = Vec::new();
        self.go_to(0, 0, 0)?.read_to_end(&mut all)?;
        Ok(all.windows(needle.len()).any(|window| window == needle))
    }
}

impl Untrusted for OneFile {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    async fn read(&self, places: &[Place], mut into: &mut [u8]) -> Result<(), UntrustedError> {
        for place in places {
            let (slot, rest) = into.split_at_mut(self.layout.slot_bytes(place.slot));
            let mut file = self.go_to(place.slot.bucket.0, place.slot.index, slot.len()).map_err(failed)?;
            file.read_exact(slot).map_err(failed)?;
            into = rest;
        }
        Ok(())
    }

    async fn write(&self, buckets: &[BucketVersion], mut from: &[u8]) -> Result<(), UntrustedError> {
        for written in buckets {
            let (bucket, rest) = from.split_at(self.layout.bucket_bytes(written.bucket));
            let mut file = self.go_to(written.bucket.0, 0, 0).map_err(failed)?;
            file.write_all(bucket).map_err(failed)?;
            from = rest;
        }
        self.file.sync_data().map_err(failed)
    }

    async fn delete(&self, _: &[BucketVersion]) -> Result<(), UntrustedError> {
        // An older version is overwritten already.
        Ok(())
    }
}

fn failed(error: io::Error) -> UntrustedError {
    UntrustedError::Unavailable(Box::new(error))
}
