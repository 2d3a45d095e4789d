//! A blob opens completely, under its own name and key, or not at all.

use ameles_seal::blob::{BlobError, open, seal, sealed_bytes};
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::master_key::MasterKey;
use proptest::prelude::*;

/// The number of bytes of a whole chunk, sealed.
const CHUNK: usize = (256 << 10) + 16;
const HEADER: usize = 40;

fn master(byte: u8) -> MasterKey {
    MasterKey::take(&mut [byte; 32])
}

fn sealed(cipher: Cipher, text: &[u8]) -> Vec<u8> {
    seal(&master(1), Purpose::CHECKPOINT, b"name", cipher, Salt([2; 32]), text)
}

fn opened(blob: &[u8]) -> Result<Vec<u8>, BlobError> {
    open(&master(1), Purpose::CHECKPOINT, b"name", blob)
}

/// Three chunks, the last of them short.
fn three_chunks() -> Vec<u8> {
    let text: Vec<u8> = (0..2 * (256 << 10) + 100).map(|i: u32| (i % 251) as u8).collect();
    sealed(Cipher::default(), &text)
}

#[test]
fn every_length_around_a_chunk_opens_as_it_was() {
    for cipher in Cipher::ALL {
        for bytes in [0, 1, 15, 16, 17, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 512 << 10] {
            let text: Vec<u8> = (0..bytes).map(|i: u32| (i % 253) as u8).collect();
            let blob = sealed(cipher, &text);
            assert_eq!(blob.len(), sealed_bytes(text.len()));
            assert!(opened(&blob).unwrap() == text, "{bytes} bytes");
        }
    }
}

#[test]
fn any_bit_of_any_byte_changed_is_refused() {
    for cipher in Cipher::ALL {
        let blob = sealed(cipher, b"what is sealed");
        for at in 0..blob.len() {
            for bit in 0..8 {
                let mut blob = blob.clone();
                blob[at] ^= 1 << bit;
                assert!(opened(&blob).is_err(), "byte {at} bit {bit}");
            }
        }
    }
}

#[test]
fn another_key_purpose_or_name_is_refused() {
    let blob = sealed(Cipher::default(), b"what is sealed");
    let forged = Err(BlobError::Forged { chunk: 0 });
    assert_eq!(open(&master(2), Purpose::CHECKPOINT, b"name", &blob), forged);
    assert_eq!(open(&master(1), Purpose::ROWS, b"name", &blob), forged);
    assert_eq!(open(&master(1), Purpose::CHECKPOINT, b"nam", &blob), forged);
    assert_eq!(open(&master(1), Purpose::CHECKPOINT, b"name2", &blob), forged);
}

#[test]
fn chunks_dropped_repeated_reordered_or_added_are_refused() {
    let blob = three_chunks();
    opened(&blob).unwrap();
    let (header, chunks) = blob.split_at(HEADER);
    let chunks: Vec<&[u8]> = chunks.chunks(CHUNK).collect();
    let [a, b, c] = chunks[..] else { panic!("there are three chunks") };
    for (order, first_wrong) in [
        (vec![], 0),
        (vec![a], 0),
        (vec![a, b], 1),
        (vec![a, c], 1),
        (vec![b, a, c], 0),
        (vec![a, b, b, c], 2),
        (vec![a, b, c, c], 2),
        (vec![b, c], 0),
        (vec![c], 0),
    ] {
        let blob = [header, &order.concat()].concat();
        assert_eq!(opened(&blob), Err(BlobError::Forged { chunk: first_wrong }));
    }
}

#[test]
fn a_blob_cut_or_lengthened_anywhere_is_refused() {
    let blob = sealed(Cipher::default(), b"what is sealed");
    for kept in 0..blob.len() {
        assert!(opened(&blob[..kept]).is_err(), "{kept} bytes kept");
    }
    for added in 1..40 {
        let blob = [blob.as_slice(), &vec![0; added]].concat();
        assert!(opened(&blob).is_err(), "{added} bytes added");
    }
    let blob = three_chunks();
    for kept in [HEADER + CHUNK - 1, HEADER + CHUNK, HEADER + CHUNK + 1, HEADER + 2 * CHUNK, blob.len() - 1] {
        assert!(opened(&blob[..kept]).is_err(), "{kept} bytes kept");
    }
}

#[test]
fn chunks_of_another_blob_of_the_same_name_are_refused() {
    let text = vec![1; 300 << 10];
    let one = seal(&master(1), Purpose::CHECKPOINT, b"name", Cipher::default(), Salt([2; 32]), &text);
    let two = seal(&master(1), Purpose::CHECKPOINT, b"name", Cipher::default(), Salt([3; 32]), &text);
    let mixed = [&one[..HEADER + CHUNK], &two[HEADER + CHUNK..]].concat();
    assert_eq!(opened(&mixed), Err(BlobError::Forged { chunk: 1 }));
}

#[test]
fn foreign_and_newer_formats_are_said_to_be_so() {
    let blob = sealed(Cipher::default(), b"what is sealed");
    assert_eq!(opened(b""), Err(BlobError::NotABlob));
    assert_eq!(opened(&[0; 100]), Err(BlobError::NotABlob));
    let mut newer = blob.clone();
    newer[5] = 2;
    assert_eq!(opened(&newer), Err(BlobError::NewerFormat { found: 2 }));
    let mut unknown = blob;
    unknown[6] = 99;
    assert_eq!(opened(&unknown), Err(BlobError::UnknownCipher { found: 99 }));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(opened(&bytes).is_err());
        let with_header = [&sealed(Cipher::default(), b"")[..HEADER], &bytes].concat();
        prop_assert!(opened(&with_header).is_err());
    }

    #[test]
    fn a_large_blob_changed_at_any_byte_is_refused(at: prop::sample::Index, flip in 1..=255u8) {
        let mut blob = three_chunks();
        let at = at.index(blob.len());
        blob[at] ^= flip;
        prop_assert!(opened(&blob).is_err());
    }
}
