//! The objective of a plan, from the settings and the prices.

use crate::config::{Objective, Settings, SettingsError};
use crate::vault::prices;
use ameles_core::schemes::ring::RingObjective;
use ameles_store::Prices;

/// The cost of a written slot relative to a read slot if writes are free, so that a plan does not move bytes without
/// need.
const MIN_WRITTEN: f64 = 0.01;

/// Returns the objective of the settings.
///
/// # Errors
/// The objective is dollars, and the prices do not exist.
pub(super) fn objective(settings: &Settings) -> Result<RingObjective, SettingsError> {
    Ok(match settings.scheme.objective {
        Objective::Bytes => RingObjective::BYTES,
        Objective::Requests => RingObjective::REQUESTS,
        Objective::Latency => RingObjective::LATENCY,
        Objective::Dollars => {
            let prices = prices::requested(settings)?.unwrap_or_else(prices::default_prices);
            dollars_objective(&prices, settings.block_size.0)
        }
    })
}

/// Returns the dollars of requests and bytes, or bytes if all are free.
fn dollars_objective(prices: &Prices, block_bytes: u64) -> RingObjective {
    let per_slot = |per_gb: f64| per_gb * block_bytes as f64 / prices.bytes_per_gb as f64;
    let (get, put) = (prices.get_per_1000 / 1000.0, (prices.put_per_1000 + prices.delete_per_1000) / 1000.0);
    let slot_read = per_slot(prices.egress_per_gb);
    // At least a hundredth of a request: a plan should not move bytes without need.
    let min = MIN_WRITTEN * if slot_read > 0.0 { slot_read } else { get };
    let slot_written = per_slot(prices.ingress_per_gb).max(min);
    let slot_read = slot_read.max(MIN_WRITTEN * get);
    if get + put + slot_read + slot_written == 0.0 {
        return RingObjective::BYTES;
    }
    RingObjective { get, put, slot_read, slot_written, slot_waited: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_store::PriceTable;

    fn shipped(name: &str) -> Prices {
        PriceTable::shipped().get(name).cloned().unwrap()
    }

    #[test]
    fn dollars_are_those_of_the_prices() {
        let objective = dollars_objective(&shipped("s3-standard"), 65_536);
        assert!((objective.get - 0.000_000_4).abs() < 1e-12, "{objective:?}");
        assert!((objective.put - 0.000_005).abs() < 1e-12, "{objective:?}");
        // Egress is nine cents a GB, ingress is free.
        assert!((objective.slot_read - 0.09 / 16_384.0).abs() < 1e-12, "{objective:?}");
        assert!(objective.slot_written < objective.slot_read / 99.0, "{objective:?}");
    }

    #[test]
    fn a_store_that_costs_nothing_is_planned_for_bytes() {
        assert_eq!(dollars_objective(&shipped("free"), 4096), RingObjective::BYTES);
    }

    #[test]
    fn missing_prices_are_an_error_if_the_objective_is_dollars() {
        let settings = |text: &str| {
            let text = format!("[vault]\n{text}\n[prices]\nfile = \"nowhere\"");
            Settings::from_toml(&text)
        };
        assert!(objective(&settings("objective = \"dollars\"")).is_err());
        assert_eq!(objective(&settings("objective = \"bytes\"")).unwrap(), RingObjective::BYTES);
        assert_eq!(objective(&settings("")).unwrap(), RingObjective::BYTES);
    }
}
