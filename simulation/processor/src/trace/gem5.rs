//! gem5's own traces: `packet.proto` and `inst_dep_record.proto`.
//!
//! A file begins with `gem5`. Messages of protobuf follow, each after its length in LEB128: a header, and a packet or
//! an instruction each. The header of an elastic trace has a window (field 4, a number); that of a packet trace has the
//! names of requesters there. Only the needed fields are read, and all others are skipped:
//!
//! | message | fields |
//! |---|---|
//! | header | 3: ticks of a second; 4: the window |
//! | packet | 1: tick; 2: command (`MemCmd` of `src/mem/packet.hh`); 3: address; 4: bytes |
//! | instruction | 2: load, store or neither; 3: address; 4: bytes; 9: the instructions for which it stands |

use super::first_level::{self, FirstLevel};
use super::pauses::Pauses;
use super::records::{self, Records};
use super::{Kind, Miss, TraceError};
use std::collections::VecDeque;
use std::io::BufRead;

/// The beginning of a file.
pub(super) const MAGIC: &[u8; 4] = b"gem5";

/// The maximum bytes of a message.
const MAX_MESSAGE: u64 = 1 << 20;

/// The greatest number of a field that is read.
const FIELDS: usize = 9;

const ADVICE: &str = "copy the trace again, or give the right format by --trace-format";

/// The numbers of a message by their fields; those that it does not have are none.
type Fields = [Option<u64>; FIELDS + 1];

/// The contents of a trace.
enum Contents {
    /// Requests, as a monitor saw them.
    Packets(Pauses),
    /// All instructions, whose accesses go through a first-level cache.
    Instructions(Box<FirstLevel>),
}

/// Reads a trace.
///
/// # Errors
/// [`TraceError::Record`] for a message that is wrong; record 0 is the beginning of the file. [`TraceError::Io`].
pub(super) fn read(from: impl BufRead) -> Result<impl Iterator<Item = Result<Miss, TraceError>>, TraceError> {
    let mut records = Records::new(from, "gem5");
    let mut bytes = Vec::new();
    records.bytes(MAGIC.len() as u64, &mut bytes)?;
    if bytes != MAGIC {
        return Err(records.fault(format!("it does not begin with \"gem5\": {ADVICE}")));
    }
    let header = message(&mut records, &mut bytes)?
        .ok_or_else(|| records.fault(format!("it is missing: {ADVICE}")))?;
    let mut contents = match (header[4], header[3]) {
        (Some(_), _) => Contents::Instructions(Box::new(FirstLevel::new())),
        (None, Some(frequency)) if frequency > 0 => Contents::Packets(Pauses::new(frequency)),
        _ => return Err(records.fault(format!("it has no number of ticks in a second: {ADVICE}"))),
    };
    Ok(records::misses(move |into| {
        records.begin();
        let Some(fields) = message(&mut records, &mut bytes)? else { return Ok(false) };
        let taken = match &mut contents {
            Contents::Packets(pauses) => packet(&fields, pauses, into),
            Contents::Instructions(cache) => instruction(&fields, cache, into),
        };
        taken.map_err(|why| records.fault(format!("{why}: {ADVICE}")))?;
        Ok(true)
    }))
}

/// Appends the misses of a packet.
fn packet(fields: &Fields, pauses: &mut Pauses, into: &mut VecDeque<Miss>) -> Result<(), String> {
    let [_, Some(tick), Some(command), Some(address), bytes, ..] = *fields else {
        return Err("it has no tick, command or address".to_owned());
    };
    let kind = match command {
        // ReadReq, prefetches, ReadCleanReq, ReadSharedReq and LoadLockedReq.
        1 | 11 | 13 | 24..=26 => Kind::Load,
        // WriteReq, WritebackDirty, WriteClean, WriteLineReq and StoreCondReq; SoftPFExReq and ReadExReq bring a line
        // for a store.
        4 | 7 | 9 | 16 | 27 | 12 | 22 => Kind::Store,
        // WritebackClean, CleanEvict and requests to write a line that is there: nothing misses.
        8 | 10 | 17 | 18 | 20 => return Ok(()),
        other => return Err(format!("its command {other} is not a read or write of memory")),
    };
    let mut instructions = pauses.instructions(tick);
    for line in first_level::lines(address, bytes.unwrap_or(1))? {
        into.push_back(Miss { instructions, kind, line });
        instructions = 0;
    }
    Ok(())
}

/// Appends the misses of an instruction.
fn instruction(fields: &Fields, cache: &mut FirstLevel, into: &mut VecDeque<Miss>) -> Result<(), String> {
    let access = match (fields[2], fields[3]) {
        (Some(1), Some(address)) => Some((Kind::Load, address)),
        (Some(2), Some(address)) => Some((Kind::Store, address)),
        (Some(3), _) => None,
        _ => return Err("it is neither a load nor a store with an address, nor a computation".to_owned()),
    };
    let lines = access.map(|(kind, address)| {
        first_level::lines(address, fields[4].unwrap_or(1)).map(|lines| lines.map(move |line| (kind, line)))
    });
    cache.skip(fields[9].unwrap_or(1).saturating_sub(1));
    cache.instruction(lines.transpose()?.into_iter().flatten(), into);
    Ok(())
}

/// Reads a message; `None` at the end of the file.
fn message<R: BufRead>(records: &mut Records<R>, bytes: &mut Vec<u8>) -> Result<Option<Fields>, TraceError> {
    let mut length = Vec::new();
    loop {
        records.bytes(1, bytes)?;
        match bytes.first() {
            None if length.is_empty() => return Ok(None),
            None => return Err(records.fault(format!("the file ends before it: {ADVICE}"))),
            Some(byte) => length.push(*byte),
        }
        if length.last().is_some_and(|byte| byte & 0x80 == 0) || length.len() == 10 {
            break;
        }
    }
    let length = number(&mut length.as_slice()).filter(|length| *length <= MAX_MESSAGE);
    let length = length.ok_or_else(|| records.fault(format!("it is longer than a megabyte: {ADVICE}")))?;
    records.bytes(length, bytes)?;
    if (bytes.len() as u64) < length {
        return Err(records.fault(format!("the file ends before it: {ADVICE}")));
    }
    let found =
        fields(bytes).ok_or_else(|| records.fault(format!("it is not a message of protobuf: {ADVICE}")))?;
    Ok(Some(found))
}

/// The numbers of a message; `None` if it is none. Of several with one field the last one counts.
fn fields(mut message: &[u8]) -> Option<Fields> {
    let mut found = Fields::default();
    while !message.is_empty() {
        let key = number(&mut message)?;
        let skipped = match key & 7 {
            0 => {
                let value = number(&mut message)?;
                let field = usize::try_from(key >> 3).ok().and_then(|field| found.get_mut(field));
                field.into_iter().for_each(|field| *field = Some(value));
                0
            }
            1 => 8,
            2 => usize::try_from(number(&mut message)?).ok()?,
            5 => 4,
            _ => return None,
        };
        message = message.get(skipped..)?;
    }
    Some(found)
}

/// Takes a number in LEB128; `None` if it ends too early or has more than 64 bits.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let digit = u64::from(byte & 0x7f);
        if shift == 63 && digit > 1 {
            return None;
        }
        number |= digit << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
