//! USIMM's format of traces: a line of text for each miss.
//!
//! ```text
//! 12 R 0x7f00a1c0 0x401a2e      instructions before it, R, address, program counter
//! 3 W 0x7f00b240                the same for a store, which has no program counter
//! ```

use super::lines::{self, hexadecimal, instructions, quoted};
use super::{Kind, Miss, TraceError};
use crate::units::LINE_BYTES;
use std::io::{self, BufRead, Write};

/// The advice for an invalid line.
const EXAMPLES: &str = "write for example \"12 R 0x7f00a1c0 0x401a2e\" or \"3 W 0x7f00b240\"";

/// Reads a trace. The program counter is optional and ignored.
///
/// # Errors
/// [`TraceError::Text`] for a line that is wrong; [`TraceError::Io`].
pub fn read(from: impl BufRead) -> impl Iterator<Item = Result<Miss, TraceError>> {
    lines::records(from, EXAMPLES, parse)
}

/// Writes a trace. The program counters are 0.
///
/// # Errors
/// The errors of the writer.
pub fn write(misses: impl IntoIterator<Item = Miss>, into: &mut impl Write) -> io::Result<()> {
    for Miss { instructions, kind, line } in misses {
        let address = line.0 * LINE_BYTES;
        match kind {
            Kind::Load => writeln!(into, "{instructions} R 0x{address:x} 0x0")?,
            Kind::Store => writeln!(into, "{instructions} W 0x{address:x}")?,
        }
    }
    Ok(())
}

/// The miss of a line.
pub(super) fn parse(text: &str) -> Result<Vec<Miss>, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (count, kind, address) = match *words.as_slice() {
        [count, "R", address] | [count, "R", address, _] => (count, Kind::Load, address),
        [count, "W", address] => (count, Kind::Store, address),
        _ => return Err(format!("{} is not a miss: {EXAMPLES}", quoted(text))),
    };
    Ok(vec![lines::miss(instructions(count)?, kind, hexadecimal(address)?)])
}
