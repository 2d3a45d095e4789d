//! The effect of page frames and of the ways of the PLB on PosMap paths.

use super::error::ProcessorError;
use super::figures;
use super::options::{LEVELS, Options};
use super::preset::FrameOrder;
use super::{program_runs, programs, schemes};
use crate::bench::Progress;
use crate::report::Section;

const FRAMES: [FrameOrder; 3] = [FrameOrder::Virtual, FrameOrder::FirstTouch, FrameOrder::Random];
const WAYS: [u64; 2] = [1, 8];
/// The schemes, unless the user names some: IR-Stash finds what the PLB has just lost.
const SCHEMES: [&str; 2] = ["baseline", "ir-stash"];

/// Runs the schemes with each order of frames and each number of ways, at the first rate.
///
/// # Errors
/// [`ProcessorError`].
pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Section, ProcessorError> {
    let mut mappings = Vec::new();
    for frames in FRAMES {
        let mut options = Options { frames, paces: options.paces[..1].to_vec(), ..options.clone() };
        if options.schemes.is_empty() {
            options.schemes = SCHEMES.map(str::to_owned).into();
        }
        let programs = options
            .by_seed()
            .map(|options| programs::all(&options, *LEVELS.end()))
            .collect::<Result<Vec<_>, _>>()?;
        for ways in WAYS {
            let mut options = options.clone();
            options.set(&format!("plb-ways={ways}")).expect("a sound setting");
            let configurations = schemes::configurations(&options)?;
            let rows = program_runs::run_all(&options, &programs, &configurations, progress)?;
            mappings.push((frames, ways, rows));
        }
    }
    Ok(figures::plb(&schemes::pace_name(options.paces[0]), &mappings))
}
