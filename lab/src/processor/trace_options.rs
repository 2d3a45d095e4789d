//! The choice of traces and of the cores on which they run.

use super::error::ProcessorError;
use ameles_processor::processor::{Cores, MAX_CORES};
use ameles_processor::trace::Format;
use ameles_processor::trace::pages::PAGE_LINES;
use std::path::PathBuf;

/// The traces that run in place of the lab's programs, and the cores on which programs run side by side.
#[derive(Clone, Debug, Default)]
pub struct TraceOptions {
    /// The files: none for the lab's programs.
    pub paths: Vec<PathBuf>,
    /// The format of the traces. `None` recognises it by the first bytes.
    pub format: Option<Format>,
    /// The cores: one for each trace, if it is not given. More run copies of each trace or program.
    pub cores: Option<usize>,
}

impl TraceOptions {
    /// Returns whether anything was chosen.
    pub(super) fn is_chosen(&self) -> bool {
        !self.paths.is_empty() || self.cores.is_some()
    }

    /// The number of cores.
    pub(super) fn core_count(&self) -> usize {
        self.cores.unwrap_or(self.paths.len().max(1))
    }

    /// Lines for each core of a memory of this many lines: whole pages, or all of it for one core.
    pub(super) fn part_lines(&self, lines: u64) -> u64 {
        match self.core_count() as u64 {
            0 | 1 => lines,
            count => lines / count / PAGE_LINES * PAGE_LINES,
        }
    }

    /// The cores of a processor over a memory of this many lines, in blocks of several. Each core has a part of it.
    pub(super) fn cores(&self, lines: u64, block_lines: u64) -> Cores {
        match self.core_count() {
            0 | 1 => Cores::ONE,
            count => Cores { count, lines: (self.part_lines(lines) / block_lines).max(1) },
        }
    }

    /// Checks that the traces can be spread over the cores, and that each core has a page of a memory of this many
    /// lines.
    ///
    /// # Errors
    /// [`ProcessorError::Cores`].
    pub(super) fn check(&self, lines: u64) -> Result<(), ProcessorError> {
        let (cores, traces) = (self.core_count(), self.paths.len().max(1));
        let advice = if traces > MAX_CORES {
            format!("give {MAX_CORES} traces at most")
        } else if cores == 0 || cores > MAX_CORES || cores % traces != 0 {
            match traces {
                1 => format!("choose 1 to {MAX_CORES}"),
                _ => format!(
                    "choose a multiple of the {traces} traces, at most {}",
                    MAX_CORES / traces * traces
                ),
            }
        } else if self.part_lines(lines) == 0 {
            format!("each needs a page: choose {} lines or more", PAGE_LINES * cores as u64)
        } else {
            return Ok(());
        };
        Err(ProcessorError::Cores { cores, advice })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_spread_evenly_over_sixteen_cores_at_most_or_refused_with_what_to_choose() {
        let options = |traces: usize, cores| TraceOptions {
            paths: vec![PathBuf::from("a"); traces],
            cores,
            format: None,
        };
        for (traces, cores, count) in
            [(0, None, 1), (1, None, 1), (3, None, 3), (3, Some(6), 6), (0, Some(16), 16)]
        {
            assert_eq!(options(traces, cores).core_count(), count);
            options(traces, cores).check(1 << 20).unwrap();
        }
        for (traces, cores, lines, why) in [
            (0, Some(0), 1 << 20, "0 cores are impossible: choose 1 to 16"),
            (1, Some(17), 1 << 20, "choose 1 to 16"),
            (3, Some(4), 1 << 20, "4 cores are impossible: choose a multiple of the 3 traces, at most 15"),
            (2, Some(1), 1 << 20, "choose a multiple of the 2 traces, at most 16"),
            (17, None, 1 << 20, "give 16 traces at most"),
            (0, Some(4), 255, "each needs a page: choose 256 lines or more"),
        ] {
            let error = options(traces, cores).check(lines).unwrap_err();
            assert!(error.is_of_options() && error.to_string().contains(why), "{error}");
        }
    }

    #[test]
    fn each_core_has_whole_pages_of_the_memory_and_as_many_blocks() {
        let options = TraceOptions { cores: Some(3), ..TraceOptions::default() };
        assert_eq!(options.part_lines(1 << 20), (1 << 20) / 192 * 64);
        assert_eq!(options.cores(1 << 20, 4), Cores { count: 3, lines: (1 << 20) / 192 * 16 });
        assert_eq!(TraceOptions::default().cores(1 << 20, 4), Cores::ONE);
    }
}
