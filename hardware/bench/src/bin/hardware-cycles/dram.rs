//! The cycles of an access over DDR3.

use super::measure::{LONG, Means, means, random_reads, run};
use ameles_dram::Specification;
use ameles_hardware_bench::{Configuration, DesignBuilder, Dram, Pace, Scheme, board_specification};
use std::error::Error;

/// The clock of the controller, in MHz. At this clock, a beat of 512 bits a cycle is the bandwidth of a channel of
/// DDR3-1600.
const MHZ: u32 = 200;

/// Prints the cycles with the share of the channel that was used, and its lower bound.
pub(crate) fn print(builder: &DesignBuilder) -> Result<(), Box<dyn Error>> {
    let latency = Pace::IDEAL.read_latency;
    println!(
        "DDR3-1600 of ameles-dram: a channel of 64 bits, 12.8 GB/s, FR-FCFS with drains of writes. Controller at {MHZ} MHz,"
    );
    println!("{latency} cycles for a read of DRAM at rest. L = 20, blocks of 64 bytes, without tags");
    println!("{:<60} {:>8} {:>12} {:>6} {:>10}", "", "cycles", "lower bound", "used", "activates");
    for (name, scheme) in
        [("Path ORAM Z = 4, four lanes", Scheme::Path), ("RAW ORAM Z = A = 5, two lanes", Scheme::Raw)]
    {
        for (memory, specification, subtree_levels) in memories() {
            let configuration = Configuration { subtree_levels, ..Configuration::paper(scheme) };
            let session = random_reads(&configuration, LONG);
            let dram = Dram::new(&specification, MHZ, latency)?;
            let (run, bench) = run(builder, &configuration, &session, Some(dram))?;
            let Means { cycles, beats, .. } = means(&run, LONG);
            let lower_bound = configuration.beats_of_access();
            let activates = bench.memory().dram().map_or(0, |dram| dram.counts().activates);
            let activates = activates as f64 / session.requests.len() as f64;
            let (name, used) = (format!("{name}; {memory}"), 100.0 * beats / cycles);
            println!("{name:<60} {cycles:>8.1} {lower_bound:>12.1} {used:>5.1}% {activates:>10.1}");
        }
    }
    Ok(())
}

/// Memories by their layout and the levels of a subtree whose buckets are contiguous. The first is a heap on the
/// paper's board, and the second is the paper's own layout.
fn memories() -> [(&'static str, Specification, u32); 4] {
    let (mut two_ranks, mut spread) = (board_specification(), board_specification());
    two_ranks.geometry.ranks = 2;
    spread.geometry.order = Specification::usimm().geometry.order;
    [
        ("1 rank, heap in rows", board_specification(), 0),
        ("1 rank, subtrees of 4 levels in rows", board_specification(), 4),
        ("2 ranks, heap in rows", two_ranks, 0),
        ("1 rank, heap over banks", spread, 0),
    ]
}
