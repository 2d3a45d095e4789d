//! Each bench runs to its end at the smallest size. The tests check no times.

use ameles_core::types::BlockId;
use ameles_gateway::device::{Row, RowChange};
use ameles_gateway::{Device, DeviceError, DeviceShape, Flow};
use ameles_lab::bench::files::{self, FilesOptions};
use ameles_lab::bench::gateway::{self, GatewayOptions};
use ameles_lab::bench::grow::{self, GrowOptions};
use ameles_lab::bench::link::{self, LinkOptions};
use ameles_lab::bench::memory::{self, MemoryOptions, MemoryScheme};
use ameles_lab::bench::{Silent, VaultOptions};
use ameles_vault::{Call, Vault, VaultError};
use bytes::Bytes;
use std::time::Duration;

fn small() -> VaultOptions {
    VaultOptions {
        capacity: 16,
        block_bytes: 512,
        trusted_blocks: 4,
        batch: 4,
        filled: 10,
        ..VaultOptions::standard()
    }
}

/// The vault with frequent checkpoints, so that a window, which is whole rounds of them, is short.
fn often(vault: VaultOptions) -> VaultOptions {
    VaultOptions { checkpoint_every: Some(16), ..vault }
}

#[test]
fn the_memory_bench_runs() {
    for scheme in [MemoryScheme::Path, MemoryScheme::Ring, MemoryScheme::Circuit] {
        let options = MemoryOptions {
            capacity: 1 << 10,
            scheme,
            trusted_share: 8,
            warm_up: 100,
            repetitions: 1,
            slice: Duration::from_millis(5),
            goal: None,
            ..MemoryOptions::small_blocks()
        };
        assert!(!memory::run(&options, &Silent).unwrap().rows.is_empty());
    }
}

#[test]
fn the_files_bench_counts_everything() {
    let options = FilesOptions {
        vault: often(small()),
        accesses_per_call: 3,
        max_windows: 2,
        ..FilesOptions::standard()
    };
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
fn the_files_bench_counts_local_reads_of_a_tree_top_on_disk() {
    let vault = often(VaultOptions { on_disk: true, ..small() });
    let options = FilesOptions { vault, accesses_per_call: 3, max_windows: 1, ..FilesOptions::on_disk() };
    let report = files::run(&options, &Silent).unwrap();
    let read = report.rows.iter().find(|row| row.figure.trim() == "trusted disk, read").unwrap();
    assert!(read.sample.median > 1.0, "each access reads a place: {}", read.sample.median);
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

#[test]
fn the_grow_bench_counts_all_local_bytes_and_opens_what_it_has_killed() {
    let options = GrowOptions {
        capacities: vec![16, 64],
        vault: often(small()),
        trusted_share: 4,
        crashes: 2,
        goal_growth: None,
        ..GrowOptions::standard(false)
    };
    let report = grow::run(&options, &Silent).unwrap();
    assert!(report.notes.iter().all(|note| !note.contains("left out")), "{:?}", report.notes);
    let grid = report.grid.unwrap();
    assert_eq!(grid.columns.len(), 1 + options.capacities.len());
    let figures = |name: &str| &grid.lines.iter().find(|(line, _)| line.trim() == name).unwrap().1;
    for size in 0..options.capacities.len() {
        let of = |name: &str| figures(name)[size];
        let kinds =
            ["journal's records", "payloads to their places", "deltas", "pieces", "replaced versions"];
        let written: f64 =
            kinds.iter().chain(&["summaries", "the database's own"]).map(|kind| of(kind)).sum();
        assert!((written - of("written")).abs() < 1e-6, "{written} of {}", of("written"));
        let read = of("read, by shipments") + of("read, the database's own");
        assert!((written + read - of("local, bytes/access")).abs() < 1e-6);
        assert!(of("cycles of pieces") >= 2.0);
        assert!(of("read: the journal's records, KiB") > 0.0, "a crash comes with a full journal");
        assert!(of("read: the database, all, KiB") > of("read: the journal's records, KiB"));
        assert!(of("read: the places, KiB") > 0.0, "the stash is read");
    }
    let empty = GrowOptions { capacities: Vec::new(), ..options };
    assert!(grow::run(&empty, &Silent).is_err());
}

/// The gateway's device over a vault, like that of the command line.
struct VaultDevice(Vault);

impl Device for VaultDevice {
    fn shape(&self) -> DeviceShape {
        DeviceShape {
            block_bytes: self.0.block_bytes(),
            blocks: self.0.capacity(),
            max_batch: self.0.max_batch(),
            rows_bytes: self.0.header().parameters.rows_bytes,
            row_bytes_per_access: self.0.header().parameters.row_bytes_per_access(),
        }
    }
    fn rows_free(&self) -> u64 {
        self.0.rows().free()
    }
    async fn read(&self, flow: Flow, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        let calls = blocks.into_iter().map(|block| Call::Read(BlockId(block))).collect();
        let answers = self.0.access_in(ameles_vault::Flow(flow.0), calls).await;
        Ok(answers.map_err(failure)?.into_iter().flatten().collect())
    }
    async fn write(&self, flow: Flow, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        let calls = writes.into_iter().map(|(block, bytes)| Call::Write(BlockId(block), bytes));
        self.0.access_in(ameles_vault::Flow(flow.0), calls.collect()).await.map(drop).map_err(failure)
    }
    async fn load_rows(&self) -> Result<Vec<Row>, DeviceError> {
        let rows = self.0.load_rows().await.map_err(failure)?;
        Ok(rows.into_iter().map(|row| (row.key.into(), row.value.into())).collect())
    }
    async fn commit_rows(&self, changes: Vec<RowChange>) -> Result<(), DeviceError> {
        let changes = changes
            .into_iter()
            .map(|(key, value)| ameles_vault::RowChange { key: key.into(), value: value.map(Bytes::from) });
        self.0.commit_rows(changes.collect()).await.map_err(failure)
    }
}

fn failure(error: VaultError) -> DeviceError {
    DeviceError::Unavailable(error.to_string())
}

#[test]
fn the_gateway_bench_runs_with_and_without_the_oram() {
    let vault =
        VaultOptions { capacity: 512, block_bytes: 4096, trusted_blocks: 128, filled: 512, ..small() };
    let options = GatewayOptions {
        vault,
        sizes: vec![1000, 20_000],
        clients: vec![1, 3],
        time: Duration::from_millis(200),
        max_bytes: 40_000,
        ..GatewayOptions::standard()
    };
    let report = gateway::run(&options, VaultDevice, &Silent).unwrap();
    let grid = report.grid.unwrap();
    assert_eq!(grid.lines.len(), 2 * 2 * 2);
    for (name, figures) in &grid.lines {
        assert_eq!(figures.len() + 1, grid.columns.len());
        let [vault, p50, .., bare] = figures[..6] else { panic!("{name}") };
        assert!(vault > 0.0 && p50 > 0.0 && bare > 0.0, "{name}: {figures:?}");
    }
    let too_small = GatewayOptions { sizes: vec![1 << 20], ..options };
    assert!(gateway::run(&too_small, VaultDevice, &Silent).is_err());
}
