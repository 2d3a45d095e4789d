//! Traces of text: a line for each record.

use super::{Kind, Miss, TraceError};
use crate::units::{LINE_BYTES, Line};
use std::io::{self, BufRead, Read};

/// The maximum bytes of a line.
const MAX_BYTES: u64 = 1 << 16;

/// Letters of a wrong word or line that an error shows.
const SHOWN: usize = 60;

/// Reads a text, and parses each line that is not blank into the misses that it stands for. `examples` are the advice
/// for a line that is not text.
///
/// # Errors
/// [`TraceError::Text`] for a line that is wrong, with the sentence of `parse`; [`TraceError::Io`]. A file that cannot
/// be read has no further lines.
pub(super) fn records(
    mut from: impl BufRead,
    examples: &'static str,
    mut parse: impl FnMut(&str) -> Result<Vec<Miss>, String>,
) -> impl Iterator<Item = Result<Miss, TraceError>> {
    let mut bytes = Vec::new();
    let mut is_over = false;
    let lines = (1u64..).map_while(move |line| {
        if is_over {
            return None;
        }
        let parsed = match next_line(&mut from, &mut bytes) {
            Ok(None) => return None,
            Ok(Some(text)) => {
                let text = text.map_err(|what| format!("it is {what}: {examples}"));
                text.and_then(|text| if text.trim().is_empty() { Ok(Vec::new()) } else { parse(text) })
                    .map_err(|why| TraceError::Text { line, why })
            }
            Err(error) => {
                is_over = true;
                Err(error.into())
            }
        };
        let (misses, error) = match parsed {
            Ok(misses) => (misses, None),
            Err(error) => (Vec::new(), Some(Err(error))),
        };
        Some(misses.into_iter().map(Ok).chain(error))
    });
    lines.flatten()
}

/// Reads a line; `None` at the end. The inner error says what else it is.
fn next_line<'a>(
    from: &mut impl BufRead,
    bytes: &'a mut Vec<u8>,
) -> io::Result<Option<Result<&'a str, &'static str>>> {
    bytes.clear();
    if from.take(MAX_BYTES).read_until(b'\n', bytes)? == 0 {
        return Ok(None);
    }
    let is_long = bytes.len() as u64 == MAX_BYTES && !bytes.ends_with(b"\n");
    Ok(Some(match std::str::from_utf8(bytes) {
        _ if is_long => Err("longer than 65536 bytes"),
        Ok(text) => Ok(text.trim_end_matches(['\n', '\r'])),
        Err(_) => Err("not text in UTF-8"),
    }))
}

/// A wrong word or line in quotation marks, cut if it is long.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// An address in hexadecimal, with `0x` or without.
pub(super) fn hexadecimal(word: &str) -> Result<u64, String> {
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")).unwrap_or(word);
    u64::from_str_radix(digits, 16).map_err(|_| {
        format!("{} is not an address of 64 bits in hexadecimal: write for example 0x7f00a1c0", quoted(word))
    })
}

/// An address in decimal, or in hexadecimal with `0x`.
pub(super) fn address(word: &str) -> Result<u64, String> {
    if word.starts_with("0x") || word.starts_with("0X") {
        return hexadecimal(word);
    }
    word.parse().map_err(|_| {
        format!("{} is not an address of 64 bits: write for example 20734016, or 0x13c6000", quoted(word))
    })
}

/// A number of 64 bits in decimal. `what` says of what.
pub(super) fn number(word: &str, what: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("{} is not {what}: write 0 to {}", quoted(word), u64::MAX))
}

/// A number of instructions.
pub(super) fn instructions(word: &str) -> Result<u32, String> {
    word.parse()
        .map_err(|_| format!("{} is not a number of instructions: write 0 to {}", quoted(word), u32::MAX))
}

/// A miss of the line that has an address.
pub(super) fn miss(instructions: u32, kind: Kind, address: u64) -> Miss {
    Miss { instructions, kind, line: Line(address / LINE_BYTES) }
}
