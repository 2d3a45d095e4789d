//! The figures of `ameles status`. The vault's process writes them to the trusted folder every few seconds and when it
//! stops. So `ameles status` takes no request and works while the vault is served. Only the owner can read the file.

use crate::config::folders::DataFolder;
use crate::config::size::Size;
use crate::report::banner::VaultSummary;
use crate::report::count::count;
use crate::report::recovery_point::{LogLag, Recovery, log_lag};
use crate::runtime::atomic_file::replace;
use ameles_store::{Prices, Usage};
use ameles_vault::{KeyChangeFigures, PaceFigures, Status};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// The figures at one time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    // Wide: each field is a key of the JSON file.
    /// The number of seconds since 1970.
    taken_at: u64,
    epoch: u32,
    accesses: u64,
    emergencies: u64,
    trusted_bytes: u64,
    stash_blocks: u64,
    stash_peak: u64,
    old_versions: u64,
    rows_used: u64,
    rows_reserved: u64,
    since_shipped: u64,
    /// The time at which the last checkpoint in the store was made, in seconds since 1970, if that is known.
    #[serde(default)]
    shipped_at: Option<u64>,
    /// The time since which the store lacks accesses, in seconds since 1970, if that is known.
    #[serde(default)]
    lacking_since: Option<u64>,
    /// The lag of the log, if the journal is in the store.
    #[serde(default)]
    log: Option<LogLag>,
    receipt: Option<String>,
    /// The warnings, as sentences.
    warnings: Vec<String>,
    /// The figures of the pace since the last opening.
    pace: Option<PaceTurns>,
    /// The buckets that have the new key, and all buckets, while the key is being changed.
    key_change: Option<(u64, u64)>,
    /// The progress of the successor, if there is one.
    successor: Option<SuccessorFigures>,
    objects: Option<Objects>,
    /// The usage of the store since the vault was created.
    usage: Usage,
    vault: VaultSummary,
}

/// Describes the requests to a store.
pub fn requests_line(usage: &Usage) -> String {
    let kinds = [usage.gets(), usage.puts(), usage.deletes(), usage.lists];
    let [gets, puts, deletes, lists] = kinds;
    let (requests, up, down) = (usage.requests(), Size(usage.bytes_up), Size(usage.bytes_down));
    format!(
        "{} ({gets} get, {puts} put, {deletes} delete, {lists} list), {up} up, {down} down",
        count(requests, "request")
    )
}

/// The progress of a vault's successor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuccessorFigures {
    /// The location of its store.
    pub store: String,
    /// The number of blocks that the successor has.
    pub blocks: u64,
    /// The number of blocks of the complete successor.
    pub of: u64,
    /// The requests to the successor's store since the vault was opened.
    pub usage: Usage,
}

impl SuccessorFigures {
    /// Returns the lines of `status`.
    fn lines(&self) -> [(&'static str, String); 2] {
        let SuccessorFigures { store, blocks, of, usage } = self;
        let next = if blocks == of { ": it takes over at the next restart" } else { "" };
        [
            ("successor", format!("{blocks} of {of} blocks are at {store}{next}")),
            ("its store", format!("{} since the vault was opened", requests_line(usage))),
        ]
    }
}

/// The figures of a pace.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PaceTurns {
    turns: u64,
    asked: u64,
    dummies: u64,
    late: u64,
    left_out: u64,
    lateness_ms: f64,
    latest_ms: f64,
    lead_ms: f64,
}

impl PaceTurns {
    fn of(figures: &PaceFigures) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        PaceTurns {
            turns: figures.turns,
            asked: figures.asked,
            dummies: figures.dummies,
            late: figures.late,
            left_out: figures.left_out,
            lateness_ms: ms(figures.lateness),
            latest_ms: ms(figures.latest),
            lead_ms: ms(figures.lead),
        }
    }

    /// Returns the lines of `status`.
    fn lines(&self) -> [(&'static str, String); 3] {
        let all = self.asked + self.dummies;
        let useful = if all == 0 { 0.0 } else { 100.0 * self.asked as f64 / all as f64 };
        let mean = if self.late == 0 { 0.0 } else { self.lateness_ms / self.late as f64 };
        [
            ("turns", format!("{} since the vault was opened, {} skipped", self.turns, self.left_out)),
            ("useful", format!("{useful:.1} %: {} requested accesses, {} dummies", self.asked, self.dummies)),
            (
                "late turns",
                format!("{}, by {mean:.1} ms on average and {:.1} ms at most", self.late, self.latest_ms),
            ),
        ]
    }
}

/// The counts of the gateway's contents.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Objects {
    /// The number of S3 buckets, or of Swift's containers.
    pub buckets: u64,
    /// The number of objects in them.
    pub objects: u64,
    /// The bytes of all objects.
    pub bytes: u64,
    /// The number of unused blocks.
    pub free_blocks: u64,
    /// The number of all blocks.
    pub blocks: u64,
    /// The number of blocks that small objects share.
    pub packed_blocks: u64,
    /// The bytes of small objects in shared blocks.
    pub packed_bytes: u64,
    /// The number of bytes of small objects that wait for a block.
    pub waiting_bytes: u64,
}

impl Objects {
    /// Returns the lines of `status`.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let used = self.blocks - self.free_blocks;
        let buckets = count(self.buckets, "bucket");
        let mut lines = vec![
            ("objects", format!("{} in {buckets}, {}", self.objects, Size(self.bytes))),
            ("blocks used", format!("{used} of {}", self.blocks)),
        ];
        if self.packed_blocks > 0 || self.waiting_bytes > 0 {
            let (live, shared) = (Size(self.packed_bytes), self.packed_blocks);
            let waiting = Size(self.waiting_bytes);
            let small = format!("{live} in {shared} of these blocks, {waiting} waiting for a block");
            lines.push(("small objects", small));
        }
        lines
    }
}

fn key_change(status: &Status) -> Option<(u64, u64)> {
    status.key_change.map(|change| (change.passed, change.of))
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The number of seconds since 1970 at a time of this process.
fn seconds_at(at: Instant) -> u64 {
    seconds_now().saturating_sub(at.elapsed().as_secs())
}

fn lacking_since(status: &Status) -> Option<u64> {
    status.checkpoints.lacking_since.map(seconds_at)
}

/// Figures from before a process, which it continues.
#[derive(Clone, Debug, Default)]
pub struct Continued {
    /// The usage of the store since the vault was created.
    pub usage: Usage,
    /// The receipt of the checkpoint in the store, and the time at which it was made, in seconds since 1970.
    shipped: Option<(String, u64)>,
}

impl Continued {
    /// The time at which the last checkpoint in the store was made, also if an earlier process has shipped it.
    fn shipped_at(&self, status: &Status) -> Option<u64> {
        let of_this = status.checkpoints.shipped_at.map(seconds_at);
        let receipt = status.checkpoints.receipt.as_ref();
        let earlier = self.shipped.as_ref().filter(|(earlier, _)| Some(earlier) == receipt);
        of_this.or(earlier.map(|(_, at)| *at))
    }
}

impl Report {
    /// Returns what a lost machine would take along now.
    fn recovery(&self) -> Recovery {
        Recovery {
            block: self.vault.block_size.0,
            unshipped: self.since_shipped,
            lacking: self.lacking_since.map(|at| seconds_now().saturating_sub(at)),
            manifest_age: self.shipped_at.map(|at| seconds_now().saturating_sub(at)),
            log: self.log.or(self.vault.journal.is_some().then(LogLag::default)),
        }
    }

    /// Returns the figures that a later process continues.
    pub fn continued(&self) -> Continued {
        let shipped = self.receipt.clone().zip(self.shipped_at);
        Continued { usage: self.usage, shipped }
    }

    /// Returns the current figures. `earlier` are those from before this process.
    pub fn now(
        vault: &VaultSummary,
        status: &Status,
        usage: &Usage,
        earlier: &Continued,
        objects: Option<Objects>,
    ) -> Self {
        Report {
            taken_at: seconds_now(),
            epoch: status.epoch,
            accesses: status.accesses,
            emergencies: status.emergencies,
            trusted_bytes: status.trusted_bytes,
            stash_blocks: status.stash.blocks,
            stash_peak: status.stash.peak,
            old_versions: status.old_versions,
            rows_used: status.rows.used,
            rows_reserved: status.rows.reserved,
            since_shipped: status.checkpoints.unshipped,
            shipped_at: earlier.shipped_at(status),
            lacking_since: lacking_since(status),
            log: log_lag(status),
            receipt: status.checkpoints.receipt.clone(),
            warnings: Vec::new(),
            pace: status.pace.as_ref().map(PaceTurns::of),
            key_change: key_change(status),
            successor: None,
            objects,
            usage: usage.added_to(&earlier.usage),
            vault: VaultSummary { fresh: false, ..vault.clone() },
        }
    }

    /// Returns the report with these warnings.
    pub fn with_warnings(self, warnings: Vec<String>) -> Self {
        Report { warnings, ..self }
    }

    /// Returns the report with the figures of a successor.
    pub fn with_successor(self, successor: Option<SuccessorFigures>) -> Self {
        Report { successor, ..self }
    }

    fn file(data: &DataFolder) -> PathBuf {
        data.trusted().join("status.json")
    }

    /// Reads the last figures, if there are any.
    ///
    /// # Errors
    /// The file cannot be read or parsed.
    pub fn load(data: &DataFolder) -> Result<Option<Self>> {
        let file = Self::file(data);
        match std::fs::read(&file) {
            Ok(text) => {
                let report = serde_json::from_slice(&text);
                report.map(Some).with_context(|| {
                    format!("{} is damaged; the next `ameles serve` rewrites it", file.display())
                })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
        }
    }

    /// Reads the last figures, if there are any. If they cannot be read, logs a warning and returns `None`: only the
    /// counts since the vault was created are lost.
    pub fn load_or_warn(data: &DataFolder) -> Option<Self> {
        Self::load(data).unwrap_or_else(|error| {
            tracing::warn!("{error:#}: the counts of requests and bytes restart from zero");
            None
        })
    }

    /// Updates existing figures after another command has opened the vault. Logs a warning if they cannot be read or
    /// written.
    pub fn update_opening(data: &DataFolder, status: &Status, usage: &Usage) {
        let mut report = match Self::load(data) {
            Ok(Some(report)) => report,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!("{error:#}");
                return;
            }
        };
        let earlier = report.continued();
        report.taken_at = seconds_now();
        report.usage = usage.added_to(&earlier.usage);
        report.lacking_since = lacking_since(status);
        report.log = log_lag(status);
        report.epoch = status.epoch;
        report.accesses = status.accesses;
        report.since_shipped = status.checkpoints.unshipped;
        report.shipped_at = earlier.shipped_at(status);
        report.old_versions = status.old_versions;
        report.receipt = status.checkpoints.receipt.clone();
        report.key_change = key_change(status);
        report.write_or_warn(data);
    }

    /// Replaces the summary of the vault in existing figures.
    pub fn update_vault(data: &DataFolder, vault: VaultSummary) {
        let Some(report) = Self::load_or_warn(data) else { return };
        Report { vault, ..report }.write_or_warn(data);
    }

    /// Updates the change of the key in existing figures, or removes it. Unless the change has only begun, progress
    /// that a running vault has recorded is kept.
    pub fn update_key_change(data: &DataFolder, change: Option<KeyChangeFigures>, has_only_begun: bool) {
        let Some(mut report) = Self::load_or_warn(data) else { return };
        let earlier_change = report.key_change.filter(|_| !has_only_begun);
        report.key_change = change.map(|change| earlier_change.unwrap_or((change.passed, change.of)));
        report.write_or_warn(data);
    }

    /// Writes these figures atomically.
    ///
    /// # Errors
    /// The trusted folder cannot be written.
    pub fn write(&self, data: &DataFolder) -> Result<()> {
        let (file, text) = (Self::file(data), serde_json::to_vec_pretty(self));
        let written = text.map_err(Into::into).and_then(|text| replace(&file, &text));
        written.with_context(|| {
            format!(
                "{} cannot be written, so `ameles status` shows old figures; free some space on its disk, or make the folder \
                 writable",
                file.display()
            )
        })
    }

    /// Writes these figures, or logs a warning.
    pub fn write_or_warn(&self, data: &DataFolder) {
        if let Err(error) = self.write(data) {
            tracing::warn!("{error:#}");
        }
    }

    /// Renders the figures, one per line.
    pub fn render(&self, prices: Option<&Prices>) -> String {
        let mut text = self.vault.at(prices).render();
        let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<15} {value}\n"));
        if let Some((passed, of)) = self.key_change {
            let what = format!(
                "is being changed: {passed} of {of} buckets are done; serve the vault until this line is gone"
            );
            line("key", what);
        }
        for (name, value) in self.objects.iter().flat_map(Objects::lines) {
            line(name, value);
        }
        // A vault that was created or restored and not opened since has only its shape and its receipt.
        let was_open = self.trusted_bytes > 0;
        if was_open {
            line("names", format!("{} of {}", Size(self.rows_used), Size(self.rows_reserved)));
        }
        line("accesses", self.accesses.to_string());
        let stash =
            format!("{} in the stash, at most {} so far", count(self.stash_blocks, "block"), self.stash_peak);
        if was_open {
            line("trusted now", format!("{}, {stash}", Size(self.trusted_bytes)));
        }
        line("emergencies", self.emergencies.to_string());
        line("epoch", self.epoch.to_string());
        line("old versions", self.old_versions.to_string());
        for (name, value) in self.pace.iter().flat_map(PaceTurns::lines) {
            line(name, value);
        }
        for (name, value) in self.successor.iter().flat_map(SuccessorFigures::lines) {
            line(name, value);
        }
        let usage = &self.usage;
        let kinds = [
            ("get", usage.gets()),
            ("put", usage.puts()),
            ("delete", usage.deletes()),
            ("list", usage.lists),
        ];
        let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        line("requests", format!("{} ({})", usage.requests(), kinds.join(", ")));
        line("bytes moved", format!("{} up, {} down", Size(usage.bytes_up), Size(usage.bytes_down)));
        line(
            "stored now",
            format!("{} in {}", Size(usage.stored_bytes), count(usage.stored_objects, "object")),
        );
        if let Some(prices) = prices {
            let bill = prices.bill(usage);
            let (spent, monthly) = (bill.spent(), bill.storage_per_month);
            line("costs", format!("${spent:.4} so far, ${monthly:.4} a month for the stored data"));
        }
        for (name, value) in self.recovery().lines() {
            line(name, value);
        }
        line("receipt", self.receipt.clone().unwrap_or_else(|| "none yet".into()));
        let age = seconds_now().saturating_sub(self.taken_at);
        line("as of", format!("{age} s ago"));
        for warning in &self.warnings {
            line("WARNING", warning.clone());
        }
        text
    }
}
