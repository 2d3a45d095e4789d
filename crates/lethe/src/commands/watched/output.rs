//! Files that what was seen goes to.

use crate::commands::misused::misused;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// A file that what was seen goes to. It is made before the program runs: a program that ran for nothing would be worse.
pub(in crate::commands) struct Output<'a> {
    path: &'a Path,
    file: File,
}

impl<'a> Output<'a> {
    pub(in crate::commands) fn create(flag: &str, path: &'a Path) -> Result<Self, clap::Error> {
        match File::create(path) {
            Ok(file) => Ok(Output { path, file }),
            Err(error) => Err(misused(format!("{flag}: {}: {error}", path.display()))),
        }
    }

    pub(in crate::commands) fn write(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).with_context(|| self.path.display().to_string())
    }
}
