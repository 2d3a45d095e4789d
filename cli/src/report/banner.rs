//! The start messages of `ameles serve` and `ameles init`.

use crate::config::size::Size;
use crate::demonstration::{CONTAINER, OBJECTS, Pattern, object_name};
use crate::report::full_disk_reads::ReserveSummary;
use crate::report::million_accesses::{self, MillionAccesses};
use crate::report::recovery_point::{PlannedRecoveryPoint, journal_line};
use ameles_gateway::auth::identity::User;
use ameles_store::Prices;
use ameles_vault::JournalPlace;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// The figures of a vault for its owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VaultSummary {
    // Wide: each field is a key of the JSON file.
    /// True if the vault was just created.
    pub fresh: bool,
    /// The scheme's name in its paper.
    pub scheme: String,
    /// The scheme's parameters by name.
    pub parameters: Vec<(String, String)>,
    /// The number of bytes that the user can store.
    pub capacity: Size,
    /// The size of a block.
    pub block_size: Size,
    /// The location of the untrusted side.
    pub store: String,
    /// The maximum number of bytes at the provider.
    pub stored: Size,
    /// The number of bytes moved in both directions, per byte that the user reads or writes.
    pub moved_per_byte: f64,
    /// The memory of the vault.
    #[serde(flatten)]
    pub memory: MemorySummary,
    /// The space of stash and tree top on the trusted disk, if they are there.
    pub on_disk: Option<OnDiskSummary>,
    /// The storage costs in US dollars per month, if prices are given.
    pub dollars_per_month: Option<f64>,
    /// The pace at which the vault is served, if there is one.
    pub pace: Option<PaceSummary>,
    /// The journal in the store, if there is one; without it, the journal is on the trusted disk.
    pub journal: Option<JournalSummary>,
    /// The requests and the price of a million accesses.
    #[serde(default)]
    pub million_accesses: Vec<MillionAccesses>,
    /// The approximate number of accesses that are lost with the machine: those between two checkpoints in the store.
    pub recovery_point: u64,
    /// The seconds for which the store lacks accesses at most, until a checkpoint with them is made.
    #[serde(default)]
    pub ship_after: u64,
}

/// Stash and tree top on the trusted disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnDiskSummary {
    /// The bytes of these payloads on the trusted disk.
    pub room: Size,
    /// The maximum bytes of these payloads in memory.
    pub resident: Size,
}

/// The journal in the store: one object and one request for each batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalSummary {
    /// The lengths of batches, each with the bytes of its object.
    pub objects: Vec<(u64, Size)>,
    /// True if an object announces requests before they leave.
    #[serde(default)]
    pub announces: bool,
    /// True if announcements are in etcd.
    #[serde(default)]
    pub is_in_etcd: bool,
    /// The objects of an idle vault, if it has heartbeats in the store.
    #[serde(default)]
    pub heartbeats: Option<HeartbeatSummary>,
}

/// The objects that a vault with heartbeats creates if nobody uses it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeartbeatSummary {
    /// The number of requests per day.
    pub requests: u64,
    /// US dollars per day, if prices are given.
    pub dollars: Option<f64>,
}

/// The cost of a pace, with or without requests of clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaceSummary {
    /// The interval, in readable form.
    pub turn: String,
    /// The number of accesses in each interval.
    pub batch: u32,
    /// The number of bytes that can be read or written per second.
    pub per_second: Size,
    /// The number of requests per day.
    pub requests: u64,
    /// The number of bytes moved per day, in both directions.
    pub bytes: Size,
    /// US dollars per day, if prices are given.
    pub dollars: Option<f64>,
}

/// Bytes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemorySummary {
    /// The usual trusted memory: maps, the mean stash with the tree top, and a batch.
    pub trusted_usual: Size,
    /// The maximum trusted memory: maps, the stash at its hard bound, and evictions in flight.
    pub trusted: Size,
    /// The usual memory of the whole process.
    pub process: Size,
    /// The maximum memory of that process, with all admitted clients.
    pub process_max: Size,
    /// The space reserved on the trusted disk.
    pub reserve: ReserveSummary,
}

impl VaultSummary {
    fn journal_place(&self) -> JournalPlace {
        match &self.journal {
            Some(journal) if journal.is_in_etcd => JournalPlace::Etcd,
            Some(journal) if journal.heartbeats.is_some() => JournalPlace::Standby,
            Some(journal) if journal.announces => JournalPlace::StoreFirst,
            Some(_) => JournalPlace::Store,
            None => JournalPlace::Disk,
        }
    }

    /// Returns what a lost machine takes along by the vault's plan.
    fn planned_recovery_point(&self) -> PlannedRecoveryPoint {
        PlannedRecoveryPoint {
            place: self.journal_place(),
            accesses: self.recovery_point,
            block: self.block_size.0,
            after: Duration::from_secs(self.ship_after),
        }
    }

    /// Returns the same vault with the price of accesses at these prices, if there are any.
    #[must_use]
    pub fn at(&self, prices: Option<&Prices>) -> Self {
        let priced = self.million_accesses.iter().map(|figures| figures.at(prices)).collect();
        VaultSummary { million_accesses: priced, ..self.clone() }
    }

    /// Renders the figures, one per line.
    pub fn render(&self) -> String {
        let mut text = String::new();
        let parameters: Vec<String> =
            self.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {name:<15} {value}");
        };
        line("capacity", format!("{} in blocks of {}", self.capacity, self.block_size));
        line("scheme", format!("{} ({})", self.scheme, parameters.join(", ")));
        line("untrusted side", self.store.clone());
        line("provider stores", format!("at most {}", self.stored));
        line(
            "bytes moved",
            format!(
                "{:.1} per byte of a block that you read or write, plus checkpoints",
                self.moved_per_byte
            ),
        );
        let MemorySummary { trusted_usual, trusted, process, process_max, reserve } = &self.memory;
        line("trusted memory", format!("about {trusted_usual}, at most {trusted}"));
        line(
            "whole process",
            format!("about {process} of memory with a full, busy vault, at most {process_max}"),
        );
        for (name, value) in reserve.lines() {
            line(name, value);
        }
        if let Some(OnDiskSummary { room, resident }) = &self.on_disk {
            line(
                "tree top",
                format!("on the trusted disk, at most {room}; at most {resident} of it in memory"),
            );
        }
        if let Some(dollars) = self.dollars_per_month {
            line("storage costs", format!("${dollars:.2} a month when full, plus requests and traffic"));
        }
        line("a lost machine", self.planned_recovery_point().to_string());
        let (name, places) = journal_line(self.journal_place());
        line(name, places);
        if let Some(JournalSummary { objects, heartbeats, .. }) = &self.journal {
            let sizes: Vec<String> =
                objects.iter().map(|(length, bytes)| format!("{bytes} for {length}")).collect();
            line("its objects", format!("{} accesses", sizes.join(", ")));
            if let Some(HeartbeatSummary { requests, dollars }) = heartbeats {
                let price = dollars.map_or(String::new(), |dollars| format!(", ${dollars:.2} a day"));
                line("heartbeats", format!("at most {requests} PUT requests a day{price}"));
            }
        }
        if !self.million_accesses.is_empty() {
            let (name, value) = million_accesses::line(&self.million_accesses);
            line(name, value);
        }
        if let Some(pace) = &self.pace {
            let PaceSummary { turn, batch, per_second, requests, bytes, dollars } = pace;
            line("pace", format!("a batch of {batch} every {turn}: at most {per_second} per second"));
            let dollars = dollars.map(|dollars| format!(", ${dollars:.2}")).unwrap_or_default();
            line("pace per day", format!("about {requests} requests, {bytes}{dollars}, used or not"));
        }
        text
    }
}

/// The addresses that a gateway listens on.
#[derive(Clone, Copy, Debug)]
pub struct Addresses<'a> {
    /// True if clients must use TLS.
    pub tls: bool,
    /// The address for clients of S3.
    pub s3: SocketAddr,
    /// The address for clients of Swift, if Swift is served.
    pub swift: Option<SocketAddr>,
    /// The URL that clients of Swift use, if it differs.
    pub swift_url: Option<&'a str>,
    /// The address for health and metrics.
    pub admin: SocketAddr,
    /// The flag with which other commands find the vault, after a space; empty for the default folder.
    pub data_flag: &'a str,
}

impl Addresses<'_> {
    fn url(&self, listen: SocketAddr) -> String {
        format!("{}://{listen}", if self.tls { "https" } else { "http" })
    }

    /// Returns a command of `ameles user`, as a shell takes it.
    fn user_command(&self, action: &str) -> String {
        format!("`ameles user {action}{}`", self.data_flag)
    }

    fn swift_url(&self) -> Option<String> {
        let listen = self.swift?;
        Some(self.swift_url.map_or_else(|| self.url(listen), |url| url.trim_end_matches('/').to_owned()))
    }
}

/// The reader of the printed text.
#[derive(Clone, Copy, Debug)]
pub enum Reader<'a> {
    /// A person at a terminal, who may see secrets.
    Terminal,
    /// A log, which must not store secrets: it gets the name of their file.
    Log(&'a Path),
}

impl<'a> Reader<'a> {
    /// Returns the reader of standard output.
    pub fn of_output(credentials: &'a Path) -> Self {
        if std::io::stdout().is_terminal() { Reader::Terminal } else { Reader::Log(credentials) }
    }
}

/// Returns the start message of `ameles serve`. `password` is that of the first user, if it was just generated.
pub fn serving(
    vault: &VaultSummary,
    at: &Addresses<'_>,
    users: &[User],
    password: Option<&str>,
    reader: Reader<'_>,
) -> String {
    let state = if vault.fresh { "A new vault" } else { "An existing vault" };
    let vault = vault.render();
    let also = at.swift_url().map_or(String::new(), |url| format!(", Swift on {url}"));
    let s3_url = at.url(at.s3);
    let (s3, swift) = (s3(&s3_url, at, users, reader), swift(at, users, password, reader));
    format!(
        "\
{state}
{vault}
Serving S3 on {s3_url}{also}, health and metrics on http://{admin}

{s3}{swift}
Press Ctrl-C to stop.
",
        admin = at.admin,
    )
}

/// Describes a demonstration, and how to read in a pattern.
pub fn demonstration(folder: &Path, pattern: Pattern) -> String {
    let reads = match pattern {
        Pattern::Sweep => "They are read in order, then one of them repeatedly. Read others meanwhile",
        Pattern::Quiet => "Read them in a pattern",
    };
    let (first, last) = (object_name(0), object_name(OBJECTS - 1));
    format!(
        "\
This is a demonstration. Do not store data in it: everything is in {folder},
which is removed at the end. It holds {first} to {last}. The page below shows
which blocks are read, and has a switch that turns the ORAM off.

{reads}, with the S3 credentials named above:

  for n in $(seq -w 0 {number}); do aws s3 cp --quiet s3://{CONTAINER}/object-$n /dev/null; done
  while :; do aws s3 cp --quiet s3://{CONTAINER}/{first} /dev/null; done
",
        folder = folder.display(),
        number = OBJECTS - 1,
    )
}

/// Returns the link to the owner's page; a log gets the file that holds the link.
pub fn page(link: &str, reader: Reader<'_>) -> String {
    match reader {
        Reader::Terminal => {
            format!(
                "Your private page, with the requests of applications and what the provider sees:\n  {link}"
            )
        }
        Reader::Log(file) => format!("The link to the owner's page is in {}.", file.display()),
    }
}

/// Returns how to use S3, with the keys of the first user who has keys.
fn s3(endpoint: &str, at: &Addresses<'_>, users: &[User], reader: Reader<'_>) -> String {
    let Some(key) = users.iter().find_map(|user| user.keys.first()) else {
        return format!("No user has S3 keys: create some with {}.\n", at.user_command("keys ACCOUNT:USER"));
    };
    if let Reader::Log(file) = reader {
        return format!("The secret of the S3 key {} is in {}.\n", key.id, file.display());
    }
    format!(
        "  export AWS_ACCESS_KEY_ID={id}
  export AWS_SECRET_ACCESS_KEY={secret}
  export AWS_DEFAULT_REGION=us-east-1 AWS_ENDPOINT_URL={endpoint}

With these variables set, try:

  aws s3 mb s3://first
  aws s3 cp README.md s3://first/
",
        id = key.id,
        secret = *key.secret,
    )
}

/// Returns how to use Swift, as the user whose keys are shown, or the first user with a password if no user has keys.
fn swift(at: &Addresses<'_>, users: &[User], password: Option<&str>, reader: Reader<'_>) -> String {
    let Some(url) = at.swift_url() else { return String::new() };
    // Keys of one user next to the name of another would lead to two accounts.
    let has_keys = users.iter().find(|user| !user.keys.is_empty());
    let Some(user) = has_keys.or_else(|| users.iter().find(|user| user.password.is_some())) else {
        return format!(
            "\nNo user has a password for Swift: create one with {}.\n",
            at.user_command("password ACCOUNT:USER")
        );
    };
    let name = format!("{}:{}", user.identity.account.as_str(), user.identity.user.as_str());
    let command = at.user_command(&format!("password {name}"));
    if user.password.is_none() {
        return format!("\n{name} has no password for Swift: create one with {command}.\n");
    }
    if let (Some(_), Reader::Log(_)) = (password, reader) {
        return format!(
            "\nThe password of {name} is shown only at a terminal: create a new one with {command}.\n"
        );
    }
    let (key, hint) = match password {
        Some(password) => (password, "The password is shown only once.".to_owned()),
        None => ("...", format!("The password of {name} is not stored: create a new one with {command}.")),
    };
    format!(
        "
  export ST_AUTH={url}/auth/v1.0 ST_USER={name} ST_KEY={key}

With these variables set, try:

  swift upload first README.md
  swift list first

{hint}
"
    )
}

#[cfg(test)]
mod tests;
