//! `ameles plan`

use super::usage_error::usage_error;
use crate::config::interval::Interval;
use crate::config::size::Size;
use crate::report::million_accesses::{self, MillionAccesses};
use crate::report::recovery_point::{PlannedRecoveryPoint, journal_line};
use crate::runtime::exit::Exit;
use crate::runtime::output::print_line;
use crate::vault::parameters::default_journal;
use crate::vault::prices;
use crate::vault::process_memory::process_memory;
use ameles_lab::plan::{BLOCK_BYTES, Choice, ObjectSizes, Order, Plan, Work};
use ameles_lab::virtual_time::ServerTime;
use ameles_store::{BitsPerSecond, LinkSpeed, Prices};
use ameles_vault::{SHIP_AFTER, VaultParameters};
use anyhow::{Context, Result, anyhow};
use clap::{Args, ValueEnum};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;

/// The units of a rate, in seconds.
const UNITS: [(&str, f64); 5] =
    [("second", 1.0), ("hour", 3600.0), ("day", 86_400.0), ("week", 604_800.0), ("month", MONTH)];
/// A month in seconds: a twelfth of 365 days.
const MONTH: f64 = 365.0 * 86_400.0 / 12.0;

/// The name that stands for all providers of the shipped table.
const ALL_PROVIDERS: &str = "all";

/// The maximum number of reads or writes per month.
const MAX_PER_MONTH: f64 = 1e12;

#[derive(Args)]
#[command(
    after_help = "The table gives the monthly bill, the mean time to read an object in a series of reads, and the size of the \
store. It models a full store in use; a real vault adds its catalogue of names, checkpoints and retries.

Examples:
  ameles plan --capacity 100GiB --objects ~/Documents --reads 1000/day --writes 100/day --link 100Mbit/s,30ms
  ameles plan --capacity 2TiB --objects sizes.csv --reads 200000/month --writes 50000/month --prices r2-standard \
--trusted-memory 2GiB --by time"
)]
pub(super) struct Arguments {
    /// The bytes to store
    #[arg(long, value_name = "SIZE")]
    capacity: Size,
    /// The sizes of the objects: one size, a table (FILE.csv: bytes,count), a folder, or the output of
    /// `aws s3 ls --recursive`
    #[arg(long, value_name = "SIZE or PATH", default_value = "1MiB")]
    objects: String,
    /// Objects read, such as 1000/day
    #[arg(long, value_name = "NUMBER/UNIT", default_value = "10000/month")]
    reads: Rate,
    /// Objects written, such as 100/day
    #[arg(long, value_name = "NUMBER/UNIT", default_value = "1000/month")]
    writes: Rate,
    /// The link to the store: bandwidth in each direction, and round-trip time
    #[arg(long, value_name = "BANDWIDTH,TIME", default_value = "100Mbit/s,30ms")]
    link: LinkFlag,
    /// The time that the store takes for a GET and for a PUT, or one time for both
    #[arg(long, value_name = "TIMES", value_delimiter = ',', default_value = "0s")]
    server_time: Vec<Interval>,
    /// The prices, separated by commas: names of the shipped table, FILE#NAME, or files with one table; `all` means
    /// every provider of the shipped table
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "all")]
    prices: Vec<String>,
    /// The URL of the store, for the printed command
    #[arg(long, value_name = "URL", default_value = "s3://my-bucket/ameles")]
    store: String,
    /// The memory that the trusted side may usually take; it may take a few per cent more at times
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    trusted_memory: Size,
    /// Block sizes to compare, such as 64KiB,1MiB [default: 4KiB, 16KiB, 64KiB, 256KiB and 1MiB]
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    block: Vec<Size>,
    /// The order of the rows
    #[arg(long, value_enum, default_value_t = By::Bill)]
    by: By,
    /// The maximum number of rows
    #[arg(long, value_name = "NUMBER", default_value_t = 12)]
    rows: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// By monthly bill
    Bill,
    /// By the time to read an object
    Time,
    /// By the size of the store
    Store,
}

/// A number of operations per month.
#[derive(Clone, Copy)]
struct Rate(f64);

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = text.split_once('/').unwrap_or((text, "month"));
        let number: Option<f64> =
            number.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        let seconds = UNITS.iter().find(|(name, _)| *name == unit.trim());
        match (number, seconds) {
            (Some(number), Some((_, seconds))) if number * MONTH / seconds <= MAX_PER_MONTH => {
                Ok(Rate(number * MONTH / seconds))
            }
            (Some(_), Some(_)) => Err("at most 1e12 per month".into()),
            _ => {
                Err("write a number and a unit of time, such as 1000/day (second, hour, day, week, month)"
                    .into())
            }
        }
    }
}

/// The speed of a link.
#[derive(Clone, Copy)]
struct LinkFlag(LinkSpeed);

impl FromStr for LinkFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let error = || "write a bandwidth and a round trip, such as 100Mbit/s,30ms".to_owned();
        let (bandwidth, round_trip) = text.split_once(',').ok_or_else(error)?;
        let bandwidth = bandwidth.trim();
        let units = [("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)];
        let in_unit = |(unit, bits): &(&str, f64)| bandwidth.strip_suffix(unit).map(|number| (number, *bits));
        let (number, bits) = units.iter().find_map(in_unit).ok_or_else(error)?;
        let number: f64 = number.trim().parse().map_err(|_| error())?;
        // Bandwidths must fit a clock in nanoseconds.
        if !(number * bits >= 1.0 && number * bits < 1e15) {
            return Err(error());
        }
        let round_trip: Interval = round_trip.trim().parse().map_err(|_| error())?;
        let line = BitsPerSecond((number * bits) as u64);
        Ok(LinkFlag(LinkSpeed { round_trip: round_trip.0, up: line, down: line }))
    }
}

impl Arguments {
    /// Returns the prices, each with its name for `ameles serve`.
    fn prices(&self) -> Result<Vec<(String, Prices)>> {
        let mut all = Vec::new();
        for name in &self.prices {
            if name == ALL_PROVIDERS {
                all.extend(prices::all_providers());
                continue;
            }
            let named = prices::find(name).map_err(|why| usage_error(format!("--prices {name}: {why}")))?;
            all.push((name.clone(), named.1));
        }
        let mut names = BTreeSet::new();
        all.retain(|(name, _)| names.insert(name.clone()));
        Ok(all)
    }

    fn sizes(&self) -> Result<ObjectSizes> {
        match self.objects.parse::<Size>() {
            Ok(size) => Ok(ObjectSizes::uniform(size.0)),
            Err(_) => ObjectSizes::read(&PathBuf::from(&self.objects)).context("--objects"),
        }
    }

    fn blocks(&self) -> Result<Vec<u64>> {
        let is_out_of_range = |size: &&Size| !(4 << 10..=16 << 20).contains(&size.0);
        match self.block.iter().find(is_out_of_range) {
            Some(size) => Err(usage_error(format!("--block {size}: give 4KiB to 16MiB")).into()),
            None if self.block.is_empty() => Ok(BLOCK_BYTES.into()),
            None => Ok(self.block.iter().map(|size| size.0).collect()),
        }
    }

    /// Returns the work to plan, with these prices.
    fn work(&self, prices: &Prices) -> Result<Work> {
        if self.capacity.0 == 0 {
            return Err(usage_error("--capacity is 0: give the bytes to store, such as 100GiB").into());
        }
        let server = match *self.server_time {
            [both] => ServerTime { get: both.0, put: both.0 },
            [get, put] => ServerTime { get: get.0, put: put.0 },
            _ => {
                return Err(usage_error("--server-time takes one or two times, such as 5ms,80ms").into());
            }
        };
        let sizes = self.sizes()?;
        if sizes.max() > self.capacity.0 {
            let (greatest, capacity) = (Size(sizes.max()), self.capacity);
            return Err(usage_error(format!(
                "--objects: an object of {greatest} does not fit into --capacity {capacity}: raise the capacity, or give smaller objects"
            )).into());
        }
        Ok(Work {
            capacity: self.capacity.0,
            sizes,
            reads: self.reads.0,
            writes: self.writes.0,
            speed: self.link.0,
            server,
            journal: default_journal(Some(&self.store)),
            prices: prices.clone(),
            trusted: self.trusted_memory.0,
            block_bytes: self.blocks()?,
        })
    }
}

/// Quotes a word for a shell.
fn shell_quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./#:".contains(letter);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Returns lines on what a vault loses with its machine, and on the price of its accesses.
fn protection(vault: &VaultParameters, prices: Option<&Prices>) -> String {
    let lines = [
        ("a lost machine", PlannedRecoveryPoint::of(vault, SHIP_AFTER).to_string()),
        journal_line(vault.journal),
        million_accesses::line(&MillionAccesses::of(vault, prices)),
    ];
    lines.map(|(name, value)| format!("  {name:<15} {value}\n")).concat()
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    let order = match arguments.by {
        By::Bill => Order::Bill,
        By::Time => Order::Time,
        By::Store => Order::Store,
    };
    let prices = arguments.prices()?;
    let Some((_, first)) = prices.first() else {
        return Err(usage_error("--prices is empty: give a name").into());
    };
    let plan = Plan::of(&arguments.work(first)?, &prices, order, &process_memory);
    print_line!("{}\n", plan.tables(arguments.rows));
    let best = |(offer, choice): (_, &Choice)| Some((offer, choice.flags.clone()?, choice.vault.clone()?));
    match (plan.best_vault().and_then(best), plan.smallest_too_large_vault()) {
        (Some((offer, flags, vault)), _) => {
            let prices = prices.iter().find(|(name, _)| *name == offer.prices).map(|(_, prices)| prices);
            print_line!("The first row that `ameles serve` supports:\n\n{}", protection(&vault, prices));
            let (store, prices) = (shell_quoted(&arguments.store), shell_quoted(&offer.prices));
            print_line!(
                "It is created and served by\n\n  ameles serve --store {store} {flags} --prices \
                 {prices}\n\n`ameles init` with the same flags only creates it, and prints what it costs."
            );
            Ok(Exit::Success)
        }
        (None, Some((offer, nearest))) => Err(anyhow!(
            "no vault fits into --trusted-memory {}: the closest is {} with blocks of {} KiB, which takes {} MiB and costs {:.2} \
             dollars a month at {}",
            arguments.trusted_memory,
            nearest.scheme,
            nearest.block_bytes >> 10,
            nearest.memory.div_ceil(1 << 20),
            nearest.figures.dollars(),
            offer.prices,
        )),
        (None, None) => Err(anyhow!("no vault can hold this capacity: give a smaller --capacity")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_rate_is_a_number_a_month() {
        let rate = |text: &str| text.parse::<Rate>().unwrap().0;
        assert!((rate("12/month") - 12.0).abs() < 1e-9 && (rate("12") - 12.0).abs() < 1e-9);
        assert!((rate("1/day") - 365.0 / 12.0).abs() < 1e-9);
        assert!((rate("0.5/second") - 0.5 * MONTH).abs() < 1e-6);
        for text in ["", "x/day", "1/fortnight", "-1/day", "inf/day", "1/", "1e300/second", "1e13"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_word_for_the_shell_is_quoted_if_needed() {
        assert_eq!(shell_quoted("prices/mine.toml#a-b"), "prices/mine.toml#a-b");
        assert_eq!(shell_quoted("sp ace/pr.toml#mine"), "'sp ace/pr.toml#mine'");
        assert_eq!(shell_quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn a_link_is_a_bandwidth_and_a_round_trip() {
        let LinkFlag(speed) = "510.4Mbit/s, 23.6ms".parse().unwrap();
        assert_eq!((speed.up, speed.down), (BitsPerSecond(510_400_000), BitsPerSecond(510_400_000)));
        assert_eq!(speed.round_trip, Duration::from_micros(23_600));
        for text in
            ["", "100Mbit/s", "30ms,100Mbit/s", "100MB/s,30ms", "-1Mbit/s,1ms", "0bit/s,1ms", "NaNbit/s,1ms"]
        {
            assert!(text.parse::<LinkFlag>().is_err(), "{text}");
        }
    }
}
