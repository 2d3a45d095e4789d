//! The paper's model of what a bucket of a path costs in an access (section IV-B, figure 6), in blocks: a header
//! counts as one.

use crate::configuration::{Configuration, Scheme};

/// The cost of an access and its share of an eviction for each bucket of a path, in blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketCost {
    /// The number of blocks that memory moves.
    pub memory: f64,
    /// The number of blocks that are encrypted or decrypted.
    pub encryption: f64,
}

impl BucketCost {
    /// The cost by the model. At each access Path ORAM reads and writes its bucket. RAW ORAM reads the bucket and
    /// writes its header, and once in A accesses it reads and writes the whole bucket. It decrypts headers, and bodies
    /// in evictions only.
    pub fn modelled(configuration: &Configuration) -> Self {
        let blocks = f64::from(configuration.blocks_per_bucket);
        let bucket = 2.0 * (blocks + 1.0);
        match configuration.scheme {
            Scheme::Path => BucketCost { memory: bucket, encryption: bucket },
            Scheme::Raw => {
                let evictions = bucket / f64::from(configuration.eviction_rate);
                BucketCost { memory: blocks + 2.0 + evictions, encryption: 1.0 + evictions }
            }
        }
    }

    /// The cost by what a run counted: beats on the bus and blocks of AES in an access.
    pub fn counted(configuration: &Configuration, beats: f64, chunks: f64) -> Self {
        let buckets = f64::from(configuration.leaf_level + 1);
        let block_chunks = f64::from(configuration.block_bytes) / 16.0;
        BucketCost {
            memory: beats / buckets / configuration.block_beats() as f64,
            encryption: chunks / buckets / block_chunks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(is: f64, should: f64) {
        assert!((is - should).abs() < 0.005, "{is} instead of {should}");
    }

    #[test]
    fn the_model_gives_the_paper_s_figures() {
        let [path, raw] = [Scheme::Path, Scheme::Raw].map(Configuration::paper);
        let [path_cost, raw_cost] = [path, raw].map(|of| BucketCost::modelled(&of));
        assert_near(path_cost.memory, 10.0);
        assert_near(raw_cost.memory, 9.4);
        assert_near(raw_cost.encryption, 3.4);
        assert_near(raw_cost.memory / path_cost.memory, 0.94);
        assert_near(path_cost.encryption / raw_cost.encryption, 2.94);
        // A header is a beat here, so that the lower bound of the bus is that of the model: 210 and 197.4 cycles.
        assert_near(path.beats_of_access(), 21.0 * path_cost.memory);
        assert_near(raw.beats_of_access(), 21.0 * raw_cost.memory);
        assert_near(path.beats_of_access(), 210.0);
        assert_near(raw.beats_of_access(), 197.4);
    }

    #[test]
    fn a_count_is_spread_over_the_buckets_of_a_path() {
        let raw = Configuration::paper(Scheme::Raw);
        let counted = BucketCost::counted(&raw, 197.4, 4.0 * 21.0 * 3.4);
        assert_near(counted.memory, 9.4);
        assert_near(counted.encryption, 3.4);
        let large = Configuration { block_bytes: 4096, ..raw };
        assert_near(BucketCost::counted(&large, 64.0 * 21.0, 256.0 * 21.0).memory, 1.0);
        assert_near(BucketCost::counted(&large, 64.0 * 21.0, 256.0 * 21.0).encryption, 1.0);
    }
}
