//! Master keys: protected from other users, never printed, and reproducible from the same source.

use ameles_seal::cipher::{Cipher, CipherKey};
use ameles_seal::derive::{Purpose, Salt, derive, key_check};
use ameles_seal::key_text;
use ameles_seal::master_key::MasterKey;
use ameles_seal::passphrase::{PassphraseError, PassphraseHeader};
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

const HEX: &str = "00102030405060708090a0b0c0d0e0f0ff0f1f2f3f4f5f6f7f8f9fafbfcfdfef";
const BASE64: &str = "ABAgMEBQYHCAkKCwwNDg8P8PHy8/T19vf4+fr7/P3+8=";
const BASE64_URL: &str = "ABAgMEBQYHCAkKCwwNDg8P8PHy8_T19vf4-fr7_P3-8";

fn key() -> MasterKey {
    key_text::parse(HEX).unwrap()
}

#[test]
fn hexadecimal_and_every_base64_are_the_same_key() {
    for text in [
        HEX.to_owned(),
        HEX.to_uppercase(),
        format!("\n {HEX}\r\n"),
        BASE64.to_owned(),
        BASE64.trim_end_matches('=').to_owned(),
        BASE64_URL.to_owned(),
        format!("{BASE64_URL}="),
    ] {
        assert!(key_text::parse(&text).unwrap() == key(), "{text}");
    }
    assert_eq!(*key_text::write(&key()), HEX);
}

#[test]
fn another_text_is_refused_and_not_repeated() {
    for text in
        ["", "secret", &HEX[1..], &format!("{HEX}0"), &HEX.replace('f', "g"), &BASE64.replace('A', "!")]
    {
        let error = key_text::parse(text).unwrap_err();
        assert_eq!(error.length, text.len());
        assert!(text.is_empty() || !error.to_string().contains(text));
    }
}

proptest! {
    #[test]
    fn any_text_gives_a_key_or_an_error(text in ".{0,80}") {
        let _ = key_text::parse(&text);
    }
}

#[test]
fn keys_never_show_when_printed() {
    let mut secret = [0xabu8; 32];
    let plain = secret;
    let master = MasterKey::take(&mut secret);
    assert_eq!(secret, [0; 32], "the source is wiped");
    let mut printed = vec![format!("{master:?}"), format!("{master:#?}")];
    for cipher in Cipher::ALL {
        printed.push(format!("{:?}", CipherKey::new(cipher, &plain)));
    }
    for text in printed {
        let digits = text.to_lowercase();
        assert!(!digits.contains("ab") && !digits.contains("171"), "{text}");
    }
}

#[test]
fn purposes_salts_contexts_and_masters_each_give_another_key() {
    let (one, two) = (Salt([1; 32]), Salt([2; 32]));
    let other = MasterKey::take(&mut [3; 32]);
    let keys = [
        derive(&key(), Purpose::SLOTS, &one, b""),
        derive(&key(), Purpose::JOURNAL, &one, b""),
        derive(&key(), Purpose::SLOTS, &two, b""),
        derive(&key(), Purpose::SLOTS, &one, b"name"),
        derive(&key(), Purpose::named("slotsna"), &one, b"me"),
        derive(&other, Purpose::SLOTS, &one, b""),
    ];
    for (at, key) in keys.iter().enumerate() {
        assert!(!keys[..at].contains(key), "key {at}");
    }
    assert_eq!(derive(&key(), Purpose::SLOTS, &one, b""), keys[0]);
}

#[test]
fn derivation_is_hkdf_sha256_of_rfc_5869() {
    // The same by ring's HKDF.
    let salt = Salt([5; 32]);
    let secret = key_text::write(&key());
    let secret: Vec<u8> =
        (0..32).map(|i| u8::from_str_radix(&secret[2 * i..2 * i + 2], 16).unwrap()).collect();
    let prk = ring::hkdf::Salt::new(ring::hkdf::HKDF_SHA256, &salt.0).extract(&secret);
    let info: [&[u8]; 4] = [b"ameles/1/", &7u64.to_be_bytes(), b"journal", b"context"];
    let mut expected = [0; 32];
    prk.expand(&info, ring::hkdf::HKDF_SHA256).unwrap().fill(&mut expected).unwrap();
    assert_eq!(*derive(&key(), Purpose::JOURNAL, &salt, b"context"), expected);
}

#[test]
fn a_wrong_key_is_known_by_its_check_value() {
    let salt = Salt([1; 32]);
    let other = MasterKey::draw(&mut ChaCha20Rng::seed_from_u64(1));
    assert_eq!(key_check(&key(), &salt), key_check(&key(), &salt));
    assert_ne!(key_check(&key(), &salt), key_check(&other, &salt));
    assert_ne!(key_check(&key(), &salt), key_check(&key(), &Salt([2; 32])));
}

/// The minimal accepted work, so that the tests are quick.
fn header() -> PassphraseHeader {
    PassphraseHeader { memory_kib: 19 * 1024, passes: 2, lanes: 1, salt: [7; 32] }
}

#[test]
fn a_passphrase_gives_its_key_again_from_the_stored_header() {
    let stored = borsh::to_vec(&header()).unwrap();
    assert_eq!(stored.len(), 44);
    let again: PassphraseHeader = borsh::from_slice(&stored).unwrap();
    let key = header().master_key("correct horse").unwrap();
    assert!(again.master_key("correct horse").unwrap() == key);
    assert!(again.master_key("correct  horse").unwrap() != key);
    let salted = PassphraseHeader { salt: [8; 32], ..header() };
    assert!(salted.master_key("correct horse").unwrap() != key);
}

#[test]
fn a_passphrase_header_drawn_is_rfc_9106s_second_choice() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let (one, two) = (PassphraseHeader::draw(&mut rng), PassphraseHeader::draw(&mut rng));
    assert_eq!((one.memory_kib, one.passes, one.lanes), (64 * 1024, 3, 4));
    assert_ne!(one.salt, two.salt);
    one.master_key("correct horse").unwrap();
}

#[test]
fn a_header_that_asks_for_too_little_or_too_much_is_refused() {
    for (memory_kib, passes, lanes) in [
        (19 * 1024 - 1, 2, 1),
        (u32::MAX, 2, 1),
        (19 * 1024, 1, 1),
        (19 * 1024, 65, 1),
        (19 * 1024, 2, 0),
        (19 * 1024, 2, 65),
    ] {
        let header = PassphraseHeader { memory_kib, passes, lanes, ..header() };
        assert_eq!(header.master_key("x"), Err(PassphraseError::Parameters { memory_kib, passes, lanes }));
    }
    assert_eq!(header().master_key(""), Err(PassphraseError::Empty));
}

#[cfg(all(unix, feature = "std"))]
mod files {
    use super::{HEX, key};
    use ameles_seal::key_file::{KeyFileError, create, from_environment, load};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_file_is_its_owners_alone_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let key = create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        assert!(load(&path).unwrap() == key);
    }

    #[test]
    fn a_key_file_that_exists_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let key = create(&path).unwrap();
        assert!(matches!(create(&path), Err(KeyFileError::Io { doing: "create", .. })));
        assert!(load(&path).unwrap() == key);
    }

    #[test]
    fn a_key_file_that_others_can_read_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        create(&path).unwrap();
        for mode in [0o640, 0o604, 0o660, 0o602, 0o644] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = load(&path).unwrap_err().to_string();
            assert!(error.contains(&format!("{mode:04o}")) && error.contains("chmod 600"), "{error}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        load(&path).unwrap();
    }

    #[test]
    fn a_file_without_a_key_is_refused_and_not_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        for content in [b"not a key at all".to_vec(), vec![0xff; 32], vec![b'0'; 100_000]] {
            fs::write(&path, &content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let error = load(&path).unwrap_err().to_string();
            assert!(error.contains("key file") && !error.contains("not a key at all"), "{error}");
        }
        let missing = folder.path().join("none");
        assert!(matches!(load(&missing), Err(KeyFileError::Missing(_))));
    }

    #[test]
    fn a_variable_that_is_not_set_or_holds_no_key_says_so() {
        let error = from_environment("AMELES_TEST_NO_SUCH_VARIABLE").unwrap_err();
        assert!(matches!(error, KeyFileError::Unset(_)), "{error}");
        let error = from_environment("PATH").unwrap_err();
        assert!(matches!(error, KeyFileError::NotAKeyInVariable { .. }), "{error}");
        assert!(!error.to_string().contains("/bin"));
    }

    #[test]
    fn a_variable_with_a_key_gives_it() {
        const NAME: &str = "AMELES_TEST_KEY";
        if std::env::var_os(NAME).is_some() {
            assert!(from_environment(NAME).unwrap() == key());
            return;
        }
        // Once more in a separate process, whose environment holds the key.
        let (_, module) = module_path!().split_once("::").unwrap();
        let this = format!("{module}::a_variable_with_a_key_gives_it");
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let output = again.args([&this, "--exact"]).env(NAME, HEX).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
}
