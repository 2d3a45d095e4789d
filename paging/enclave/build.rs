//! Passes the address of the runtime in memory to the linker.

fn main() {
    println!("cargo::rerun-if-changed=memory.ld");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-T{folder}/memory.ld");
    }
}
