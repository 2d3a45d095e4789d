//! Fuzz targets for all code here that reads from a disk or a store. All of that input is authenticated first. Still,
//! no input may cause a panic.

use crate::engine::record::Record;
use crate::engine::scheme::SchemeParameters;
use crate::log::entry::{Object, text_bytes};
use crate::trusted::checkpoint::{Receipt, ShippedCheckpoint, parse_blob_name};
use crate::trusted::delta::Delta;
use crate::trusted::header::{VaultHeader, VaultParameters};
use crate::trusted::journal::tests::read_any_file;
use crate::trusted::payload_pieces::payloads_in;
use crate::trusted::sent_payloads::SentPayloads;
use crate::trusted::sent_state::SentState;
use crate::trusted::shipped_piece_name::parse_piece_name;
use crate::trusted::shipped_state::{Manifest, ShippedStateReader};
use crate::trusted::stash_directory::StashDirectory;
use crate::trusted::summary::Summary;
use crate::trusted::unlogged_commits::RowStream;
use crate::trusted::word_tables::WordTables;
use ameles_core::schemes::trivial::TrivialParameters;
use ameles_seal::master_key::MasterKey;

#[test]
fn fuzz_vault_header() {
    let master = MasterKey::take(&mut [3; 32]);
    bolero::check!().for_each(|bytes: &[u8]| {
        // With a valid prefix, so that the code after it is reached.
        let begun = [b"AMELES\n\x01\x00", bytes].concat();
        for bytes in [bytes, &begun] {
            assert!(VaultHeader::decode(bytes, &master).is_err(), "nobody sealed this header");
            let _ = VaultHeader::passphrase(bytes);
        }
    });
}

#[test]
fn fuzz_journal_record() {
    bolero::check!().for_each(|bytes: &[u8]| {
        if let Some(record) = Record::decode(bytes) {
            assert_eq!(borsh::to_vec(&record).unwrap(), bytes, "one record, one encoding");
        }
    });
}

#[test]
fn fuzz_file_of_the_journal() {
    bolero::check!().for_each(|bytes: &[u8]| {
        read_any_file(bytes, false);
        read_any_file(bytes, true);
    });
}

#[test]
fn fuzz_shipped() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let _ = borsh::from_slice::<(ShippedCheckpoint, Vec<(u64, [u8; 32])>)>(bytes);
    });
}

#[test]
fn fuzz_state_written_bit_by_bit() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let _ = borsh::from_slice::<Summary>(bytes);
        let _ = borsh::from_slice::<Manifest>(bytes);
        let _ = borsh::from_slice::<SentPayloads>(bytes);
        let _ = borsh::from_slice::<SentState>(bytes);
        let _ = payloads_in(bytes, 6);
        if let Ok(delta) = borsh::from_slice::<Delta>(bytes) {
            let _ = delta.apply(&mut WordTables::zeros(&[5, 0, 30]), 4, |piece| piece % 2 == 0);
        }
        let words: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let _ = StashDirectory::of(&words, Vec::new());
        let mut reader = ShippedStateReader::new(WordTables::zeros(&[2, 1]));
        // The same bytes as two parts, so that the second one may continue the first one.
        for _ in 0..2 {
            if bytes.chunks(40).try_for_each(|piece| reader.take(piece)).is_none()
                || reader.end_part(&|key| [key.len() as u8; 32]).is_none()
            {
                return;
            }
        }
        let _ = reader.finish();
    });
}

#[test]
fn fuzz_object_of_the_journal_in_the_store() {
    let trivial = TrivialParameters { capacity: 8, block_bytes: 16, chunk_blocks: 2, max_batch: 3 };
    let parameters = VaultParameters::with_defaults(SchemeParameters::Trivial(trivial));
    bolero::check!().for_each(|bytes: &[u8]| {
        let _ = Manifest::decode(bytes);
        // With a valid length, so that the code after the head is reached.
        let mut whole = bytes.to_vec();
        whole.resize(text_bytes(&parameters, 2), 0);
        for text in [bytes, &whole] {
            let Some(object) = Object::decode(text, &parameters) else { continue };
            let again = Object::decode(&object.encode(&parameters), &parameters);
            assert_eq!(again.as_ref(), Some(&object));
            if let Object::Entry(entry) = object {
                let _ = RowStream::default().take(&entry.rows);
            }
        }
    });
}

#[test]
fn fuzz_receipt_and_names() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let _ = (parse_blob_name(&text), parse_piece_name(&text));
        if let Ok(receipt) = format!("ameles1-{text}").parse::<Receipt>() {
            assert_eq!(receipt.to_string().parse::<Receipt>().unwrap(), receipt);
        }
    });
}
