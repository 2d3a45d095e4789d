//! `lethe page bench`

mod chart;
mod configurations;
mod csv;
mod figures;
mod measure;
mod paper;
mod pictures;
mod programs;
mod rounds;
mod table;
mod whole;

use super::library;
use crate::runtime::exit::Exit;
use crate::runtime::output::say;
use crate::runtime::progress;
use anyhow::{Context, Result};
use clap::Args;
use configurations::{Configuration, RATIOS, Setting};
use figures::{Figures, Metered};
use indicatif::ProgressBar;
use lethe_programs::PROGRAMS;
use lethe_seal::pages::PageCipher;
use pictures::Picture;
use programs::Programs;
use rounds::Plan;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Numbers of resident pages of the sweep.
const SWEPT: [u64; 5] = [8, 15, 32, 64, 128];

#[derive(Args)]
#[command(
    after_help = "Six programs (random_writes, sha_256, avl_tree, picosat, lbm, recommender) are paged by every scheme, \
each for the same number of faults, in interleaved rounds; a slowdown is that against plain paging in the same round. \
It takes some tens of minutes, longer with --sweep, and 64 MiB for untrusted memory. Machines are noisy: look \
at the quartiles, and leave the machine alone. The programs' binary lethe-programs lies beside this one, and picosat is \
on PATH.

Examples:
  lethe page bench
  lethe page bench --csv figures.csv --svg pictures
  lethe page bench --quick"
)]
pub(super) struct Arguments {
    /// One short round: it shows that everything runs, and its figures are rough
    #[arg(long)]
    quick: bool,
    /// Measure with 8 to 128 resident pages too
    #[arg(long)]
    sweep: bool,
    /// aes-256-gcm, chacha20-hmac-sha256, aegis-256x2 or aegis-256x4
    #[arg(long, value_name = "CIPHER", default_value = "aes-256-gcm")]
    cipher: PageCipher,
    /// The most pages of 4 KiB that are resident
    #[arg(long, value_name = "PAGES", default_value_t = 15, value_parser = clap::value_parser!(u64).range(2..))]
    resident: u64,
    /// Rounds: each figure is the median over them [default: 7, or 1 with --quick]
    #[arg(long, value_name = "ROUNDS", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// Faults that are measured in each run [default: 5000, or 1000 with --quick]
    #[arg(long, value_name = "FAULTS", value_parser = clap::value_parser!(u64).range(1..))]
    faults: Option<u64>,
    /// Faults before them [default: 5000, or 1000 with --quick]
    #[arg(long, value_name = "FAULTS")]
    warm: Option<u64>,
    /// Write the figures as comma-separated values
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the paper's Figures 2, 5 and 6 anew, into this folder
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
    /// The library that is preloaded [default: liblethe_preload.so beside this program]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The programs [default: lethe-programs beside this program]
    #[arg(long, value_name = "FILE")]
    programs: Option<PathBuf>,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit> {
    library::check(arguments.library.as_deref())?;
    let programs = Programs::new(arguments.programs.as_deref())?;
    if let Some(folder) = &arguments.svg {
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    let csv = arguments
        .csv
        .as_ref()
        .map(|path| File::create(path).with_context(|| format!("{} cannot be written", path.display())));
    let csv = csv.transpose()?;

    let (paper, second, sweep) = (arguments.plan(), arguments.second_plan(), arguments.sweep_plans());
    let plans = [&paper].into_iter().chain(&second).chain(&sweep);
    let whole: u64 = if paper.metered_rounds > 0 { PROGRAMS.iter().map(whole::steps).sum() } else { 0 };
    let bar = progress::steps("", plans.map(Plan::steps).sum::<u64>() + whole);
    let measure = |plan: &Plan| -> Result<Figures> {
        let rounds = plan.measure(&programs, &bar)?;
        let metered = (plan.metered_rounds > 0).then(|| meter(plan, &programs, &bar)).transpose()?;
        Ok(Figures::of(plan, &rounds, metered.as_ref()))
    };
    let say = |table: String| bar.suspend(|| say!("{table}\n"));

    let figures = measure(&paper)?;
    say(table::slowdowns(&figures));
    say(table::micros_a_fault(&figures));
    table::shares(&figures).map(say);
    let second = second.as_ref().map(measure).transpose()?;
    second.as_ref().map(table::slowdowns).map(say);
    let sweep = sweep.iter().map(measure).collect::<Result<Vec<_>>>()?;
    if !sweep.is_empty() {
        say(table::sweep(&sweep));
    }
    bar.finish_and_clear();

    if let Some(folder) = &arguments.svg {
        pictures::of_the_paper(&figures)
            .into_iter()
            .chain(pictures::of_the_sweep(&sweep))
            .try_for_each(|picture| draw(folder, picture))?;
    }
    if let Some(csv) = csv {
        let all = [&figures].into_iter().chain(&second).chain(&sweep);
        csv::write(&mut BufWriter::new(csv), all).context("--csv")?;
    }
    Ok(Exit::Success)
}

impl Arguments {
    fn setting(&self, cipher: PageCipher, resident: u64) -> Setting {
        let usual = if self.quick { 1000 } else { 5000 };
        Setting {
            cipher,
            resident,
            warm: self.warm.unwrap_or(usual),
            faults: self.faults.unwrap_or(usual),
            library: self.library.clone(),
        }
    }

    /// The plan of the paper.
    fn plan(&self) -> Plan {
        Plan {
            setting: self.setting(self.cipher, self.resident),
            configurations: Configuration::all(&RATIOS),
            rounds: self.rounds.unwrap_or(if self.quick { 1 } else { 7 }),
            metered_rounds: if self.quick { 0 } else { 2 },
        }
    }

    /// The same with the fastest cipher, if that is another one.
    fn second_plan(&self) -> Option<Plan> {
        let fastest = PageCipher::Aegis256X2;
        (self.cipher != fastest && !self.quick).then(|| Plan {
            setting: self.setting(fastest, self.resident),
            rounds: self.fewer_rounds(),
            metered_rounds: 0,
            ..self.plan()
        })
    }

    fn sweep_plans(&self) -> Vec<Plan> {
        let plan = |resident| Plan {
            setting: self.setting(self.cipher, resident),
            configurations: Configuration::all(&RATIOS[..1]),
            rounds: self.fewer_rounds(),
            metered_rounds: 0,
        };
        SWEPT.into_iter().filter(|_| self.sweep).map(plan).collect()
    }

    fn fewer_rounds(&self) -> u64 {
        self.rounds.unwrap_or(if self.quick { 1 } else { 3 })
    }
}

/// Measures where the time goes: rounds of their own, and the programs' own computation.
fn meter(plan: &Plan, programs: &Programs, bar: &ProgressBar) -> Result<Metered> {
    bar.set_message("whole runs");
    let own_micros: Result<Vec<f64>> =
        PROGRAMS.iter().map(|program| whole::own_micros(programs, program, &plan.setting, bar)).collect();
    Ok(Metered { rounds: plan.meter(programs, bar)?, own_micros: own_micros? })
}

fn draw(folder: &Path, picture: Picture) -> Result<()> {
    let path = folder.join(picture.file);
    fs::write(&path, picture.svg).with_context(|| format!("{} cannot be written", path.display()))
}
