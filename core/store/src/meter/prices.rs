//! A provider's prices, from a table in a file, and the bill that follows from them.

use super::Usage;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The prices of a provider in US dollars, without free allowances and discounts for quantity.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The provider, the class of storage and the region.
    pub provider: String,
    /// The date when these prices were looked up, as `YYYY-MM` or `YYYY-MM-DD`; `any` if they do not change.
    pub as_of: String,
    /// The size of a "GB" in the provider's bills: 10^9 or 2^30 bytes.
    pub bytes_per_gb: u64,
    /// The dollars per 1000 requests that write.
    pub put_per_1000: f64,
    /// The dollars per 1000 requests that read.
    pub get_per_1000: f64,
    /// The dollars per 1000 list requests.
    pub list_per_1000: f64,
    /// The dollars per 1000 removals.
    pub delete_per_1000: f64,
    /// The dollars per GB that leaves the provider for the Internet.
    pub egress_per_gb: f64,
    /// The dollars per GB that enters.
    pub ingress_per_gb: f64,
    /// The dollars per GB that is stored for a month.
    pub storage_per_gb_month: f64,
}

/// The costs of a [`Usage`], in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bill {
    /// The costs of the requests.
    pub requests: f64,
    /// The costs of the bytes moved.
    pub transfer: f64,
    /// The costs of each month that the bytes stored now stay.
    pub storage_per_month: f64,
}

impl Bill {
    /// The dollars spent so far, storage not included: that depends on how long it stays.
    pub fn spent(&self) -> f64 {
        self.requests + self.transfer
    }
}

impl Prices {
    /// Returns the costs of `usage`.
    pub fn bill(&self, usage: &Usage) -> Bill {
        let thousands = |count: u64| count as f64 / 1000.0;
        let gigabytes = |bytes: u64| bytes as f64 / self.bytes_per_gb as f64;
        Bill {
            requests: thousands(usage.puts()) * self.put_per_1000
                + thousands(usage.gets()) * self.get_per_1000
                + thousands(usage.lists) * self.list_per_1000
                + thousands(usage.deletes()) * self.delete_per_1000,
            transfer: gigabytes(usage.bytes_down) * self.egress_per_gb
                + gigabytes(usage.bytes_up) * self.ingress_per_gb,
            storage_per_month: gigabytes(usage.stored_bytes) * self.storage_per_gb_month,
        }
    }

    fn check(&self) -> Result<(), &'static str> {
        let prices = [
            self.put_per_1000,
            self.get_per_1000,
            self.list_per_1000,
            self.delete_per_1000,
            self.egress_per_gb,
            self.ingress_per_gb,
            self.storage_per_gb_month,
        ];
        if !prices.iter().all(|price| price.is_finite() && *price >= 0.0) {
            return Err("a price is a number of dollars, 0 or more");
        }
        if self.bytes_per_gb == 0 {
            return Err("bytes_per_gb is 1000000000 or 1073741824");
        }
        Ok(())
    }
}

/// Prices by name, read from TOML: one table a provider.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct PriceTable {
    prices: BTreeMap<String, Prices>,
}

/// The reason why prices cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The text is not a table of prices.
    #[error("this is not a table of prices: {0}")]
    Unreadable(#[from] toml::de::Error),
    /// A value is out of range.
    #[error("in the prices of {name:?}: {why}")]
    Senseless {
        /// The name of the price entry.
        name: String,
        /// The problem of the value.
        why: &'static str,
    },
    /// There is no such entry.
    #[error("there are no prices of {name:?}; known are {known}")]
    Unknown {
        /// The name that was requested.
        name: String,
        /// The names that there are.
        known: String,
    },
}

impl PriceTable {
    /// The table that comes with this crate: **examples**, each with the date of its prices, and `free`.
    pub fn shipped() -> Self {
        include_str!("../../prices.toml").parse().expect("the shipped table is well formed")
    }

    /// The prices of that name.
    ///
    /// # Errors
    /// [`PriceError::Unknown`], which tells the names that there are.
    pub fn get(&self, name: &str) -> Result<&Prices, PriceError> {
        self.prices.get(name).ok_or_else(|| PriceError::Unknown {
            name: name.to_owned(),
            known: self.names().collect::<Vec<_>>().join(", "),
        })
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.prices.keys().map(String::as_str)
    }
}

impl FromStr for PriceTable {
    type Err = PriceError;

    /// Reads a table from TOML.
    fn from_str(text: &str) -> Result<Self, PriceError> {
        let table: PriceTable = toml::from_str(text)?;
        for (name, prices) in &table.prices {
            prices.check().map_err(|why| PriceError::Senseless { name: name.clone(), why })?;
        }
        Ok(table)
    }
}

impl fmt::Display for Prices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (prices of {})", self.provider, self.as_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_is_what_one_computes_by_hand() {
        let prices = Prices {
            provider: "test".to_owned(),
            as_of: "any".to_owned(),
            bytes_per_gb: 1_000_000_000,
            put_per_1000: 0.005,
            get_per_1000: 0.0004,
            list_per_1000: 0.006,
            delete_per_1000: 0.001,
            egress_per_gb: 0.09,
            ingress_per_gb: 0.01,
            storage_per_gb_month: 0.023,
        };
        let usage = Usage {
            slot_reads: 9_000,
            blob_reads: 1_000,
            bucket_writes: 1_500,
            blob_writes: 500,
            lists: 3_000,
            bucket_deletes: 4_000,
            bytes_down: 2_000_000_000,
            bytes_up: 3_000_000_000,
            stored_bytes: 10_000_000_000,
            ..Usage::default()
        };
        let bill = prices.bill(&usage);
        // 2 * 0.005 + 10 * 0.0004 + 3 * 0.006 + 4 * 0.001
        assert!((bill.requests - 0.036).abs() < 1e-12);
        // 2 * 0.09 + 3 * 0.01
        assert!((bill.transfer - 0.21).abs() < 1e-12);
        assert!((bill.storage_per_month - 0.23).abs() < 1e-12);
        assert!((bill.spent() - 0.246).abs() < 1e-12);
    }

    #[test]
    fn the_shipped_table_is_dated_and_has_one_that_costs_nothing() {
        let table = PriceTable::shipped();
        let month = |date: &str| date.len() >= 7 && date.as_bytes()[4] == b'-';
        for name in table.names() {
            let as_of = &table.get(name).unwrap().as_of;
            assert!(name == "free" || month(as_of), "{name}: {as_of}");
        }
        let usage =
            Usage { slot_reads: 1_000_000, bytes_down: 1 << 40, stored_bytes: 1 << 40, ..Usage::default() };
        assert_eq!(table.get("free").unwrap().bill(&usage), Bill::default());
        assert!(table.get("s3-standard").unwrap().bill(&usage).spent() > 0.0);
    }

    #[test]
    fn a_wrong_table_is_told_where_it_is_wrong() {
        let unknown = PriceTable::shipped().get("nobody").unwrap_err().to_string();
        assert!(unknown.contains("nobody") && unknown.contains("free"), "{unknown}");
        assert!(matches!("[x]\nput = 1".parse::<PriceTable>(), Err(PriceError::Unreadable(_))));
        let shipped = include_str!("../../prices.toml");
        let negative = shipped.replacen("put_per_1000 = 0.0", "put_per_1000 = -1.0", 1);
        assert_ne!(negative, shipped);
        assert!(matches!(negative.parse::<PriceTable>(), Err(PriceError::Senseless { .. })));
    }
}
