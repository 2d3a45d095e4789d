//! Figure 7: the cycles of an access of the whole controller, for traces of programs, compared with the recursion
//! without a PLB.

use super::measure::{KEY, Length, drive, mean_latency, means, paths, run};
use ameles_hardware_bench::{
    Configuration, Design, DesignBuilder, ProgramAccess, Recursion, Scheme, program_accesses, programs, rand,
    scan, session_of,
};
use std::error::Error;

/// The length of each run. All that a warm-up changes is the PLB, of 128 lines.
const RUN: Length = Length { before: 2000, measured: 6000 };

/// Accesses of the recursion: its cycles depend on no address, and no PLB warms up.
const RECURSION: Length = Length { before: 300, measured: 1500 };

/// Prints the cycles of the programs.
pub(crate) fn print(builder: &DesignBuilder) -> Result<(), Box<dyn Error>> {
    let configuration = Configuration::paper(Scheme::Raw).with_front_end();
    let lines = configuration.blocks;
    println!(
        "RAW ORAM Z = A = 5, two lanes, with front end (two levels of PosMap, PLB of 128 blocks); ideal memory, L = 20."
    );
    println!(
        "Back to back, {} accesses after {}: what misses a last-level cache of 2 MiB in the traces of ameles-traces",
        RUN.measured, RUN.before
    );
    println!("{:<16} {:>6} {:>7} {:>7} {:>9}", "", "writes", "paths", "cycles", "to answer");
    // All runs use one library, so a fast one pays off.
    let mut thorough = DesignBuilder::new()?;
    thorough.for_long_runs = true;
    let design = thorough.design(&configuration, None)?;
    let max = RUN.before + RUN.measured;
    let synthetic = [("scan", scan(max)), ("rand", rand(lines, max))].map(|(name, trace)| (name, Ok(trace)));
    let real = programs().filter_map(|name| Some((name, program_accesses(name, lines.into(), max)?)));
    for (name, accesses) in real.chain(synthetic) {
        let accesses = accesses?;
        if accesses.len() < max {
            println!("{name:<16} has {} accesses only", accesses.len());
            continue;
        }
        print_row(name, &design, configuration, &accesses)?;
    }
    println!("The paper: libq 490, sjeng 950\n");
    print_recursion(builder, lines)
}

fn print_row(
    name: &str,
    design: &Design,
    configuration: Configuration,
    accesses: &[ProgramAccess],
) -> Result<(), Box<dyn Error>> {
    let session = session_of(&configuration, accesses);
    let run = drive(design, configuration, &session)?;
    let measured = &accesses[RUN.before..];
    let writes = 100.0 * measured.iter().filter(|access| access.writes).count() as f64 / RUN.measured as f64;
    let paths = paths(&configuration, &run, RUN);
    let answered = mean_latency(&run, RUN);
    println!("{name:<16} {writes:>5.1}% {paths:>7.2} {:>7.1} {answered:>9.1}", means(&run, RUN).cycles);
    Ok(())
}

fn print_recursion(builder: &DesignBuilder, lines: u32) -> Result<(), Box<dyn Error>> {
    let configuration = Configuration::paper(Scheme::Path).with_front_end();
    let Length { before, measured } = RECURSION;
    let Recursion { configuration, session } =
        Recursion::new(&configuration, &rand(lines, before + measured), &KEY);
    let (run, _) = run(builder, &configuration, &session, None)?;
    // Every access has an answer for each path of its chain.
    let of_paths = Length { before: before * session.chain, measured: measured * session.chain };
    let cycles = means(&run, of_paths).cycles * session.chain as f64;
    println!(
        "Recursive Path ORAM Z = 4 without PLB, four lanes: {} paths of one tree for every access, each after the answer of",
        session.chain
    );
    println!("the one before. {measured} accesses after {before}: {cycles:.1} cycles, whatever the trace");
    Ok(())
}
