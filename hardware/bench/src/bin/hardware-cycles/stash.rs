//! The bound of the stash of each shipped configuration, by the tail tool of the core.

use ameles_hardware_bench::{Configuration, DesignBuilder, Scheme, StashBound};
use std::error::Error;

/// Parameters that a bound depends on: scheme, Z, A and blocks a leaf.
type TailParameters = (Scheme, u32, u32, u32);

/// Prints C and the number of blocks beyond which more wait with a probability below 2^-80, for trees that are fuller
/// than those shipped.
pub(crate) fn print(_: &DesignBuilder) -> Result<(), Box<dyn Error>> {
    println!(
        "Blocks that wait but for a probability of 2^-80, by the core's tail tool (a million accesses, 2^8 leaves, a scan)"
    );
    println!("{:<38} {:>4} {:>14}   bounds of fuller trees", "", "C", "blocks a leaf");
    let mut known: Vec<(TailParameters, Option<StashBound>)> = Vec::new();
    for (name, configuration) in Configuration::SHIPPED {
        let Configuration { scheme, blocks_per_bucket, eviction_rate, stash_blocks, .. } = configuration;
        let load = configuration.tree_blocks() as f64 / f64::from(1 << configuration.leaf_level);
        // Below four blocks a leaf too few wait in RAW ORAM for a tail to be counted.
        let loads = if scheme == Scheme::Raw { [4, 5] } else { [2, 4] };
        let bounds = loads.map(|load| {
            let parameters = (scheme, blocks_per_bucket, eviction_rate, load);
            let bound = known.iter().find(|(known, _)| *known == parameters).map(|(_, bound)| *bound);
            let bound = bound.unwrap_or_else(|| {
                let bound = StashBound::of(&configuration, load);
                known.push((parameters, bound));
                bound
            });
            let message = match bound {
                None => "no tail was counted".to_owned(),
                Some(bound) if bound.is_below(stash_blocks) => format!("{}, C is enough", bound.blocks),
                Some(bound) => format!("{}, C IS TOO SMALL", bound.blocks),
            };
            format!("{load} a leaf: {message}")
        });
        println!("{name:<38} {stash_blocks:>4} {load:>14.2}   {}", bounds.join("; "));
    }
    Ok(())
}
