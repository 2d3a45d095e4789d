//! Correct programs under stress. Several threads use a region of each configuration at once, until a number of faults
//! are handled. The process is disturbed from outside and from within. Its untrusted memory is not changed. So every
//! page must hold what was written there last, and no tampering may be reported.
//!
//! The actions are drawn from a seed, which is printed; their timing depends on the machine. Their number is limited:
//! with an endless series, a victim may make no progress.
//!
//! | variable | meaning |
//! |---|---|
//! | `AMELES_STRESS_ROUNDS` | rounds over all configurations, default 1; 0: until interrupted |
//! | `AMELES_STRESS_FAULTS` | faults of each configuration in a round, default 150 |
//! | `AMELES_STRESS_SEED` | the first round's seed; it grows by one each round |
//! | `AMELES_STRESS_ONLY` | only configurations whose description contains this |
#![allow(clippy::print_stdout, reason = "a long run prints its progress")]
#![allow(
    unsafe_code,
    reason = "signals, advice and memory that threads share; each block says why it is sound"
)]

mod configuration;
mod stressor;
mod victim;

use configuration::Configuration;
use libtest_mimic::{Arguments, Trial};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, Stdio};
use stressor::Stressor;

/// Most actions happen while a page is moved; with more, victims on a slow machine handle few faults in between.
const ACTIONS_PER_FAULT: u64 = 10;

/// Holds a victim's seed, its number and its number of faults.
const VICTIM: &str = "AMELES_STRESS_VICTIM";

fn main() -> ExitCode {
    if let Ok(arguments) = std::env::var(VICTIM) {
        let arguments: Vec<u64> =
            arguments.split(' ').map(|number| number.parse().expect("a number")).collect();
        victim::run(&Configuration::all(arguments[0])[arguments[1] as usize], arguments[2]);
        return ExitCode::SUCCESS;
    }
    let test = Trial::test("no_healthy_program_fails_or_reads_wrong_data", || {
        let failures = stress();
        if failures == 0 { Ok(()) } else { Err(format!("{failures} configurations failed").into()) }
    });
    libtest_mimic::run(&Arguments::from_args(), vec![test]).exit_code()
}

/// Returns the number of failures, which were printed.
fn stress() -> u64 {
    let number = |name: &str, unless: u64| {
        std::env::var(name)
            .map_or(unless, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
    };
    let (rounds, faults) = (number("AMELES_STRESS_ROUNDS", 1), number("AMELES_STRESS_FAULTS", 150));
    let first = number("AMELES_STRESS_SEED", u64::from(std::process::id()));
    let only = std::env::var("AMELES_STRESS_ONLY").unwrap_or_default();
    let (mut handled, mut failures) = (0, 0);
    for round in 0..if rounds == 0 { u64::MAX } else { rounds } {
        let seed = first.wrapping_add(round);
        let all = Configuration::all(seed);
        for (number, configuration) in all.iter().enumerate() {
            if configuration.to_string().contains(&only) {
                match run(configuration, number, faults, seed) {
                    Ok(()) => handled += faults,
                    Err(why) => {
                        failures += 1;
                        println!("seed {seed}: {configuration}: {why}");
                    }
                }
            }
        }
        println!("seed {seed}: {handled} faults so far, {failures} failures");
        let _ = std::io::stdout().flush();
    }
    failures
}

/// Runs a victim to its end.
fn run(configuration: &Configuration, number: usize, faults: u64, seed: u64) -> Result<(), String> {
    let arguments = format!("{seed} {number} {faults}");
    let this = std::env::current_exe().expect("this program has a path");
    let victim =
        Command::new(this).env(VICTIM, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut victim = victim.expect("this program can be started");
    // It writes a byte when it handles signals; if it ends before, that is found below.
    let _ = victim.stdout.take().expect("it has an output").read(&mut [0]);
    let mut stressor = Stressor::new(&victim, configuration, seed);
    for _ in 0..ACTIONS_PER_FAULT * faults {
        if victim.try_wait().expect("it is our child").is_some() {
            break;
        }
        stressor.act();
    }
    stressor.stop();
    let output = victim.wait_with_output().expect("it has ended");
    if output.status.success() {
        return Ok(());
    }
    let how = output.status.signal().map_or(output.status.to_string(), |signal| format!("signal {signal}"));
    Err(format!("{how}: {}", String::from_utf8_lossy(&output.stderr)))
}
