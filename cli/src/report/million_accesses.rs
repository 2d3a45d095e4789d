//! The requests and the price of a million accesses, by the length of batches.

use ameles_store::{Prices, Usage};
use ameles_vault::VaultParameters;
use serde::{Deserialize, Serialize};

/// The accesses that the figures are of.
const ACCESSES: f64 = 1e6;
/// The lengths of batches: a lone client's, and that of many clients or of a large object.
const LENGTHS: [u32; 2] = [1, 16];

/// A million accesses in batches of one length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MillionAccesses {
    /// The accesses of a batch.
    pub batch: u32,
    /// The expected requests and bytes, with evictions, checkpoints and the journal.
    pub usage: Usage,
    /// US dollars for requests and traffic, if prices are given.
    pub dollars: Option<f64>,
}

impl MillionAccesses {
    /// Returns the figures of a vault for batches of 1 and of 16, or of the largest if that is shorter.
    pub fn of(parameters: &VaultParameters, prices: Option<&Prices>) -> Vec<Self> {
        let max = parameters.scheme.max_batch();
        let mut lengths = LENGTHS.map(|length| length.min(max)).to_vec();
        lengths.dedup();
        let of_length = |batch| {
            let usage = parameters.usage_of_batches(ACCESSES / f64::from(batch), batch);
            MillionAccesses { batch, usage, dollars: None }.at(prices)
        };
        lengths.into_iter().map(of_length).collect()
    }

    /// Returns the same requests at these prices, if there are any.
    #[must_use]
    pub fn at(self, prices: Option<&Prices>) -> Self {
        let dollars = prices.map(|prices| prices.bill(&self.usage).spent());
        MillionAccesses { dollars: dollars.or(self.dollars), ..self }
    }
}

/// Returns the figures as a line with its name.
pub fn line(figures: &[MillionAccesses]) -> (&'static str, String) {
    let each = figures.iter().map(|MillionAccesses { batch, usage, dollars }| {
        let dollars = dollars.map(|dollars| format!(" and ${dollars:.2} in all")).unwrap_or_default();
        format!("{} PUT requests{dollars} in batches of {batch}", usage.puts())
    });
    ("10^6 accesses", each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::vault::parameters::vault_parameters;
    use ameles_store::PriceTable;

    fn figures(vault: &str) -> Vec<MillionAccesses> {
        let settings = Settings::from_toml(&format!("[vault]\ncapacity = \"64MiB\"\n{vault}"));
        let prices = PriceTable::shipped().get("s3-standard").unwrap().clone();
        MillionAccesses::of(&vault_parameters(&settings).unwrap(), Some(&prices))
    }

    #[test]
    fn a_journal_in_the_store_adds_a_put_for_each_batch() {
        let (disk, store) = (figures("journal = \"disk\""), figures("journal = \"store\""));
        assert_eq!(disk.iter().map(|figures| figures.batch).collect::<Vec<_>>(), [1, 16]);
        for (disk, store) in disk.iter().zip(&store) {
            assert_eq!(store.usage.bucket_writes, disk.usage.bucket_writes);
            let batches = 1_000_000 / u64::from(disk.batch);
            // The rest are objects of checkpoints.
            let rest = store.usage.puts() - store.usage.bucket_writes - batches;
            assert!(rest < 20_000, "{rest} besides {batches}");
            assert!(store.usage.puts() > disk.usage.puts(), "{store:?}, {disk:?}");
        }
        assert!(store[1].dollars < store[0].dollars);
    }

    #[test]
    fn a_vault_of_short_batches_has_one_figure() {
        assert_eq!(figures("max_batch = 1").len(), 1);
        let (name, line) = line(&figures("max_batch = 4\njournal = \"store\""));
        assert_eq!(name, "10^6 accesses");
        assert!(line.contains(" PUT requests and $") && line.contains("in batches of 1, "), "{line}");
        assert!(line.ends_with(" in all in batches of 4"), "{line}");
    }
}
