//! The flags of `watch`, and the files of its report.

use super::observations::Observations;
use super::picture;
use crate::commands::usage_error::usage_error;
use anyhow::{Context, Result};
use clap::Args;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The flags of `watch`.
#[derive(Args)]
pub(in crate::commands) struct WatchFlags {
    /// The number of faults to watch
    #[arg(long, value_name = "FAULTS", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(in crate::commands) faults: u64,
    /// End the program after the last watched fault, with exit code 0
    #[arg(long)]
    pub(in crate::commands) end: bool,
    /// Draw the changed slots into this file: faults from left to right, slots from bottom to top
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write a line `fault,slot` for each change into this file; faults are numbered from 1, slots from 0
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// The files. They are created before the program runs, so that an error appears at once.
pub(in crate::commands) struct Files<'a> {
    svg: Option<Output<'a>>,
    csv: Option<Output<'a>>,
}

struct Output<'a> {
    path: &'a Path,
    file: File,
}

impl WatchFlags {
    pub(in crate::commands) fn create_files(&self) -> Result<Files<'_>, clap::Error> {
        let WatchFlags { svg, csv, .. } = self;
        Ok(Files {
            svg: svg.as_deref().map(|path| Output::create("--svg", path)).transpose()?,
            csv: csv.as_deref().map(|path| Output::create("--csv", path)).transpose()?,
        })
    }
}

/// Returns the title of a picture: the program and how it is paged.
pub(in crate::commands) fn title(program: &OsStr, scheme: &str) -> String {
    let program = Path::new(program).file_name().unwrap_or(program);
    format!("{}, {scheme}", program.to_string_lossy())
}

impl Files<'_> {
    pub(in crate::commands) fn write(self, title: &str, observations: &Observations) -> Result<()> {
        if let Some(svg) = self.svg {
            svg.write(&picture::draw(title, observations))?;
        }
        if let Some(csv) = self.csv {
            csv.write(&observations.csv())?;
        }
        Ok(())
    }
}

impl<'a> Output<'a> {
    fn create(flag: &str, path: &'a Path) -> Result<Self, clap::Error> {
        match File::create(path) {
            Ok(file) => Ok(Output { path, file }),
            Err(error) => Err(usage_error(format!("{flag}: {}: {error}", path.display()))),
        }
    }

    fn write(mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).with_context(|| self.path.display().to_string())
    }
}
