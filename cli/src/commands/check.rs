//! `ameles check`

use crate::config::Settings;
use crate::config::size::Size;
use crate::report::count::count;
use crate::report::status_file::{Report, requests_line};
use crate::runtime::exit::Exit;
use crate::runtime::output::print_line;
use crate::runtime::progress;
use crate::vault::home::Home;
use anyhow::Result;

/// The last part of the help.
pub(super) const HELP: &str =
    "Fetches and authenticates every bucket that was ever written, in the order of bucket numbers.

Examples:
  ameles check
  ameles check --store s3://my-bucket/ameles";

pub(super) async fn run(settings: Settings) -> Result<Exit> {
    let (vault, meter) = Home::new(&settings).open().await?;
    // The check may have to finish an eviction first, and no client waits: a full store is an error.
    vault.fail_if_store_is_full();
    let bar = progress::steps("checking buckets", 0);
    let display = bar.clone();
    let report = vault
        .check(Box::new(move |done, all| {
            display.set_length(all);
            display.set_position(done);
        }))
        .await;
    bar.finish_and_clear();
    let closed = vault.close().await;
    let report = report?;
    closed?;
    Report::update_opening(&settings.data, &vault.status(), &meter.usage());
    let requests = format!("Requests to the store: {}", requests_line(&meter.usage()));
    if report.faults.is_empty() {
        print_line!(
            "{}, {}, {}: all authentic",
            count(report.buckets, "bucket"),
            count(report.slots, "slot"),
            Size(report.bytes)
        );
        print_line!("{requests}");
        return Ok(Exit::Success);
    }
    for complaint in &report.faults {
        print_line!("{complaint}");
    }
    let faults = count(report.faults.len() as u64, "fault");
    print_line!("{faults} found in {}", count(report.buckets, "bucket"));
    print_line!(
        "The store changed or lost these objects. Put them back from its older versions or from a copy of it, and check again; \
         delete nothing."
    );
    print_line!("{requests}");
    Ok(Exit::Tampering)
}
