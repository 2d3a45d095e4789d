//! Requests of the whole controller: the cycles that front end, tags and pacer add to an answer.

use super::CONFIGURATION;
use ameles_core::types::{BlockId, Leaf};
use ameles_hardware_bench::{
    Bench, Configuration, DesignBuilder, Faults, FrontEnd, GoldenFrontEnd, Pace, Run, Session,
};
use std::error::Error;

/// The number of requests before the one that is measured: with them all blocks are mapped.
const BEFORE: usize = 40;

/// A table on chip that has all counters: a request takes one path.
const ON_CHIP: FrontEnd =
    FrontEnd { labels: 4, label_bits: 8, trusted: 64, look_aside: 4, tag_bits: 0, slot_cycles: 0 };

/// Prints the cycles from a request to its answer, and from slot to slot.
pub(crate) fn print(builder: &DesignBuilder) -> Result<(), Box<dyn Error>> {
    println!("The whole controller with all counters on chip: a request when all is quiet");
    for (tag_bits, slot_cycles) in [(0, 0), (96, 0), (0, 300), (96, 300)] {
        let front_end = FrontEnd { tag_bits, slot_cycles, ..ON_CHIP };
        let run = last(builder, Configuration { front_end: Some(front_end), ..CONFIGURATION })?;
        let (asked, answered) = (run.requests[0], run.answers[0]);
        let slots: Vec<String> =
            run.slots.iter().map(|(cycle, is_dummy)| slot_text(*cycle, *is_dummy)).collect();
        println!("  tags of {tag_bits} bits, slots of {slot_cycles}: answered after {}", answered - asked);
        println!("    slots: {}", slots.join(" "));
    }
    Ok(())
}

fn slot_text(cycle: u64, is_dummy: bool) -> String {
    format!("{cycle}{}", if is_dummy { " (for no block)" } else { "" })
}

/// A request after all blocks were accessed; cycles count from the one in which it passes.
fn last(builder: &DesignBuilder, configuration: Configuration) -> Result<Run, Box<dyn Error>> {
    let mut golden = GoldenFrontEnd::new(configuration, 1);
    for nth in 0..=BEFORE as u64 {
        golden.run(BlockId(nth * 7 % u64::from(configuration.blocks)), None);
    }
    let session = golden.session();
    let FrontEnd { slot_cycles, .. } = configuration.front_end.unwrap_or(ON_CHIP);
    let words = if slot_cycles > 0 { vec![Leaf(0); 1000] } else { Vec::new() };
    let part = |from: usize, to: usize| Session {
        requests: session.requests[from..to].to_vec(),
        drawn: session.drawn.clone(),
        spare: words.clone(),
        ..Session::default()
    };
    let design = builder.design(&configuration, None)?;
    let mut bench = Bench::new(&design, configuration, Pace::IDEAL, Faults::default(), 1)?;
    golden.keys().iter().for_each(|key| bench.load_key(key));
    bench.drive(&part(0, BEFORE))?;
    let mut run = bench.drive(&part(BEFORE, BEFORE + 1))?;
    let first = run.requests[0];
    let count = |cycles: &mut Vec<u64>| cycles.iter_mut().for_each(|cycle| *cycle -= first);
    count(&mut run.requests);
    count(&mut run.answers);
    run.slots.retain(|(cycle, _)| *cycle >= first);
    run.slots.iter_mut().for_each(|(cycle, _)| *cycle -= first);
    run.slots.truncate(6);
    Ok(run)
}
