//! Traces of DRAMsim3 and DRAMSim2: a line for each request of a memory.
//!
//! ```text
//! 0x7f00a1c0 READ 12            DRAMsim3, and DRAMSim2's mase: address, READ, WRITE or IFETCH, cycle of the memory
//! 0x7f00a1c0 P_MEM_RD 12        DRAMSim2's k6
//! 0x7f00a1c0 write 00ff…        DRAMSim2's misc: read or write in small letters, and data, but no cycle
//! ```
//!
//! DRAMsim3 takes a cycle after `read` and `write`, and DRAMSim2 data: only the name of the format distinguishes them.
//! A cycle is a cycle of the lab's memory, which runs at 800 MHz.

use super::lines::{self, hexadecimal, number, quoted};
use super::pauses::{MEMORY_CLOCK, Pauses};
use super::{Kind, Miss, TraceError};
use std::io::BufRead;

/// The simulator that a trace is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Simulator {
    DramSim3,
    DramSim2,
}

const EXAMPLES: &str = "write for example \"0x7f00a1c0 READ 12\" or \"0x7f00b240 WRITE 40\"";

/// The words for requests that write. DRAMsim3 takes all others for reads; here a wrong word is an error.
const WRITES: [&str; 4] = ["WRITE", "write", "P_MEM_WR", "BOFF"];
const READS: [&str; 6] = ["READ", "read", "IFETCH", "P_MEM_RD", "P_FETCH", "P_LOCK_RD"];
/// DRAMSim2 reads for a locked write.
const LOCKED_WRITE: &str = "P_LOCK_WR";

/// Reads a trace.
///
/// # Errors
/// [`TraceError::Text`] for a line that is wrong; [`TraceError::Io`].
pub(super) fn read(
    from: impl BufRead,
    simulator: Simulator,
) -> impl Iterator<Item = Result<Miss, TraceError>> {
    let mut pauses = Pauses::new(MEMORY_CLOCK);
    lines::records(from, EXAMPLES, move |text| parse(text, simulator, &mut pauses))
}

/// Returns whether a first line is of that simulator's trace. `READ` and `WRITE` mean the same to both, and count as
/// DRAMsim3's; other words but `read` and `write` are DRAMSim2's own.
pub(super) fn can_begin_with(text: &str, simulator: Simulator) -> bool {
    let is_its_own = match (simulator, text.split_whitespace().nth(1)) {
        (_, Some("read" | "write")) => true,
        (Simulator::DramSim3, command) => matches!(command, Some("READ" | "WRITE")),
        (Simulator::DramSim2, command) => !matches!(command, Some("READ" | "WRITE")),
    };
    is_its_own && parse(text, simulator, &mut Pauses::new(MEMORY_CLOCK)).is_ok()
}

fn parse(text: &str, simulator: Simulator, pauses: &mut Pauses) -> Result<Vec<Miss>, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let has_data = |command: &str| simulator == Simulator::DramSim2 && ["read", "write"].contains(&command);
    let (address, command, cycle) = match *words.as_slice() {
        [address, command] if has_data(command) => (address, command, None),
        [address, command, data] if has_data(command) => {
            let is_data = data.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !is_data {
                return Err(format!(
                    "{} is not data in hexadecimal: write the digits alone, or leave it out",
                    quoted(data)
                ));
            }
            (address, command, None)
        }
        [address, command, cycle] => (address, command, Some(number(cycle, "a cycle")?)),
        _ => return Err(format!("{} is not a request: {EXAMPLES}", quoted(text))),
    };
    let kind = match command {
        write if WRITES.contains(&write) => Kind::Store,
        read if READS.contains(&read) || read == LOCKED_WRITE => Kind::Load,
        other => {
            return Err(format!(
                "{} is not a command: write READ or WRITE, as in \"0x7f00a1c0 READ 12\"",
                quoted(other)
            ));
        }
    };
    let address = hexadecimal(address)?;
    let instructions = cycle.map_or(0, |cycle| pauses.instructions(cycle));
    Ok(vec![lines::miss(instructions, kind, address)])
}
