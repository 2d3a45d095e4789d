//! The public metrics: figures that the provider sees anyway, and nothing else.

use crate::report::status_file::SuccessorFigures;
use ameles_gateway::http::admin::{Figure, FigureKind};
use ameles_store::{Prices, Usage};
use ameles_vault::Status;

/// The figures of `/metrics`.
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
    let counted = |name, help, value: u64| figure(name, help, FigureKind::Counter, value as f64);
    let mut figures = vec![
        counted("accesses", "Accesses since the vault was made, dummies included", status.accesses),
        counted("emergency_evictions", "Evictions outside of the public schedule", status.emergencies),
        counted("store_requests", "Requests asked of the store, of all kinds", usage.requests()),
        counted("store_get_requests", "Reads asked of the store", usage.gets()),
        counted("store_put_requests", "Writes asked of the store", usage.puts()),
        counted("store_delete_requests", "Deletions asked of the store", usage.deletes()),
        counted("store_list_requests", "Listings asked of the store", usage.lists),
        counted("store_sent_bytes", "Bytes sent to the store", usage.bytes_up),
        counted("store_received_bytes", "Bytes received from the store", usage.bytes_down),
        figure(
            "evictions_owed",
            "Evictions that the schedule owes",
            FigureKind::Gauge,
            status.evictions_owed as f64,
        ),
        figure("epoch", "Openings of the vault so far", FigureKind::Gauge, f64::from(status.epoch)),
        figure(
            "store_full",
            "1 if the store is full: writes are refused",
            FigureKind::Gauge,
            f64::from(u8::from(status.store.is_full)),
        ),
        figure("old_versions", "Replaced buckets still kept", FigureKind::Gauge, status.old_versions as f64),
    ];
    if let Some(SuccessorFigures { blocks, of, usage, .. }) = successor {
        let gauge = |name, help, value: u64| figure(name, help, FigureKind::Gauge, value as f64);
        figures.extend([
            gauge("successor_blocks", "Blocks that the successor has", *blocks),
            gauge("successor_blocks_in_all", "Blocks that the successor is to have", *of),
            counted("successor_store_requests", "Requests asked of the successor's store", usage.requests()),
            counted("successor_store_sent_bytes", "Bytes sent to the successor's store", usage.bytes_up),
            counted(
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
