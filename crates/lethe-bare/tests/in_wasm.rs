//! The module that `cargo xtask test --only no-std` builds, run without a host.

use base16ct::lower::encode_string;
use lethe_bare::rehearsal::{Scheme, digest};
use lethe_seal::pages::PageCipher;
use wasmi::{Engine, Instance, Module, Store};

/// Names the module.
const VARIABLE: &str = "LETHE_BARE_WASM";

fn module() -> Module {
    let path = std::env::var_os(VARIABLE)
        .unwrap_or_else(|| panic!("{VARIABLE} names no module: run `cargo xtask test --only no-std`"));
    let bytes = std::fs::read(path).expect("the module can be read");
    Module::new(&Engine::default(), bytes).expect("it is a module")
}

fn digest_in_wasm(module: &Module, scheme: usize, cipher: usize) -> [u8; 32] {
    let mut store = Store::new(module.engine(), ());
    let instance = Instance::new(&mut store, module, &[]).expect("the module needs nothing of a host");
    let call = instance
        .get_typed_func::<(u32, u32), u32>(&store, "lethe_bare_digest")
        .expect("the module exports the function");
    let at = call.call(&mut store, (scheme as u32, cipher as u32)).expect("the rehearsal comes to its end");
    let memory = instance.get_memory(&store, "memory").expect("the module exports its memory");
    let mut digest = [0; 32];
    memory.read(&store, at as usize, &mut digest).expect("the digest lies in memory");
    digest
}

#[test]
#[ignore = "needs the module: `cargo xtask test --only no-std` builds it and runs this"]
fn faults_without_a_standard_library_leave_the_very_bytes_that_they_leave_here() {
    let module = module();
    assert_eq!(module.imports().count(), 0, "the module needs something of its host");
    for (s, scheme) in Scheme::ALL.into_iter().enumerate() {
        for (c, cipher) in PageCipher::ALL.into_iter().enumerate() {
            let (there, here) = (digest_in_wasm(&module, s, c), digest(scheme, cipher));
            assert_eq!(encode_string(&there), encode_string(&here), "{scheme:?}, {cipher}");
        }
    }
}
