//! The speed at which each cipher seals and opens, next to a bare copy of the same bytes. Also the time that the
//! sealing layer adds.
//!
//! `cargo bench -p ameles-seal --bench sealing_speed`
#![allow(clippy::print_stdout, reason = "it prints its figures")]

use aes_gcm_siv::Aes256GcmSiv;
use aes_gcm_siv::aead::{AeadInOut, KeyInit};
use ameles_core::store::{BucketVersion, Place, Store, Untrusted, UntrustedError};
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::{Bucket, Slot, Version};
use ameles_seal::cipher::{Cipher, CipherKey};
use ameles_seal::derive::Salt;
use ameles_seal::identity::{associated, nonce};
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::{Sealed, sealed_layout};
use ameles_seal::slot_format::{Nonces, SlotFormat};
use ameles_seal::versions::{TrustedVersions, VaultId};
use futures::executor::block_on;
use rand_core::{OsRng, TryRngCore};
use std::cell::RefCell;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The number of bytes that each figure moves in one round: within the second-level cache.
const ROUND_BYTES: usize = 1 << 20;
const ROUND_TIME: Duration = Duration::from_millis(100);
const ROUNDS: usize = 7;

fn main() {
    println!("GB/s, best of {ROUNDS} rounds; one thread");
    println!("{:<20} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}", "", "336 B", "", "4 KiB", "", "64 KiB", "");
    println!(
        "{:<20} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "", "seal", "open", "seal", "open", "seal", "open"
    );
    print!("{:<20}", "copy");
    for slot in [336, 4 << 10, 64 << 10] {
        let speed = copy(slot);
        print!(" {speed:>8.2} {speed:>8.2}");
    }
    println!();
    for cipher in Cipher::ALL {
        print!("{:<20}", cipher.name());
        for slot in [336, 4 << 10, 64 << 10] {
            let (seal, open) = cipher_alone(cipher, slot);
            print!(" {seal:>8.2} {open:>8.2}");
        }
        println!();
    }

    println!();
    println!(
        "nanoseconds a slot: the cipher alone, and the whole layer over a flat array (20 buckets of 5 slots)"
    );
    println!("under counted nonces (1) and with a salt in each slot (2)");
    println!(
        "{:<27} {:>6} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "", "seal", "write 1", "write 2", "open", "read 1", "read 2"
    );
    for cipher in Cipher::ALL {
        for slot in [80, 336, 4 << 10, 64 << 10] {
            let (seal, open) = cipher_alone(cipher, slot);
            let (write, read) = layer(cipher, SlotFormat::Counted, slot as u32);
            let (salted_write, salted_read) = layer(cipher, SlotFormat::Salted, slot as u32);
            let alone = |speed: f64| slot as f64 / speed;
            println!(
                "{:<18}{slot:>7} B {:>6.0} {write:>8.0} {salted_write:>8.0} {:>8.0} {read:>8.0} {salted_read:>8.0}",
                cipher.name(),
                alone(seal),
                alone(open)
            );
        }
    }
    println!("AES-256-GCM-SIV (RustCrypto), which needs no second pass of ours and still needs the salt:");
    for slot in [80, 336, 4 << 10, 64 << 10] {
        println!("{:<18}{slot:>7} B {:>6.0}", "", misuse_resistant(slot));
    }

    println!();
    println!("GB/s of a batch of 64 slots of 64 KiB through the layer");
    for threads in [1, 2] {
        for format in [SlotFormat::Counted, SlotFormat::Salted] {
            let workers = SealThreads::threads(threads).expect("threads");
            let (write, read) = large_batch(format, workers);
            println!("{threads} thread(s), {format:?} {write:>8.2} written {read:>8.2} read");
        }
    }
}

/// The shortest time of one call, over rounds of many calls.
fn best(mut call: impl FnMut()) -> f64 {
    call();
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let (start, mut calls) = (Instant::now(), 0u32);
        while start.elapsed() < ROUND_TIME {
            call();
            calls += 1;
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(calls));
    }
    best
}

fn copy(slot: usize) -> f64 {
    let from = vec![1u8; ROUND_BYTES / slot * slot];
    let mut to = vec![0u8; from.len()];
    let seconds = best(|| {
        for (to, from) in to.chunks_exact_mut(slot).zip(from.chunks_exact(slot)) {
            black_box(to).copy_from_slice(black_box(from));
        }
    });
    from.len() as f64 / seconds / 1e9
}

fn place(counter: u64) -> Place {
    let slot = Slot { bucket: Bucket(7), index: 3 };
    Place { slot, version: Version { epoch: 1, counter } }
}

fn cipher_alone(cipher: Cipher, slot: usize) -> (f64, f64) {
    let key = CipherKey::new(cipher, &[7; 32]);
    let mut text = vec![0u8; ROUND_BYTES / slot * slot];
    let bytes = text.len() as f64;
    let mut tags = vec![[0; 16]; text.len() / slot];
    let seal = best(|| {
        for (at, text) in text.chunks_exact_mut(slot).enumerate() {
            let place = place(at as u64);
            tags[at] = key.seal(&nonce(&place), &associated(&place, SlotFormat::Counted), text);
        }
    });
    let sealed = text.clone();
    let open_and_restore = best(|| {
        for (at, text) in text.chunks_exact_mut(slot).enumerate() {
            text.copy_from_slice(&sealed[at * slot..][..slot]);
            let place = place(at as u64);
            key.open(&nonce(&place), &associated(&place, SlotFormat::Counted), text, &tags[at])
                .expect("it was sealed so");
        }
    });
    let restore = copy(slot);
    let open = open_and_restore - bytes / (restore * 1e9);
    (bytes / seal / 1e9, bytes / open / 1e9)
}

/// Returns the number of nanoseconds in which the misuse-resistant mode seals a slot.
fn misuse_resistant(slot: usize) -> f64 {
    let cipher = Aes256GcmSiv::new(&[7; 32].into());
    let mut text = vec![0u8; slot];
    let seconds = best(|| {
        let tag = cipher.encrypt_inout_detached(&[1; 12].into(), &[2; 44], text.as_mut_slice().into());
        black_box(tag).expect("the text is short enough");
    });
    seconds * 1e9
}

/// Untrusted memory as one flat array, one version a bucket.
struct Flat {
    layout: Layout,
    slot_bytes: usize,
    bytes: RefCell<Vec<u8>>,
}

impl Flat {
    fn new(plain: &Layout, format: SlotFormat) -> Self {
        let layout = sealed_layout(plain, format);
        let bytes = RefCell::new(vec![0; layout.bytes().0 as usize]);
        Flat { slot_bytes: layout.extents()[0].slot_bytes as usize, layout, bytes }
    }
}

impl Untrusted for Flat {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        let slots = self.layout.extents()[0].slots as usize;
        let bytes = self.bytes.borrow();
        for (place, into) in places.iter().zip(into.chunks_exact_mut(self.slot_bytes)) {
            let at = place.slot.bucket.0 as usize * slots + place.slot.index as usize;
            into.copy_from_slice(&bytes[at * self.slot_bytes..][..self.slot_bytes]);
        }
        Ok(())
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        let bucket_bytes = self.layout.extents()[0].slots as usize * self.slot_bytes;
        let mut bytes = self.bytes.borrow_mut();
        for (written, from) in buckets.iter().zip(from.chunks_exact(bucket_bytes)) {
            let at = written.bucket.0 as usize * bucket_bytes;
            bytes[at..][..bucket_bytes].copy_from_slice(from);
        }
        Ok(())
    }

    async fn delete(&self, _: &[BucketVersion]) -> Result<(), UntrustedError> {
        Ok(())
    }
}

fn sealed(cipher: Cipher, format: SlotFormat, layout: &Layout, workers: SealThreads) -> Sealed<Flat> {
    let master = MasterKey::take(&mut [9; 32]);
    let versions = TrustedVersions::new(VaultId([1; 16]), layout.buckets());
    let nonces = match format {
        SlotFormat::Counted => Nonces::Counted,
        SlotFormat::Salted => Nonces::Salted(Box::new(OsRng.unwrap_err())),
    };
    let sealed = Sealed::new(Flat::new(layout, format), &master, cipher, nonces, versions, workers)
        .expect("the layout fits");
    sealed.begin_epoch(Salt([2; 32])).expect("the first epoch");
    sealed
}

/// Seconds of one write of all buckets, and of one read of all slots.
fn whole(sealed: &Sealed<Flat>) -> (f64, f64) {
    let extent = sealed.layout().extents()[0];
    let buckets: Vec<Bucket> = (0..extent.buckets).map(Bucket).collect();
    let slots: Vec<Slot> = buckets
        .iter()
        .flat_map(|&bucket| (0..extent.slots).map(move |index| Slot { bucket, index }))
        .collect();
    let mut plain = vec![3u8; sealed.layout().bytes().0 as usize];
    let write = best(|| block_on(sealed.write(&buckets, &plain)).expect("it writes"));
    let read = best(|| block_on(sealed.read(&slots, &mut plain)).expect("it reads"));
    (write, read)
}

fn layer(cipher: Cipher, format: SlotFormat, slot_bytes: u32) -> (f64, f64) {
    let layout = Layout::new(vec![Extent { buckets: 20, slots: 5, slot_bytes }]);
    let (write, read) = whole(&sealed(cipher, format, &layout, SealThreads::single()));
    (write / 100.0 * 1e9, read / 100.0 * 1e9)
}

fn large_batch(format: SlotFormat, workers: SealThreads) -> (f64, f64) {
    let layout = Layout::new(vec![Extent { buckets: 16, slots: 4, slot_bytes: 64 << 10 }]);
    let (write, read) = whole(&sealed(Cipher::default(), format, &layout, workers));
    let bytes = layout.bytes().0 as f64;
    (bytes / write / 1e9, bytes / read / 1e9)
}
