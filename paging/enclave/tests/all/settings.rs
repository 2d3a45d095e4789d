//! The options of a launch package: the valid ones, and those that are refused.

use ameles_enclave::settings::{Settings, SettingsError};
use ameles_enclave_boundary::launch::{MAX_HARTS, Paging, PagingMode, SealedStorage};
use ameles_pager::scheme::Scheme;

fn paging(scheme: Scheme, harts: u32) -> Paging {
    Paging {
        scheme: scheme.to_string(),
        ratio: 3,
        resident: 15,
        cipher: "chacha20-hmac-sha256".into(),
        untrusted_bytes: 1 << 20,
        pages: None,
        storage: SealedStorage::Backing,
        mode: PagingMode::Sv39,
        filled: false,
        harts,
    }
}

#[test]
fn a_parallel_scheme_has_up_to_eight_harts_and_any_other_has_one() {
    for scheme in Scheme::ALL {
        for harts in [0, 1, 2, MAX_HARTS, MAX_HARTS + 1, u32::MAX] {
            let max = if scheme.is_parallel() { 8 } else { 1 };
            match Settings::of(&paging(scheme, harts)) {
                Ok(settings) => {
                    assert!((1..=max).contains(&harts), "{scheme}, {harts}");
                    assert_eq!(settings.harts, harts as usize);
                }
                Err(SettingsError::Harts { harts: refused, scheme: named }) => {
                    assert!(!(1..=max).contains(&harts), "{scheme}, {harts}");
                    assert_eq!((refused, named), (harts, scheme));
                }
                Err(other) => panic!("{scheme}, {harts}: {other}"),
            }
        }
    }
}
