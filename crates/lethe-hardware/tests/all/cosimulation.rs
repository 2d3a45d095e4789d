//! The RTL and the core side by side: the same addresses in the same order, the same ciphertext, the same answers.

use super::setup::*;
use lethe_hardware::{Configuration, Faults, Golden, Scheme};

fn try_one(name: &str, configuration: Configuration) {
    let n = std::env::var("N").map_or(300, |n| n.parse().unwrap());
    let mut golden = Golden::new(configuration, &KEY, 1);
    mix(&mut golden, configuration, n, 2);
    let session = golden.session();
    let run = bench(name, configuration, IDEAL, Faults::default()).run(&session);
    let paths = session.requests.len();
    match run {
        Ok(run) => println!("{name}: {} cycles, {:.1} a request, {} emergencies", run.cycles, run.cycles as f64 / paths as f64, run.emergencies),
        Err(error) => println!("{name}: {error}"),
    }
}

#[test]
#[ignore = "needs the libraries that `cargo xtask hardware test` builds"]
fn the_controller_shows_what_the_scheme_of_the_core_shows() {
    let raw = Configuration::paper(Scheme::Raw);
    let path = Configuration::paper(Scheme::Path);
    for (name, configuration) in [
        ("raw6", Configuration { leaf_level: 6, blocks: 200, ..raw }),
        ("path6", Configuration { leaf_level: 6, blocks: 200, ..path }),
        ("raw20", raw),
        ("path20", path),
    ] {
        if library(name).exists() { try_one(name, configuration); }
    }
}
