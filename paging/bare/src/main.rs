//! Prints the digests for all schemes and ciphers. Without an operating system the library has its own entry point.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
use ameles_bare as _;

#[cfg(not(target_os = "none"))]
#[allow(clippy::print_stdout, reason = "this is what the program is for")]
fn main() {
    use ameles_bare::workload::{Scheme, digest};
    use ameles_seal::pages::PageCipher;
    for scheme in Scheme::ALL {
        for cipher in PageCipher::ALL {
            let digest = digest(scheme, cipher);
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            println!("{hex} {scheme:?} {cipher}");
        }
    }
}
