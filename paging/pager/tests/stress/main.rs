//! Healthy programs under stress: each configuration of a region is used by several threads at once, in a process that
//! is tormented from outside and from within, until so many faults were served. Nothing touches its untrusted memory.
//! So every page must hold what was written there last, and nothing may be reported as tampered with.
//!
//! What is done is drawn from a seed, which is printed; when it is done is up to the machine. It is done so many times
//! and then no more: a victim that is tormented without end may get nowhere.
//!
//! | variable | what |
//! |---|---|
//! | `AMELES_STRESS_ROUNDS` | times that all configurations are gone through, 1 unless told otherwise; 0: until it is ended |
//! | `AMELES_STRESS_FAULTS` | faults of each configuration in a round, 150 unless told otherwise |
//! | `AMELES_STRESS_SEED` | the first round's seed; the next one has the next |
//! | `AMELES_STRESS_ONLY` | only configurations whose description contains this |
#![allow(clippy::print_stdout, reason = "a long run says how far it is")]
#![allow(
    unsafe_code,
    reason = "signals, advice and memory that threads share; each block says why it is sound"
)]

mod configuration;
mod torment;
mod victim;

use configuration::Configuration;
use libtest_mimic::{Arguments, Trial};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, Stdio};
use torment::Tormentor;

/// Most of them happen while a page is moved; with more, a slow machine's victims serve few faults between them.
const TORMENTS_A_FAULT: u64 = 10;

/// A victim is started with its seed, its number and the faults that it is to serve.
const VICTIM: &str = "AMELES_STRESS_VICTIM";

fn main() -> ExitCode {
    if let Ok(told) = std::env::var(VICTIM) {
        let told: Vec<u64> = told.split(' ').map(|number| number.parse().expect("a number")).collect();
        victim::run(&Configuration::all(told[0])[told[1] as usize], told[2]);
        return ExitCode::SUCCESS;
    }
    let test = Trial::test("no_healthy_program_fails_or_reads_wrong_data", || {
        let failures = stress();
        if failures == 0 { Ok(()) } else { Err(format!("{failures} configurations failed").into()) }
    });
    libtest_mimic::run(&Arguments::from_args(), vec![test]).exit_code()
}

/// Answers with the number of failures, which were printed.
fn stress() -> u64 {
    let number = |name: &str, unless: u64| {
        std::env::var(name)
            .map_or(unless, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
    };
    let (rounds, faults) = (number("AMELES_STRESS_ROUNDS", 1), number("AMELES_STRESS_FAULTS", 150));
    let first = number("AMELES_STRESS_SEED", u64::from(std::process::id()));
    let only = std::env::var("AMELES_STRESS_ONLY").unwrap_or_default();
    let (mut served, mut failures) = (0, 0);
    for round in 0..if rounds == 0 { u64::MAX } else { rounds } {
        let seed = first.wrapping_add(round);
        let all = Configuration::all(seed);
        for (number, configuration) in all.iter().enumerate() {
            if configuration.to_string().contains(&only) {
                match run(configuration, number, faults, seed) {
                    Ok(()) => served += faults,
                    Err(why) => {
                        failures += 1;
                        println!("seed {seed}: {configuration}: {why}");
                    }
                }
            }
        }
        println!("seed {seed}: {served} faults so far, {failures} failures");
        let _ = std::io::stdout().flush();
    }
    failures
}

/// Runs a victim to its end, and says what went wrong.
fn run(configuration: &Configuration, number: usize, faults: u64, seed: u64) -> Result<(), String> {
    let told = format!("{seed} {number} {faults}");
    let this = std::env::current_exe().expect("this program has a path");
    let victim = Command::new(this).env(VICTIM, told).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut victim = victim.expect("this program can be started");
    // It says when it takes signals; if it ends before, that shows below.
    let _ = victim.stdout.take().expect("it has an output").read(&mut [0]);
    let mut tormentor = Tormentor::new(&victim, configuration, seed);
    for _ in 0..TORMENTS_A_FAULT * faults {
        if victim.try_wait().expect("it is our child").is_some() {
            break;
        }
        tormentor.torment();
    }
    tormentor.leave_alone();
    let output = victim.wait_with_output().expect("it has ended");
    if output.status.success() {
        return Ok(());
    }
    let how = output.status.signal().map_or(output.status.to_string(), |signal| format!("signal {signal}"));
    Err(format!("{how}: {}", String::from_utf8_lossy(&output.stderr)))
}
