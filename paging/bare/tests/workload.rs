//! Tests of the workload's digest.

use ameles_bare::workload::{Scheme, digest};
use ameles_seal::pages::PageCipher;
use std::collections::BTreeSet;

#[test]
fn each_scheme_and_cipher_leaves_bytes_of_its_own_and_the_same_ones_again() {
    let pairs = || Scheme::ALL.into_iter().flat_map(|scheme| PageCipher::ALL.map(|cipher| (scheme, cipher)));
    let digests: Vec<[u8; 32]> = pairs().map(|(scheme, cipher)| digest(scheme, cipher)).collect();
    let again: Vec<[u8; 32]> = pairs().map(|(scheme, cipher)| digest(scheme, cipher)).collect();
    assert_eq!(digests, again);
    assert_eq!(digests.iter().collect::<BTreeSet<_>>().len(), pairs().count());
}
