//! The figures of `ameles status`: the vault's process leaves them in the trusted folder, every few seconds and when it
//! stops. So asking costs no request and works while the vault is served. For the owner alone.

use crate::config::folders::DataFolder;
use crate::config::size::Size;
use crate::report::banner::VaultSummary;
use crate::runtime::replace::replace;
use ameles_store::{Prices, Usage};
use ameles_vault::{KeyChangeFigures, PaceFigures, Status};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The figures of one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    // Wide: each field is a key of the JSON that `status` and `left` print.
    /// Seconds since 1970.
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
    receipt: Option<String>,
    /// The warnings that ask for an action, a sentence each.
    warnings: Vec<String>,
    /// The way the pace was kept since the last opening.
    pace: Option<Turns>,
    /// The buckets that the sweep of a new key has passed, of how many, while the key is being changed.
    key_change: Option<(u64, u64)>,
    /// The progress of its successor, if it has one.
    successor: Option<SuccessorFigures>,
    objects: Option<Objects>,
    /// The usage of the store since the vault was made.
    usage: Usage,
    vault: VaultSummary,
}

/// The requests to a store, as a command says them.
pub fn asked(usage: &Usage) -> String {
    let kinds = [usage.gets(), usage.puts(), usage.deletes(), usage.lists];
    let [gets, puts, deletes, lists] = kinds;
    let (requests, up, down) = (usage.requests(), Size(usage.bytes_up), Size(usage.bytes_down));
    format!(
        "{requests} requests ({gets} get, {puts} put, {deletes} delete, {lists} list), {up} up, {down} down"
    )
}

/// The progress of a vault's successor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuccessorFigures {
    /// The place of its store.
    pub store: String,
    /// Blocks that it has.
    pub blocks: u64,
    /// Blocks that it is to have.
    pub of: u64,
    /// The requests to its store since the vault was opened.
    pub usage: Usage,
}

impl SuccessorFigures {
    /// The lines of `status`.
    fn lines(&self) -> [(&'static str, String); 2] {
        let SuccessorFigures { store, blocks, of, usage } = self;
        let next = if blocks == of { ": a restart has it take over" } else { "" };
        [
            ("successor", format!("{blocks} of {of} blocks are at {store}{next}")),
            ("its store", format!("{} since the vault was opened", asked(usage))),
        ]
    }
}

/// The way a pace was kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Turns {
    turns: u64,
    asked: u64,
    dummies: u64,
    late: u64,
    left_out: u64,
    lateness_ms: f64,
    latest_ms: f64,
    lead_ms: f64,
}

impl Turns {
    fn of(figures: &PaceFigures) -> Self {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        Turns {
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

    /// The lines of `status`.
    fn lines(&self) -> [(&'static str, String); 3] {
        let all = self.asked + self.dummies;
        let useful = if all == 0 { 0.0 } else { 100.0 * self.asked as f64 / all as f64 };
        let mean = if self.late == 0 { 0.0 } else { self.lateness_ms / self.late as f64 };
        [
            ("turns", format!("{} since it was opened, {} left out", self.turns, self.left_out)),
            ("useful", format!("{useful:.1} %: {} accesses asked for, {} dummies", self.asked, self.dummies)),
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
    /// S3 buckets, or Swift's containers.
    pub buckets: u64,
    /// Objects in them.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Blocks that nothing holds.
    pub free_blocks: u64,
    /// Blocks in all.
    pub blocks: u64,
    /// Blocks that small objects share.
    pub packed_blocks: u64,
    /// Bytes of small objects in them.
    pub packed_bytes: u64,
    /// Bytes of small objects that wait for a block.
    pub waiting_bytes: u64,
}

fn key_change(status: &Status) -> Option<(u64, u64)> {
    status.key_change.map(|change| (change.passed, change.of))
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Report {
    /// The figures of this moment. `earlier` is the usage before this process.
    pub fn now(
        vault: &VaultSummary,
        status: &Status,
        usage: &Usage,
        earlier: &Usage,
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
            receipt: status.checkpoints.receipt.clone(),
            warnings: Vec::new(),
            pace: status.pace.as_ref().map(Turns::of),
            key_change: key_change(status),
            successor: None,
            objects,
            usage: usage.after(earlier),
            vault: VaultSummary { fresh: false, ..vault.clone() },
        }
    }

    /// The same with these warnings.
    pub fn with_warnings(self, warnings: Vec<String>) -> Self {
        Report { warnings, ..self }
    }

    /// The same with the figures of a successor.
    pub fn with_successor(self, successor: Option<SuccessorFigures>) -> Self {
        Report { successor, ..self }
    }

    fn file(data: &DataFolder) -> PathBuf {
        data.trusted().join("status.json")
    }

    /// Reads the last figures that were left, if there are any.
    ///
    /// # Errors
    /// The file cannot be read or understood.
    pub fn load(data: &DataFolder) -> Result<Option<Self>> {
        let file = Self::file(data);
        match std::fs::read(&file) {
            Ok(text) => {
                let report = serde_json::from_slice(&text);
                report.map(Some).with_context(|| {
                    format!("{} holds no figures; the next `ameles serve` writes it anew", file.display())
                })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
        }
    }

    /// Reads the last figures that were left, if there are any. Those that cannot be read are warned of and count as none:
    /// nothing but the counts since the vault was made depends on them.
    pub fn earlier(data: &DataFolder) -> Option<Self> {
        Self::load(data).unwrap_or_else(|error| {
            tracing::warn!("{error:#}: the counts of requests and bytes begin anew");
            None
        })
    }

    /// Brings figures that were left up to date, where there are any: another command has opened the vault. Figures that
    /// cannot be read or written are warned of.
    pub fn catch_up(data: &DataFolder, status: &Status) {
        let mut report = match Self::load(data) {
            Ok(Some(report)) => report,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!("{error:#}");
                return;
            }
        };
        report.taken_at = seconds_now();
        report.epoch = status.epoch;
        report.accesses = status.accesses;
        report.since_shipped = status.checkpoints.unshipped;
        report.old_versions = status.old_versions;
        report.receipt = status.checkpoints.receipt.clone();
        report.key_change = key_change(status);
        report.leave_or_warn(data);
    }

    /// Has figures that were left, where there are any, tell of the change of the key that the vault is in, or that it is in
    /// none. Unless the change has only begun, what a vault in service has told of it stays.
    pub fn note_key_change(data: &DataFolder, change: Option<KeyChangeFigures>, has_only_begun: bool) {
        let Some(mut report) = Self::earlier(data) else { return };
        let told = report.key_change.filter(|_| !has_only_begun);
        report.key_change = change.map(|change| told.unwrap_or((change.passed, change.of)));
        report.leave_or_warn(data);
    }

    /// Leaves these figures, in one step.
    ///
    /// # Errors
    /// The trusted folder cannot be written.
    pub fn leave(&self, data: &DataFolder) -> Result<()> {
        let (file, text) = (Self::file(data), serde_json::to_vec_pretty(self));
        let left = text.map_err(Into::into).and_then(|text| replace(&file, &text));
        left.with_context(|| {
            format!(
                "{} cannot be written, and `ameles status` does not show the present figures; free some space on its disk, or \
                 make the folder writable",
                file.display()
            )
        })
    }

    /// Leaves these figures. The work that they tell of is done: when they cannot be written, that is warned of.
    pub fn leave_or_warn(&self, data: &DataFolder) {
        if let Err(error) = self.leave(data) {
            tracing::warn!("{error:#}");
        }
    }

    /// The requests, bytes and stored bytes since the vault was made.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The figures, a line a fact.
    pub fn render(&self, prices: Option<&Prices>) -> String {
        let mut text = self.vault.render();
        let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<15} {value}\n"));
        if let Some((passed, of)) = self.key_change {
            let what = format!(
                "is being changed: {passed} of {of} buckets; serve the vault until this line is gone"
            );
            line("key", what);
        }
        if let Some(objects) = &self.objects {
            let used = objects.blocks - objects.free_blocks;
            line(
                "objects",
                format!("{} in {} buckets, {}", objects.objects, objects.buckets, Size(objects.bytes)),
            );
            line("blocks used", format!("{used} of {}", objects.blocks));
            if objects.packed_blocks > 0 || objects.waiting_bytes > 0 {
                let (shared, live) = (objects.packed_blocks, Size(objects.packed_bytes));
                let waiting = Size(objects.waiting_bytes);
                line(
                    "small objects",
                    format!("{live} in {shared} of these blocks, {waiting} waiting for one"),
                );
            }
        }
        // A vault that was made or restored, and not open since, has left no more than its shape and its receipt.
        let was_open = self.trusted_bytes > 0;
        if was_open {
            line("names", format!("{} of {}", Size(self.rows_used), Size(self.rows_reserved)));
        }
        line("accesses", self.accesses.to_string());
        let stash = format!("{} blocks in the stash, {} at most", self.stash_blocks, self.stash_peak);
        if was_open {
            line("trusted now", format!("{}, {stash}", Size(self.trusted_bytes)));
        }
        line("emergencies", self.emergencies.to_string());
        line("epoch", self.epoch.to_string());
        line("old versions", self.old_versions.to_string());
        for (name, value) in self.pace.iter().flat_map(Turns::lines) {
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
        line("stored now", format!("{} in {} objects", Size(usage.stored_bytes), usage.stored_objects));
        if let Some(prices) = prices {
            let bill = prices.bill(usage);
            let (spent, monthly) = (bill.spent(), bill.storage_per_month);
            line("costs", format!("${spent:.4} so far, ${monthly:.4} a month for what is stored now"));
        }
        line(
            "unshipped",
            format!("at most {} accesses since the last checkpoint in the store", self.since_shipped),
        );
        line("receipt", self.receipt.clone().unwrap_or_else(|| "none yet".into()));
        let age = seconds_now().saturating_sub(self.taken_at);
        line("as of", format!("{age} s ago"));
        for warning in &self.warnings {
            line("WARNING", warning.clone());
        }
        text
    }
}
