//! The public metrics. They contain only figures that the provider sees anyway.

use crate::report::status_file::SuccessorFigures;
use ameles_gateway::http::admin::{Figure, FigureKind};
use ameles_store::{Prices, Usage};
use ameles_vault::Status;

/// Returns the figures of `/metrics`.
pub fn figures(
    status: &Status,
    usage: &Usage,
    prices: Option<&Prices>,
    successor: Option<&SuccessorFigures>,
) -> Vec<Figure> {
    let figure = |name: &str, help: &str, kind, value: f64| Figure {
        name: format!("ameles_{name}"),
        help: help.into(),
        kind,
        value,
    };
    let counter = |name, help, value: u64| figure(name, help, FigureKind::Counter, value as f64);
    let gauge = |name, help, value: u64| figure(name, help, FigureKind::Gauge, value as f64);
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
