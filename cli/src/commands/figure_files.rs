//! The files for the figures of a bench.

use ameles_lab::paging::Picture;
use anyhow::{Context, Result};
use clap::Args;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct FigureFlags {
    /// Write the figures as comma-separated values
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the paper's Figures 2, 5 and 6 into this folder
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
}

/// The files and the folder. They are created before the bench runs, so that an error appears at once.
pub(super) struct FigureFiles {
    csv: Option<(PathBuf, BufWriter<File>)>,
    pictures: Option<PathBuf>,
}

impl FigureFlags {
    /// Creates the files.
    ///
    /// # Errors
    /// A file or folder cannot be created.
    pub(super) fn create(self) -> Result<FigureFiles> {
        if let Some(folder) = &self.svg {
            fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        }
        let create = |path: PathBuf| {
            let file = File::create(&path).with_context(|| format!("writing {}", path.display()))?;
            anyhow::Ok((path, BufWriter::new(file)))
        };
        Ok(FigureFiles { csv: self.csv.map(create).transpose()?, pictures: self.svg })
    }
}

impl FigureFiles {
    /// Writes each picture, by its file's name, into the folder of `--svg`.
    ///
    /// # Errors
    /// A picture cannot be written.
    pub(super) fn draw(&self, pictures: impl IntoIterator<Item = Picture>) -> Result<()> {
        let Some(folder) = &self.pictures else { return Ok(()) };
        pictures.into_iter().try_for_each(|Picture { file, svg }| {
            let path = folder.join(file);
            fs::write(&path, svg).with_context(|| format!("writing {}", path.display()))
        })
    }

    /// Writes the figures to the file of `--csv`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write_csv(
        self,
        write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
    ) -> Result<()> {
        let Some((path, mut csv)) = self.csv else { return Ok(()) };
        write(&mut csv).with_context(|| format!("--csv: writing {}", path.display()))
    }
}
