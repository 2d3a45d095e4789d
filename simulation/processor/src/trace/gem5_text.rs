//! The texts that gem5's scripts write of its traces.
//!
//! ```text
//! r,7680,64,1025,500            decode_packet_trace.py: r or w, address, bytes, flags, tick
//! 12,w,7744,8,1025,750,4198     the same after the packet's number, with a program counter after the tick
//! 3,35660,1,LOAD,1748752,4,74,500:,2:        decode_inst_dep_trace.py: number, program counter, weight, LOAD, address,
//! 4,35660,1,COMP,0:,3:                       bytes, flags, delay, and dependencies; COMP has no access
//! ```
//!
//! Numbers are decimal. A tick is a picosecond, gem5's default: the text does not tell. A packet is a request as the
//! monitor saw it. The elastic trace of `TraceCPU` has every access, so these go through a first-level cache. The
//! weight of a record is the number of instructions that it stands for, itself included.

use super::first_level::{self, FirstLevel};
use super::lines::{self, number, quoted};
use super::pauses::Pauses;
use super::{Kind, Miss, TraceError};
use std::io::BufRead;

const EXAMPLES: &str = "write for example \"r,7680,64,1025,500\" or \"3,35660,1,LOAD,1748752,4,74,500:,2:\"";

/// Ticks of a second.
const TICKS: u64 = 1_000_000_000_000;

/// The state of a trace that is being read.
pub(super) struct Reader {
    pauses: Pauses,
    cache: FirstLevel,
}

/// Reads a trace.
///
/// # Errors
/// [`TraceError::Text`] for a line that is wrong; [`TraceError::Io`].
pub(super) fn read(from: impl BufRead) -> impl Iterator<Item = Result<Miss, TraceError>> {
    let mut reader = Reader::new();
    lines::records(from, EXAMPLES, move |text| reader.parse(text))
}

impl Reader {
    pub(super) fn new() -> Self {
        Reader { pauses: Pauses::new(TICKS), cache: FirstLevel::new() }
    }

    /// The misses of a line.
    pub(super) fn parse(&mut self, text: &str) -> Result<Vec<Miss>, String> {
        match text.split_once(':') {
            Some((record, _)) => self.parse_instruction(record.trim(), text),
            None => self.parse_packet(text.trim()),
        }
    }

    fn parse_packet(&mut self, text: &str) -> Result<Vec<Miss>, String> {
        let words: Vec<&str> = text.split(',').collect();
        let words =
            if words.first().is_some_and(|word| word.parse::<u64>().is_ok()) { &words[1..] } else { &words };
        let (command, address, bytes, tick) = match *words {
            [command, address, bytes, tick] => (command, address, bytes, tick),
            [command, address, bytes, _, tick] | [command, address, bytes, _, tick, _] => {
                (command, address, bytes, tick)
            }
            _ => return Err(format!("{} is not a packet: {EXAMPLES}", quoted(text))),
        };
        let kind = match command {
            "r" => Kind::Load,
            "w" => Kind::Store,
            "u" => {
                return Err(
                    "the text does not say which command u is: give the file from which decode_packet_trace.py made it"
                        .to_owned(),
                );
            }
            _ => {
                return Err(format!(
                    "{} is not a command: write r or w, as in \"r,7680,64,1025,500\"",
                    quoted(command)
                ));
            }
        };
        let mut lines =
            first_level::lines(number(address, "an address")?, number(bytes, "a number of bytes")?)?;
        let instructions = self.pauses.instructions(number(tick, "a tick")?);
        let first = lines.next().map(|line| Miss { instructions, kind, line });
        Ok(first.into_iter().chain(lines.map(|line| Miss { instructions: 0, kind, line })).collect())
    }

    fn parse_instruction(&mut self, record: &str, text: &str) -> Result<Vec<Miss>, String> {
        let wrong = || format!("{} is not a record: {EXAMPLES}", quoted(text));
        let words: Vec<&str> = record.split(',').collect();
        let at = words.iter().position(|word| ["LOAD", "STORE", "COMP"].contains(word)).ok_or_else(wrong)?;
        let weight = match words[..at] {
            [_] | [_, _] => 1,
            [_, _, weight] => number(weight, "a weight")?,
            _ => return Err(wrong()),
        };
        let kind = if words[at] == "STORE" { Kind::Store } else { Kind::Load };
        let access = match (words[at], &words[at + 1..]) {
            ("COMP", [_delay]) => None,
            ("LOAD" | "STORE", [address, bytes, _delay] | [address, bytes, _, _delay]) => {
                Some(first_level::lines(number(address, "an address")?, number(bytes, "a number of bytes")?)?)
            }
            _ => return Err(wrong()),
        };
        let mut misses = Vec::new();
        self.cache.skip(weight.saturating_sub(1));
        self.cache.instruction(access.into_iter().flatten().map(|line| (kind, line)), &mut misses);
        Ok(misses)
    }
}
