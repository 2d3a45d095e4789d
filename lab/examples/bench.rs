//! Runs one bench: `cargo run --release -p ameles-lab --example bench -- memory-64`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints its figures")]

use ameles_lab::bench::files::{self, FilesOptions};
use ameles_lab::bench::link::{self, LinkOptions};
use ameles_lab::bench::memory::{self, MemoryOptions, MemoryScheme};
use ameles_lab::bench::{BenchError, Progress, VaultOptions};
use std::process::ExitCode;

struct ToStderr;

impl Progress for ToStderr {
    fn on_step(&self, what: &str, done: u64, all: u64) {
        eprint!("\r\x1b[K{what} {done}/{all}");
        if done == all {
            eprint!("\r\x1b[K");
        }
    }

    fn on_figure(&self, figure: &str) {
        eprintln!("\r\x1b[K{figure}");
    }
}

fn main() -> Result<ExitCode, BenchError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let mut reports = Vec::new();
    let number = |name: &str| -> Option<u64> {
        arguments.iter().find_map(|argument| argument.strip_prefix(name)?.parse().ok())
    };
    let vault = |standard: VaultOptions| VaultOptions {
        eviction_rate: number("--rate=").map(|rate| rate as u32),
        checkpoint_every: number("--checkpoint="),
        batch: number("--batch=").map_or(standard.batch, |batch| batch as u32),
        ..standard
    };
    let memory = |options: MemoryOptions| {
        let mut options = options;
        if has("--ring") {
            options.scheme = MemoryScheme::Ring;
        }
        if has("--path") {
            options.scheme = MemoryScheme::Path;
        }
        if has("--circuit") {
            options.scheme = MemoryScheme::Circuit;
        }
        if let Some(rate) = number("--rate=") {
            options.eviction_rate = Some(rate as u32);
        }
        if has("--aegis") {
            options.cipher = ameles_seal::cipher::Cipher::Aegis128L;
        }
        memory::run(&options, &ToStderr)
    };
    if has("memory-64") {
        reports.push(memory(MemoryOptions::small_blocks())?);
    }
    if has("memory-4096") {
        reports.push(memory(MemoryOptions::pages())?);
    }
    for (name, mut options) in
        [("files", FilesOptions::standard()), ("files-on-disk", FilesOptions::on_disk())]
    {
        if has(name) {
            options.vault = vault(options.vault);
            options.accesses_per_call =
                number("--together=").map_or(options.accesses_per_call, |accesses| accesses as usize);
            reports.push(files::run(&options, &ToStderr)?);
        }
    }
    if has("link") {
        let mut options = LinkOptions::standard();
        options.vault = vault(options.vault);
        reports.push(link::run(&options, &ToStderr)?);
    }
    for report in &reports {
        println!("{report}");
    }
    Ok(ExitCode::SUCCESS)
}
