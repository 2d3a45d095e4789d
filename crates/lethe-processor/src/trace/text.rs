//! USIMM's format of traces: a line of text for each miss.
//!
//! ```text
//! 12 R 0x7f00a1c0 0x401a2e      instructions before it, R, address, program counter
//! 3 W 0x7f00b240                the same for a store, which has no program counter
//! ```

use super::{Kind, Miss, TraceError};
use crate::units::{LINE_BYTES, Line};
use std::io::{BufRead, Write};

/// Reads a trace. The program counter may be missing, and is not kept.
///
/// # Errors
/// [`TraceError::Text`] for the first line that is wrong; [`TraceError::Io`].
pub fn read(from: impl BufRead) -> impl Iterator<Item = Result<Miss, TraceError>> {
    let is_blank = |text: &str| text.trim().is_empty();
    (1..).zip(from.lines()).filter_map(move |(line, text)| match text {
        Ok(text) if is_blank(&text) => None,
        Ok(text) => Some(miss(&text).map_err(|why| TraceError::Text { line, why })),
        Err(error) => Some(Err(error.into())),
    })
}

/// Writes a trace. The program counters are 0.
///
/// # Errors
/// Those of the writer.
pub fn write(misses: impl IntoIterator<Item = Miss>, into: &mut impl Write) -> std::io::Result<()> {
    for Miss { instructions, kind, line } in misses {
        let address = line.0 * LINE_BYTES;
        match kind {
            Kind::Load => writeln!(into, "{instructions} R 0x{address:x} 0x0")?,
            Kind::Store => writeln!(into, "{instructions} W 0x{address:x}")?,
        }
    }
    Ok(())
}

fn miss(text: &str) -> Result<Miss, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (instructions, kind, address) = match *words.as_slice() {
        [instructions, "R", address] | [instructions, "R", address, _] => (instructions, Kind::Load, address),
        [instructions, "W", address] => (instructions, Kind::Store, address),
        _ => return Err(format!("{text:?} is no miss: write such as \"12 R 0x7f00a1c0 0x401a2e\"")),
    };
    let fault = |what, word: &str| format!("{word:?} is no {what}");
    let instructions = instructions.parse().map_err(|_| fault("number of instructions", instructions))?;
    let digits = address.strip_prefix("0x").unwrap_or(address);
    let address = u64::from_str_radix(digits, 16).map_err(|_| fault("address in hexadecimal", address))?;
    Ok(Miss { instructions, kind, line: Line(address / LINE_BYTES) })
}
