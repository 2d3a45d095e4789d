//! A journal's records open only under their own number, and no number is sealed twice.

use ameles_seal::cipher::{Cipher, Forged};
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::master_key::MasterKey;
use ameles_seal::record::{OVERHEAD_BYTES, RecordError, RecordOpener, RecordSealer};
use proptest::prelude::*;

fn master(byte: u8) -> MasterKey {
    MasterKey::take(&mut [byte; 32])
}

fn sealer(cipher: Cipher) -> RecordSealer {
    RecordSealer::new(&master(1), Purpose::JOURNAL, cipher, &Salt([2; 32]), b"vault")
}

fn opener(cipher: Cipher) -> RecordOpener {
    RecordOpener::new(&master(1), Purpose::JOURNAL, cipher, &Salt([2; 32]), b"vault")
}

proptest! {
    #[test]
    fn records_open_as_they_were_under_their_number_alone(
        cipher in proptest::sample::select(&Cipher::ALL[..]),
        texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..100), 2..10),
        flip: prop::sample::Index,
    ) {
        let (mut sealer, opener) = (sealer(cipher), opener(cipher));
        for (sequence, text) in (0..).step_by(3).zip(&texts) {
            let mut sealed = vec![1, 2, 3];
            sealer.seal(sequence, text, &mut sealed).unwrap();
            prop_assert_eq!(sealed.len(), 3 + text.len() + OVERHEAD_BYTES);
            let mut opened = vec![9];
            opener.open(sequence, &sealed[3..], &mut opened).unwrap();
            prop_assert_eq!(&opened[1..], text);
            prop_assert_eq!(opener.open(sequence + 1, &sealed[3..], &mut opened), Err(Forged));
            prop_assert_eq!(opened.len(), 1 + text.len());
            let at = 3 + flip.index(sealed.len() - 3);
            sealed[at] ^= 1;
            prop_assert_eq!(opener.open(sequence, &sealed[3..], &mut opened), Err(Forged));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(sequence: u64, bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let mut out = Vec::new();
        prop_assert_eq!(opener(Cipher::default()).open(sequence, &bytes, &mut out), Err(Forged));
        prop_assert!(out.is_empty());
    }
}

#[test]
fn a_number_that_was_passed_is_refused_and_nothing_is_written() {
    let mut sealer = sealer(Cipher::default());
    let mut out = Vec::new();
    sealer.seal(5, b"five", &mut out).unwrap();
    let length = out.len();
    for sequence in [0, 4, 5] {
        assert_eq!(sealer.seal(sequence, b"again", &mut out), Err(RecordError::Passed { sequence, next: 6 }));
    }
    assert_eq!(out.len(), length);
    sealer.seal(u64::MAX, b"last", &mut out).unwrap();
    assert_eq!(sealer.seal(u64::MAX, b"none", &mut out), Err(RecordError::Exhausted));
}

#[test]
fn another_key_purpose_salt_context_or_cipher_opens_nothing() {
    let mut sealed = Vec::new();
    sealer(Cipher::default()).seal(0, b"text", &mut sealed).unwrap();
    let cipher = Cipher::default();
    for opener in [
        RecordOpener::new(&master(2), Purpose::JOURNAL, cipher, &Salt([2; 32]), b"vault"),
        RecordOpener::new(&master(1), Purpose::ROWS, cipher, &Salt([2; 32]), b"vault"),
        RecordOpener::new(&master(1), Purpose::JOURNAL, cipher, &Salt([3; 32]), b"vault"),
        RecordOpener::new(&master(1), Purpose::JOURNAL, cipher, &Salt([2; 32]), b"vaul"),
        RecordOpener::new(&master(1), Purpose::JOURNAL, Cipher::Aegis256, &Salt([2; 32]), b"vault"),
    ] {
        assert_eq!(opener.open(0, &sealed, &mut Vec::new()), Err(Forged));
    }
}
