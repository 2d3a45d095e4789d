//! Launching a program in the enclave: the flags, the program and the machine.

use crate::commands::usage_error::usage_error;
use crate::config::size::Size;
use crate::enclave::{Image, MAX_PAGES_BYTES, Machine, MachineSettings, Runtime};
use ameles_enclave_boundary::launch::{
    AllowedCalls, Instrumentation, LaunchOptions, MAX_HARTS, MAX_RESIDENT, MIN_RESIDENT, Paging, PagingMode,
    SealedStorage, Seed,
};
use ameles_pager::scheme::Scheme;
use ameles_seal::pages::PageCipher;
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use rand_core::{OsRng, TryRngCore};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The default number of pages that each write of DetWoORAM and its variants refreshes.
const DEFAULT_RATIO: u64 = 3;
/// The default number of harts of a parallel scheme.
const DEFAULT_HARTS: u32 = 2;

/// The paper's two places for sealed pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Pages {
    /// In untrusted memory itself
    Backing,
    /// In the host, which gets them through untrusted memory and sees which page is requested
    Intermediary,
}

/// The format of the program's page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PageTable {
    /// Three levels, for 39 bits of address
    Sv39,
    /// Four levels, for 48 bits
    Sv48,
}

/// The flags of every command that launches a program.
#[derive(Args, Clone, Debug)]
pub(super) struct LaunchFlags {
    /// The maximum number of resident 4 KiB pages
    #[arg(long, value_name = "PAGES", default_value_t = 15, value_parser = resident)]
    pub(super) resident: u32,
    /// The untrusted memory for sealed pages
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(super) untrusted: Size,
    /// plain, detworam, eager, parallel, eager-parallel, path or opam
    #[arg(long, value_name = "SCHEME", default_value_t = Scheme::DetWoOram)]
    pub(super) scheme: Scheme,
    /// The number of pages that a write refreshes, in detworam, eager and their parallel forms. A larger K needs less
    /// memory and more work [default: 3]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(super) k: Option<u64>,
    /// Harts that seal and open the pages of a fault in parallel (parallel and eager-parallel) [default: 2]
    #[arg(long, value_name = "HARTS", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_HARTS)))]
    pub(super) harts: Option<u32>,
    /// chacha20-hmac-sha256, aes-256-gcm, aegis-256x2 or aegis-256x4
    #[arg(long, value_name = "CIPHER", default_value = "chacha20-hmac-sha256")]
    pub(super) cipher: PageCipher,
    /// The place of sealed pages
    #[arg(long, value_name = "WAY", default_value = "backing")]
    pub(super) pages: Pages,
    /// The format of the program's page table
    #[arg(long, value_name = "MODE", default_value = "sv39")]
    pub(super) page_table: PageTable,
    /// Let the program ask this computer for the time: this computer then sees each request, and may lie
    #[arg(long)]
    pub(super) allow_clock: bool,
    /// Give the program an environment variable; without a value, it gets the value it has here (may be given several
    /// times) [default: no variables]
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    pub(super) environment: Vec<OsString>,
    /// Derive keys from this number, so that every run is the same. Only for measurements: nonces repeat, which reveals
    /// the pages
    #[arg(long, value_name = "NUMBER")]
    pub(super) seed: Option<u64>,
    /// True if every slot is written before the program starts.
    #[arg(skip)]
    pub(super) filled: bool,
    /// The runtime [default: ameles-enclave next to this program, or built from the checkout]
    #[arg(long, value_name = "FILE")]
    pub(super) runtime: Option<PathBuf>,
}

/// The program to launch.
#[derive(Args, Clone, Debug)]
pub(super) struct Program {
    /// A static program for 64-bit RISC-V, and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    words: Vec<OsString>,
}

impl Program {
    pub(super) fn name(&self) -> &OsStr {
        &self.words[0]
    }

    fn words(&self) -> Vec<Vec<u8>> {
        self.words.iter().map(|word| word.clone().into_vec()).collect()
    }
}

/// A program that is ready to launch, once or several times.
#[derive(Debug)]
pub(super) struct LaunchableProgram {
    runtime: Runtime,
    image: Image,
    arguments: Vec<Vec<u8>>,
    environment: Vec<Vec<u8>>,
}

impl LaunchFlags {
    /// Reads the program and finds the runtime.
    ///
    /// # Errors
    /// [`usage_error`] for invalid flags; the program cannot run in the enclave; there is no runtime.
    pub(super) fn find(&self, program: &Program) -> Result<LaunchableProgram> {
        ensure!(
            self.untrusted.0 <= MAX_PAGES_BYTES,
            usage_error(format!("--untrusted: the machine has room for at most {}", Size(MAX_PAGES_BYTES)))
        );
        ensure!(
            self.scheme.is_parallel() || self.harts.is_none_or(|harts| harts == 1),
            usage_error(format!(
                "--harts: {} uses one hart; only parallel and eager-parallel use several",
                self.scheme
            ))
        );
        ensure!(
            self.scheme.has_ratio() || self.k.is_none(),
            usage_error(format!(
                "--k: {} has no K; use it with detworam, eager, parallel or eager-parallel",
                self.scheme
            ))
        );
        ensure!(
            self.scheme.max_pages(self.untrusted.0, self.ratio(), self.cipher) > 0,
            usage_error(format!(
                "--untrusted: {} is too small for one page and its metadata",
                self.untrusted
            ))
        );
        let environment = environment(&self.environment)?;
        Ok(LaunchableProgram {
            image: Image::read(Path::new(program.name()))?,
            runtime: runtime(self.runtime.as_deref())?,
            arguments: program.words(),
            environment,
        })
    }

    /// Returns the number of harts of the enclave.
    pub(super) fn harts(&self) -> u32 {
        let default_harts = if self.scheme.is_parallel() { DEFAULT_HARTS } else { 1 };
        self.harts.unwrap_or(default_harts)
    }

    /// Returns K, also for schemes that do not use it.
    pub(super) fn ratio(&self) -> u64 {
        self.k.unwrap_or(DEFAULT_RATIO)
    }

    /// Returns the name of the scheme, with K if the scheme uses it.
    pub(super) fn scheme_with_ratio(&self) -> String {
        if self.scheme.has_ratio() {
            format!("{}, K = {}", self.scheme, self.ratio())
        } else {
            self.scheme.to_string()
        }
    }

    fn seed(&self) -> Result<Seed> {
        let mut seed = Seed([0; 32]);
        match self.seed {
            Some(number) => seed.0[..8].copy_from_slice(&number.to_le_bytes()),
            None => OsRng.try_fill_bytes(&mut seed.0).context("the system returned no random numbers")?,
        }
        Ok(seed)
    }
}

impl LaunchableProgram {
    /// Creates the setup from parts that the caller has found.
    pub(super) fn new(runtime: Runtime, image: Image, arguments: Vec<Vec<u8>>) -> Self {
        LaunchableProgram { runtime, image, arguments, environment: Vec::new() }
    }

    /// Starts a machine with the program.
    ///
    /// # Errors
    /// The errors of [`Machine::start`].
    pub(super) fn start(
        &self,
        flags: &LaunchFlags,
        instrumentation: Instrumentation,
        setting: &MachineSettings,
    ) -> Result<Machine> {
        let launch = LaunchOptions {
            paging: Paging {
                scheme: flags.scheme.to_string(),
                ratio: flags.ratio(),
                resident: flags.resident,
                cipher: flags.cipher.to_string(),
                untrusted_bytes: flags.untrusted.0,
                pages: None,
                storage: match flags.pages {
                    Pages::Backing => SealedStorage::Backing,
                    Pages::Intermediary => SealedStorage::Intermediary,
                },
                mode: match flags.page_table {
                    PageTable::Sv39 => PagingMode::Sv39,
                    PageTable::Sv48 => PagingMode::Sv48,
                },
                filled: flags.filled,
                harts: flags.harts(),
            },
            allowed: AllowedCalls { clock: flags.allow_clock },
            instrumentation,
            seed: flags.seed()?,
            arguments: self.arguments.clone(),
            environment: self.environment.clone(),
        };
        Machine::start(&self.runtime, &launch, &self.image, setting)
    }
}

/// Parses a number of resident pages.
///
/// # Errors
/// The text is not a number, or out of range.
pub(super) fn resident(text: &str) -> Result<u32, String> {
    let pages = text.parse().ok().filter(|pages| (MIN_RESIDENT..=MAX_RESIDENT).contains(pages));
    pages.ok_or_else(|| format!("choose from {MIN_RESIDENT} to {MAX_RESIDENT} pages"))
}

/// Returns the runtime that a flag names, or the one that belongs to this program.
///
/// # Errors
/// [`usage_error`] if the named file is not a runtime; no runtime is found.
pub(super) fn runtime(path: Option<&Path>) -> Result<Runtime> {
    let Some(path) = path else { return Runtime::find() };
    Runtime::from_path(path)
        .map_err(|error| usage_error(format!("--runtime: {}: {error:#}", path.display())).into())
}

/// Returns the environment with these variables. A later variable replaces an earlier one with the same name.
fn environment(variables: &[OsString]) -> Result<Vec<Vec<u8>>> {
    let mut environment: Vec<Vec<u8>> = Vec::new();
    let name = |variable: &[u8]| variable.split(|byte| *byte == b'=').next().map(<[u8]>::to_vec);
    for variable in variables {
        let variable = environment_variable(variable)?;
        environment.retain(|previous| name(previous) != name(&variable));
        environment.push(variable);
    }
    Ok(environment)
}

/// Returns `NAME=VALUE`. Without a value, the variable gets the value that it has in this process.
///
/// # Errors
/// [`usage_error`] if the variable has no name, or has no value and is not set here.
fn environment_variable(variable: &OsStr) -> Result<Vec<u8>> {
    ensure!(
        !matches!(variable.as_bytes(), [] | [b'=', ..]),
        usage_error(format!(
            "--env: {:?} has no name: write NAME or NAME=VALUE",
            variable.display().to_string()
        ))
    );
    if variable.as_bytes().contains(&b'=') {
        return Ok(variable.as_bytes().to_vec());
    }
    let Some(value) = std::env::var_os(variable) else {
        bail!(usage_error(format!("--env: {} is not set in this environment", variable.display())))
    };
    Ok([variable.as_bytes(), b"=", value.as_bytes()].concat())
}
