//! Each bench runs to its end at the smallest size. Nothing is asked of its times.

use lethe_lab::bench::files::{self, FilesOptions};
use lethe_lab::bench::link::{self, LinkOptions};
use lethe_lab::bench::memory::{self, MemoryOptions, MemoryScheme};
use lethe_lab::bench::{Silent, VaultOptions};
use std::time::Duration;

fn small() -> VaultOptions {
    VaultOptions {
        capacity: 64,
        block_bytes: 512,
        trusted_blocks: 16,
        batch: 4,
        filled: 40,
        ..VaultOptions::standard()
    }
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
    let options = FilesOptions { vault: small(), together: 3, most_windows: 2, ..FilesOptions::standard() };
    let report = files::run(&options, &Silent).unwrap();
    let figure = |name: &str| report.rows.iter().find(|row| row.figure.trim() == name).unwrap().sample.median;
    let sum = figure("store, up")
        + figure("store, down")
        + figure("trusted disk, written")
        + figure("trusted disk, read");
    assert!((figure("bytes moved, all") - sum).abs() < 1e-6 && sum > 1.0);
    assert!(figure("requests, all") > 1.0);
}

#[test]
fn the_link_bench_runs() {
    let options = LinkOptions {
        vault: small(),
        clients: 2,
        repetitions: 1,
        time: Duration::from_millis(400),
        reads: 3,
        ..LinkOptions::standard()
    };
    assert!(link::run(&options, &Silent).unwrap().rows.len() >= 5);
}
