//! Traces of Ramulator and Ramulator 2: a line for each request.
//!
//! ```text
//! 3 20734016                    CPU trace: instructions before it, address of a read
//! 1 20846400 20841280           the same with the address of the dirty line that the read evicts
//! 0x12345680 R                  memory trace: address, R or W
//! LD 0x100000                   Ramulator 2's load-store trace: LD or ST, address; a variant has sizes and data
//! ```
//!
//! Addresses of CPU traces are decimal, and so are those of a load-store trace without `0x`. Those of a memory trace
//! are hexadecimal. Memory traces and load-store traces have no instructions between requests.

use super::lines::{self, address, hexadecimal, instructions, quoted};
use super::{Kind, Miss};

/// The advice for invalid lines of each trace.
pub(super) const CPU_EXAMPLES: &str = "write for example \"3 20734016\" or \"1 20846400 20841280\"";
pub(super) const MEMORY_EXAMPLES: &str = "write for example \"0x12345680 R\" or \"0x4cbd56c0 W\"";
pub(super) const LOAD_STORE_EXAMPLES: &str = "write for example \"LD 0x100000\" or \"ST 0x1102c0\"";

/// The misses of a line of a CPU trace.
pub(super) fn parse_cpu(text: &str) -> Result<Vec<Miss>, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (count, read, written) = match *words.as_slice() {
        [count, read] => (count, read, None),
        [count, read, written] => (count, read, Some(written)),
        _ => return Err(format!("{} is not a request: {CPU_EXAMPLES}", quoted(text))),
    };
    let load = lines::miss(instructions(count)?, Kind::Load, address(read)?);
    let store = written.map(|written| Ok::<_, String>(lines::miss(0, Kind::Store, address(written)?)));
    [Some(Ok(load)), store].into_iter().flatten().collect()
}

/// The miss of a line of a memory trace. A line without a letter is a read, as in Ramulator.
pub(super) fn parse_memory(text: &str) -> Result<Vec<Miss>, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (address, kind) = match *words.as_slice() {
        [address] | [address, "R"] => (address, Kind::Load),
        [address, "W"] => (address, Kind::Store),
        ["R" | "W", vector] if vector.contains(',') => {
            return Err(format!(
                "{} is an address vector of Ramulator 2's read-write trace, which only its memory can place: give a \
                 load-store trace, as in \"LD 0x100000\"",
                quoted(vector)
            ));
        }
        _ => return Err(format!("{} is not a request: {MEMORY_EXAMPLES}", quoted(text))),
    };
    Ok(vec![lines::miss(0, kind, hexadecimal(address)?)])
}

/// The miss of a line of a load-store trace. Sizes and data after the address are ignored.
pub(super) fn parse_load_store(text: &str) -> Result<Vec<Miss>, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (kind, word) = match *words.as_slice() {
        ["LD", address] | ["LD", address, _] => (Kind::Load, address),
        ["ST", address, ..] => (Kind::Store, address),
        _ => return Err(format!("{} is not a request: {LOAD_STORE_EXAMPLES}", quoted(text))),
    };
    Ok(vec![lines::miss(0, kind, address(word)?)])
}
