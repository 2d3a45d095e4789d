//! A program that is launched in the enclave: its flags, its package, and its machine.

use crate::commands::usage_error::usage_error;
use crate::config::size::Size;
use crate::enclave::{Image, MAX_PAGES_BYTES, Machine, MachineSettings, Runtime};
use ameles_enclave_boundary::launch::{
    AllowedCalls, Instrumentation, Launch, Levels, MAX_HARTS, MAX_RESIDENT, MIN_RESIDENT, Paging,
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

/// Pages that a write of DetWoORAM and its kin refreshes, unless told otherwise.
const DEFAULT_RATIO: u64 = 3;
/// Harts of a parallel scheme, unless told otherwise.
const DEFAULT_HARTS: u32 = 2;

/// The paper's two ways for sealed pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Pages {
    /// They stay in untrusted memory itself
    Backing,
    /// Untrusted memory is the way to the host, which keeps them and sees which it is asked for
    Intermediary,
}

/// The program's page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PageTable {
    /// Three levels, for 39 bits of address
    Sv39,
    /// Four levels, for 48 bits
    Sv48,
}

/// The settings that a program is launched with: the flags of every command that launches one.
#[derive(Args, Clone, Debug)]
pub(super) struct LaunchFlags {
    /// The most pages of 4 KiB that are resident
    #[arg(long, value_name = "PAGES", default_value_t = 15, value_parser = resident)]
    pub(super) resident: u32,
    /// The untrusted memory for sealed pages
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(super) untrusted: Size,
    /// plain, detworam, eager, parallel, eager-parallel, path or opam
    #[arg(long, value_name = "SCHEME", default_value_t = Scheme::DetWoOram)]
    pub(super) scheme: Scheme,
    /// Pages that each write of DetWoORAM and its kin refreshes: more need less memory and more work [default: 3 there]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(super) k: Option<u64>,
    /// Harts that seal and open the pages of a fault side by side, under parallel and eager-parallel [default: 2 there]
    #[arg(long, value_name = "HARTS", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_HARTS)))]
    pub(super) harts: Option<u32>,
    /// chacha20-hmac-sha256, aes-256-gcm, aegis-256x2 or aegis-256x4
    #[arg(long, value_name = "CIPHER", default_value = "chacha20-hmac-sha256")]
    pub(super) cipher: PageCipher,
    /// The place where sealed pages stay
    #[arg(long, value_name = "WAY", default_value = "backing")]
    pub(super) pages: Pages,
    /// The levels of the program's page table
    #[arg(long, value_name = "MODE", default_value = "sv39")]
    pub(super) page_table: PageTable,
    /// Let the program ask this computer for the time, which it then learns of, and may lie about
    #[arg(long)]
    pub(super) allow_clock: bool,
    /// Give the program a variable of the environment, with the value that it has here if none is said (may be given
    /// several times; it has none otherwise)
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    pub(super) environment: Vec<OsString>,
    /// Draw keys from this number, so that each run is the same. For measuring only: it repeats nonces, which gives
    /// the pages away
    #[arg(long, value_name = "NUMBER")]
    pub(super) seed: Option<u64>,
    /// True if each slot is written before the program begins.
    #[arg(skip)]
    pub(super) filled: bool,
    /// The runtime [default: ameles-enclave beside this program, or built from the checkout]
    #[arg(long, value_name = "FILE")]
    pub(super) runtime: Option<PathBuf>,
}

/// The program that is launched.
#[derive(Args, Clone, Debug)]
pub(super) struct Program {
    /// The program, a static one for 64-bit RISC-V, and its own arguments
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

/// A program that can be launched, once or several times.
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
    /// [`usage_error`] for flags that cannot be meant; the program is unfit; there is no runtime.
    pub(super) fn find(&self, program: &Program) -> Result<LaunchableProgram> {
        ensure!(
            self.untrusted.0 <= MAX_PAGES_BYTES,
            usage_error(format!("--untrusted: the machine has room for {} at most", Size(MAX_PAGES_BYTES)))
        );
        ensure!(
            self.scheme.is_parallel() || self.harts.is_none_or(|harts| harts == 1),
            usage_error(format!(
                "--harts: {} has one; parallel and eager-parallel spread a fault over several",
                self.scheme
            ))
        );
        ensure!(
            self.scheme.has_ratio() || self.k.is_none(),
            usage_error(format!(
                "--k: {} has none; detworam, eager and their parallel forms have",
                self.scheme
            ))
        );
        ensure!(
            self.scheme.max_pages(self.untrusted.0, self.ratio(), self.cipher) > 0,
            usage_error(format!(
                "--untrusted: {} are not enough for a page and what belongs to it",
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

    /// Harts of the enclave.
    pub(super) fn harts(&self) -> u32 {
        let of_scheme = if self.scheme.is_parallel() { DEFAULT_HARTS } else { 1 };
        self.harts.unwrap_or(of_scheme)
    }

    /// K, whether it counts or not.
    pub(super) fn ratio(&self) -> u64 {
        self.k.unwrap_or(DEFAULT_RATIO)
    }

    /// The scheme, and K where it counts.
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
            None => OsRng.try_fill_bytes(&mut seed.0).context("the system gives no random numbers")?,
        }
        Ok(seed)
    }
}

impl LaunchableProgram {
    /// A program that was found elsewhere.
    pub(super) fn of(runtime: Runtime, image: Image, arguments: Vec<Vec<u8>>) -> Self {
        LaunchableProgram { runtime, image, arguments, environment: Vec::new() }
    }

    /// Starts a machine with the program.
    ///
    /// # Errors
    /// Those of [`Machine::start`].
    pub(super) fn start(
        &self,
        how: &LaunchFlags,
        instrumentation: Instrumentation,
        setting: &MachineSettings,
    ) -> Result<Machine> {
        let launch = Launch {
            paging: Paging {
                scheme: how.scheme.to_string(),
                ratio: how.ratio(),
                resident: how.resident,
                cipher: how.cipher.to_string(),
                untrusted_bytes: how.untrusted.0,
                pages: None,
                storage: match how.pages {
                    Pages::Backing => SealedStorage::Backing,
                    Pages::Intermediary => SealedStorage::Intermediary,
                },
                levels: match how.page_table {
                    PageTable::Sv39 => Levels::Sv39,
                    PageTable::Sv48 => Levels::Sv48,
                },
                filled: how.filled,
                harts: how.harts(),
            },
            allowed: AllowedCalls { clock: how.allow_clock },
            instrumentation,
            seed: how.seed()?,
            arguments: self.arguments.clone(),
            environment: self.environment.clone(),
        };
        Machine::start(&self.runtime, &launch, &self.image, setting)
    }
}

/// A number of resident pages, from a flag.
///
/// # Errors
/// It is no number, or one that no machine has.
pub(super) fn resident(text: &str) -> Result<u32, String> {
    let pages = text.parse().ok().filter(|pages| (MIN_RESIDENT..=MAX_RESIDENT).contains(pages));
    pages.ok_or_else(|| format!("it is a number of pages from {MIN_RESIDENT} to {MAX_RESIDENT}"))
}

/// The runtime that a flag names, or else the one that belongs to this program.
///
/// # Errors
/// [`usage_error`] if what was named is none; there is none.
pub(super) fn runtime(named: Option<&Path>) -> Result<Runtime> {
    let Some(path) = named else { return Runtime::find() };
    Runtime::named(path)
        .map_err(|error| usage_error(format!("--runtime: {}: {error:#}", path.display())).into())
}

/// The environment of these variables: of two of one name the later one.
fn environment(variables: &[OsString]) -> Result<Vec<Vec<u8>>> {
    let mut environment: Vec<Vec<u8>> = Vec::new();
    let name = |variable: &[u8]| variable.split(|byte| *byte == b'=').next().map(<[u8]>::to_vec);
    for variable in variables {
        let variable = named(variable)?;
        environment.retain(|earlier| name(earlier) != name(&variable));
        environment.push(variable);
    }
    Ok(environment)
}

/// The variable `NAME=VALUE`, its value that of this process if none is said.
///
/// # Errors
/// [`usage_error`]: it has no name; it is not set here.
fn named(variable: &OsStr) -> Result<Vec<u8>> {
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
        bail!(usage_error(format!("--env: {} is not set here", variable.display())))
    };
    Ok([variable.as_bytes(), b"=", value.as_bytes()].concat())
}
