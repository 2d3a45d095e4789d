//! USIMM's format of traces: a line of text for each miss.
//!
//! ```text
//! 12 R 0x7f00a1c0 0x401a2e      instructions before it, R, address, program counter
//! 3 W 0x7f00b240                the same for a store, which has no program counter
//! ```

use super::{Kind, Miss, TraceError};
use crate::units::{LINE_BYTES, Line};
use std::io::{self, BufRead, Write};

/// The advice for an invalid line.
const EXAMPLES: &str = "write for example \"12 R 0x7f00a1c0 0x401a2e\" or \"3 W 0x7f00b240\"";

/// Letters of a wrong word or line that an error shows.
const SHOWN: usize = 60;

/// Reads a trace. The program counter is optional and ignored.
///
/// # Errors
/// [`TraceError::Text`] for the first line that is wrong; [`TraceError::Io`].
pub fn read(from: impl BufRead) -> impl Iterator<Item = Result<Miss, TraceError>> {
    let is_blank = |text: &str| text.trim().is_empty();
    (1..).zip(from.lines()).filter_map(move |(line, text)| match text {
        Ok(text) if is_blank(&text) => None,
        Ok(text) => Some(miss(&text).map_err(|why| TraceError::Text { line, why })),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            let why = format!("it is no text in UTF-8: {EXAMPLES}");
            Some(Err(TraceError::Text { line, why }))
        }
        Err(error) => Some(Err(error.into())),
    })
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

/// A wrong word or line in quotation marks, cut if it is long.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

fn miss(text: &str) -> Result<Miss, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (instructions, kind, address) = match *words.as_slice() {
        [instructions, "R", address] | [instructions, "R", address, _] => (instructions, Kind::Load, address),
        [instructions, "W", address] => (instructions, Kind::Store, address),
        _ => return Err(format!("{} is no miss: {EXAMPLES}", quoted(text))),
    };
    let instructions = instructions.parse().map_err(|_| {
        format!("{} is no number of instructions: write 0 to {}", quoted(instructions), u32::MAX)
    })?;
    let digits = address.strip_prefix("0x").unwrap_or(address);
    let address = u64::from_str_radix(digits, 16).map_err(|_| {
        format!("{} is no address of 64 bits in hexadecimal: write for example 0x7f00a1c0", quoted(address))
    })?;
    Ok(Miss { instructions, kind, line: Line(address / LINE_BYTES) })
}
