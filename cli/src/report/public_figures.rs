//! The public metrics. They contain only figures that the provider sees anyway.

use crate::report::million_accesses::MillionAccesses;
use crate::report::recovery_point::Recovery;
use crate::report::status_file::SuccessorFigures;
use ameles_gateway::http::admin::{Figure, FigureKind};
use ameles_store::{Prices, Usage};
use ameles_vault::{Status, VaultParameters};

/// Returns the figures of `/metrics`.
pub fn figures(
    (status, parameters): (&Status, &VaultParameters),
    usage: &Usage,
    prices: Option<&Prices>,
    successor: Option<&SuccessorFigures>,
) -> Vec<Figure> {
    let mut figures = vec![
        counter("accesses", "Accesses since the vault was created, including dummies", status.accesses),
        counter("emergency_evictions", "Evictions outside of the public schedule", status.emergencies),
        counter("store_requests", "Requests to the store, of all kinds", usage.requests()),
        counter("store_get_requests", "Reads from the store", usage.gets()),
        counter("store_put_requests", "Writes to the store", usage.puts()),
        counter("store_delete_requests", "Deletions in the store", usage.deletes()),
        counter("store_list_requests", "Listings of the store", usage.lists),
        counter("store_sent_bytes", "Bytes sent to the store", usage.bytes_up),
        counter("store_received_bytes", "Bytes received from the store", usage.bytes_down),
        gauge("evictions_pending", "Evictions that are pending by the schedule", status.evictions_pending),
        gauge("epoch", "Openings of the vault so far", status.epoch.into()),
        gauge("store_full", "1 if the store is full: writes are refused", status.store.is_full.into()),
        gauge(
            "unshipped_accesses",
            "Accesses that the last checkpoint in the store may lack",
            status.checkpoints.unshipped,
        ),
        gauge("old_versions", "Replaced buckets that are still stored", status.old_versions),
    ];
    figures.extend(recovery_figures(&Recovery::of(status, parameters)));
    figures.extend(cost_figures(parameters, prices));
    if let Some(SuccessorFigures { blocks, of, usage, .. }) = successor {
        figures.extend([
            gauge("successor_blocks", "Blocks that the successor has", *blocks),
            gauge("successor_blocks_in_all", "Blocks of the complete successor", *of),
            counter("successor_store_requests", "Requests to the successor's store", usage.requests()),
            counter("successor_store_sent_bytes", "Bytes sent to the successor's store", usage.bytes_up),
            counter(
                "successor_store_received_bytes",
                "Bytes received from the successor's store",
                usage.bytes_down,
            ),
        ]);
    }
    if let Some(prices) = prices {
        let spent = prices.bill(usage).spent();
        figures.push(figure(
            "spent_dollars",
            "Dollars for requests and traffic so far",
            FigureKind::Counter,
            spent,
        ));
    }
    figures
}

/// Returns the place of the journal, and what a lost machine would take along now.
fn recovery_figures(recovery: &Recovery) -> Vec<Figure> {
    let mut figures = vec![
        gauge(
            "journal_in_store",
            "1 if acknowledged writes are in the store, 0 if they are only on this machine",
            recovery.log.is_some().into(),
        ),
        gauge(
            "recovery_point_accesses",
            "Accesses that a lost machine would take along, at most",
            recovery.accesses(),
        ),
        gauge("recovery_point_bytes", "The bytes of their blocks", recovery.bytes()),
        gauge(
            "log_lag_accesses",
            "Accesses of the batch whose log object is not in the store yet",
            recovery.log.map_or(0, |log| log.accesses),
        ),
    ];
    let ages = [
        (
            "recovery_point_seconds",
            "Seconds whose accesses a lost machine would take along",
            recovery.seconds(),
        ),
        (
            "manifest_age_seconds",
            "Seconds since the newest checkpoint in the store was made",
            recovery.manifest_age,
        ),
    ];
    figures.extend(ages.into_iter().filter_map(|(name, help, age)| Some(gauge(name, help, age?))));
    figures
}

/// Returns the requests and the price of a million accesses.
fn cost_figures(parameters: &VaultParameters, prices: Option<&Prices>) -> Vec<Figure> {
    let mut figures = Vec::new();
    for MillionAccesses { batch, usage, dollars } in MillionAccesses::of(parameters, prices) {
        let name = format!("puts_per_million_accesses_in_batches_of_{batch}");
        let help = "PUT requests for a million accesses, as expected";
        figures.push(gauge(&name, help, usage.puts()));
        if let Some(dollars) = dollars {
            let name = format!("dollars_per_million_accesses_in_batches_of_{batch}");
            let help = "Dollars for the requests and traffic of a million accesses, as expected";
            figures.push(figure(&name, help, FigureKind::Gauge, dollars));
        }
    }
    figures
}

fn figure(name: &str, help: &str, kind: FigureKind, value: f64) -> Figure {
    Figure { name: format!("ameles_{name}"), help: help.into(), kind, value }
}

fn counter(name: &str, help: &str, value: u64) -> Figure {
    figure(name, help, FigureKind::Counter, value as f64)
}

fn gauge(name: &str, help: &str, value: u64) -> Figure {
    figure(name, help, FigureKind::Gauge, value as f64)
}
