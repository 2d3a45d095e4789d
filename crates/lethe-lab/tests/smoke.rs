//! Each bench runs to its end at the smallest size. Nothing is asked of its times.

use lethe_lab::bench::files::{self, FilesOptions};
use lethe_lab::bench::link::{self, LinkOptions};
use lethe_lab::bench::memory::{self, MemoryOptions, MemoryScheme};
use lethe_lab::bench::{Silent, VaultOptions};
use std::time::Duration;

fn small() -> VaultOptions {
    VaultOptions { capacity: 64, block_bytes: 512, trusted_blocks: 16, batch: 4, filled: 40 }
}

#[test]
fn the_memory_bench_runs() {
    for scheme in [MemoryScheme::Path, MemoryScheme::Ring] {
        let options = MemoryOptions {
            capacity: 1 << 10,
            scheme,
            trusted_share: 8,
            warm_up: 100,
            repetitions: 1,
            slice: Duration::from_millis(5),
            asked: None,
            ..MemoryOptions::small_blocks()
        };
        assert!(!memory::run(&options, &Silent).unwrap().rows.is_empty());
    }
}

#[test]
fn the_files_bench_counts_everything() {
    let options = FilesOptions { vault: small(), checkpoints: 1, windows: 1 };
    let report = files::run(&options, &Silent).unwrap();
    let figure = |beginning: &str| {
        let row = report.rows.iter().find(|row| row.figure.trim().starts_with(beginning)).unwrap();
        row.sample.median
    };
    let sum = figure("to and from the store") + figure("to the trusted disk");
    assert!((figure("moved") - sum).abs() < 1e-6 && sum > 1.0);
    assert!(figure("requests") > 1.0);
}

#[test]
fn the_link_bench_runs() {
    let options = LinkOptions {
        vault: small(),
        clients: 2,
        time: Duration::from_millis(400),
        reads: 3,
        ..LinkOptions::standard()
    };
    assert!(link::run(&options, &Silent).unwrap().rows.len() >= 5);
}
