//! Prices of providers, and the bill of a run.
//!
//! The thesis's five providers are read from `prices/thesis.toml` (its Table 4.5). Those of today come from the table
//! of `ameles-store`, each with its date, or from a file of the same format. A bill is [`Prices::bill`] of a [`Usage`].

use ameles_store::{Bill, PriceTable, Prices, Usage};

/// The price list of the thesis, as TOML.
const THESIS: &str = include_str!("../../prices/thesis.toml");

/// The providers of the thesis in the order of its Table 4.5: names of their prices, and of the columns of ours.
const THESIS_PROVIDERS: [(&str, &str); 5] = [
    ("s3-2019", "S3"),
    ("google-2019", "Google"),
    ("rackspace-2019", "Rackspace"),
    ("ibm-2019", "IBM"),
    ("oracle-2019", "Oracle"),
];

/// The prices of a store that costs nothing.
const FREE: &str = "free";

/// A provider in a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// The heading of its column.
    pub name: String,
    /// The provider's prices.
    pub prices: Prices,
}

impl Provider {
    /// The bill of a run.
    pub fn bill(&self, usage: &Usage) -> Bill {
        self.prices.bill(usage)
    }
}

/// The five providers of the thesis, at its prices of June 2019.
///
/// # Panics
/// Never: a test reads the list that is compiled in.
pub fn thesis_providers() -> Vec<Provider> {
    let table: PriceTable = THESIS.parse().expect("the list of the thesis is well formed");
    let provider = |(key, name): (&str, &str)| {
        let prices = table.get(key).expect("the list of the thesis has its five providers").clone();
        Provider { name: name.to_owned(), prices }
    };
    THESIS_PROVIDERS.map(provider).into()
}

/// The providers of the table that comes with `ameles-store`, each with the date of its prices, without the one that
/// costs nothing.
///
/// # Panics
/// Never: a test reads them.
pub fn current_providers() -> Vec<Provider> {
    let table = PriceTable::shipped();
    let provider = |name: &str| {
        let prices = table.get(name).expect("a table has the names that it lists").clone();
        Provider { name: name.to_owned(), prices }
    };
    table.names().filter(|name| *name != FREE).map(provider).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dollars(usage: &Usage) -> Vec<f64> {
        thesis_providers().iter().map(|provider| provider.bill(usage).spent()).collect()
    }

    fn assert_close(bills: &[f64], by_hand: [f64; 5]) {
        for (bill, by_hand) in bills.iter().zip(by_hand) {
            assert!((bill - by_hand).abs() < 1e-9, "{bills:?} by hand {by_hand:?}");
        }
    }

    #[test]
    fn requests_and_egress_cost_what_one_adds_up_by_hand() {
        let usage = Usage {
            slot_reads: 10_000,
            bucket_writes: 2_000,
            bucket_deletes: 5_000,
            bytes_down: 3 << 30,
            bytes_up: 7 << 30,
            ..Usage::default()
        };
        // S3 and IBM: 10 * 0.0004 + 2 * 0.005 + 3 * 0.09; Google: 3 * 0.11 instead; Rackspace: 3 * 0.12 alone;
        // Oracle: 12 * 0.00034.
        assert_close(&dollars(&usage), [0.284, 0.344, 0.36, 0.284, 0.00408]);
    }

    #[test]
    fn a_stored_gigabyte_costs_its_month() {
        let usage = Usage { stored_bytes: 10 << 30, ..Usage::default() };
        let months: Vec<f64> =
            thesis_providers().iter().map(|provider| provider.bill(&usage).storage_per_month).collect();
        assert_close(&months, [0.23, 0.20, 1.0, 0.22, 0.255]);
    }

    #[test]
    fn the_baselines_of_the_thesis_cost_what_it_prints() {
        // Workloads B and D, which the thesis computes because its provider bills whole cents: 0.0003 and 0.002
        // dollars.
        let of = |gets, puts, down_mb: f64| {
            let bytes_down = (down_mb * f64::from(1 << 20)) as u64;
            let usage = Usage { slot_reads: gets, bucket_writes: puts, bytes_down, ..Usage::default() };
            dollars(&usage)[3]
        };
        assert!((of(76, 24, 1.68) - 0.000298).abs() < 5e-7);
        assert!((of(73, 37, 17.79) - 0.001778).abs() < 5e-7);
    }
}
