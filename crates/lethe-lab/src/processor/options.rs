//! The options of the processor lab.

use super::settings::Setting;
use lethe_controller::pace::Pace;
use std::path::PathBuf;

/// The options of a run of the lab.
#[derive(Clone, Debug)]
pub struct Options {
    /// Levels of the tree, the leaves' included: 11 to 26.
    pub levels: u32,
    /// A trace of the user's, in place of the lab's.
    pub trace: Option<PathBuf>,
    /// Names of programs; all if it is empty.
    pub programs: Vec<String>,
    /// Names of schemes; those of the figures if it is empty.
    pub schemes: Vec<String>,
    /// Changes of every scheme's configuration.
    pub settings: Vec<Setting>,
    /// The rates of paths to run with.
    pub paces: Vec<Pace>,
    /// The most misses of a trace, its warm-up apart.
    pub misses: usize,
    /// The seed of all that is drawn.
    pub seed: u64,
    /// Runs side by side: each takes the memory of a tree.
    pub threads: usize,
}

impl Options {
    /// The paper's tree, all programs and schemes, and the first 30,000 misses of each program.
    pub fn standard() -> Self {
        Options {
            levels: 25,
            trace: None,
            programs: Vec::new(),
            schemes: Vec::new(),
            settings: Vec::new(),
            paces: vec![Pace::FromEnd(1000), Pace::FromStart(1000), Pace::Idle(250), Pace::Free],
            misses: 30_000,
            seed: 1,
            threads: std::thread::available_parallelism().map_or(1, usize::from).min(4),
        }
    }

    /// A small tree and the first misses of each program: seconds, and figures that say little.
    pub fn quick() -> Self {
        Options { levels: 18, misses: 5000, paces: vec![Pace::FromEnd(1000)], ..Self::standard() }
    }

    /// Changes every configuration by `KEY=VALUE`.
    ///
    /// # Errors
    /// The sentence that says what is wrong with it.
    pub fn set(&mut self, given: &str) -> Result<(), String> {
        self.settings.push(given.parse()?);
        Ok(())
    }
}
