//! The formats of traces, their names, and how they are recognised.

use super::lines::quoted;
use super::unpack::Bytes;
use super::{Miss, TraceError, champsim, dramsim, gem5, gem5_text, lines, packed, ramulator, text};
use dramsim::Simulator;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The formats of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Ours: some two bytes for each miss.
    Packed,
    /// USIMM's text.
    Usimm,
    /// ChampSim's instructions.
    ChampSim,
    /// gem5's packets or elastic trace, in protobuf.
    Gem5,
    /// The elastic and packet traces of gem5, as its scripts write them as text.
    Gem5Text,
    /// DRAMsim3's text.
    DramSim3,
    /// DRAMSim2's text: mase, k6 or misc.
    DramSim2,
    /// Ramulator's CPU trace, also of Ramulator 2.
    RamulatorCpu,
    /// Ramulator's memory trace.
    RamulatorMemory,
    /// Ramulator 2's load-store trace.
    RamulatorLoadStore,
}

/// The formats by their names.
const NAMES: [(&str, Format); 10] = [
    ("packed", Format::Packed),
    ("usimm", Format::Usimm),
    ("champsim", Format::ChampSim),
    ("gem5", Format::Gem5),
    ("gem5-text", Format::Gem5Text),
    ("dramsim3", Format::DramSim3),
    ("dramsim2", Format::DramSim2),
    ("ramulator-cpu", Format::RamulatorCpu),
    ("ramulator-memory", Format::RamulatorMemory),
    ("ramulator-load-store", Format::RamulatorLoadStore),
];

/// The names of all formats, in a sentence.
pub(super) fn names() -> String {
    NAMES.map(|(name, _)| name).join(", ")
}

impl Display for Format {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, format)| format == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, String> {
        let known = NAMES.iter().find(|(name, _)| *name == given);
        known.map(|(_, format)| *format).ok_or_else(|| format!("choose {}", names()))
    }
}

/// The misses of a file.
type Misses = Box<dyn Iterator<Item = Result<Miss, TraceError>> + Send>;

/// The contents of a file. Only packed traces have a warm-up and a notice.
pub(super) struct Contents {
    /// The misses, from the first on, that only warm the cache.
    pub(super) warm_up: u64,
    /// The notice of the program and of the licences.
    pub(super) notice: Option<String>,
    pub(super) misses: Misses,
}

impl Format {
    /// Reads a trace of this format.
    ///
    /// # Errors
    /// The errors of the beginning of a packed trace and of gem5's.
    pub(super) fn read(self, from: Bytes) -> Result<Contents, TraceError> {
        let misses: Misses = match self {
            Format::Packed => {
                let packed = packed::read(from)?;
                let (warm_up, notice) = (packed.warm_up(), packed.notice().map(str::to_owned));
                return Ok(Contents { warm_up, notice, misses: Box::new(packed) });
            }
            Format::Usimm => Box::new(text::read(from)),
            Format::ChampSim => Box::new(champsim::read(from)),
            Format::Gem5 => Box::new(gem5::read(from)?),
            Format::Gem5Text => Box::new(gem5_text::read(from)),
            Format::DramSim3 => Box::new(dramsim::read(from, Simulator::DramSim3)),
            Format::DramSim2 => Box::new(dramsim::read(from, Simulator::DramSim2)),
            Format::RamulatorCpu => {
                Box::new(lines::records(from, ramulator::CPU_EXAMPLES, ramulator::parse_cpu))
            }
            Format::RamulatorMemory => {
                Box::new(lines::records(from, ramulator::MEMORY_EXAMPLES, ramulator::parse_memory))
            }
            Format::RamulatorLoadStore => {
                Box::new(lines::records(from, ramulator::LOAD_STORE_EXAMPLES, ramulator::parse_load_store))
            }
        };
        Ok(Contents { warm_up: 0, notice: None, misses })
    }

    /// Returns whether a line of text can begin a trace of this format.
    fn can_begin_with(self, line: &str) -> bool {
        match self {
            Format::Packed | Format::ChampSim | Format::Gem5 => false,
            Format::Usimm => text::parse(line).is_ok(),
            Format::Gem5Text => gem5_text::Reader::new().parse(line).is_ok(),
            Format::DramSim3 => dramsim::can_begin_with(line, Simulator::DramSim3),
            Format::DramSim2 => dramsim::can_begin_with(line, Simulator::DramSim2),
            Format::RamulatorCpu => ramulator::parse_cpu(line).is_ok(),
            // A word alone is an address too, but may be any other word.
            Format::RamulatorMemory => {
                line.trim().contains(char::is_whitespace) && ramulator::parse_memory(line).is_ok()
            }
            Format::RamulatorLoadStore => ramulator::parse_load_store(line).is_ok(),
        }
    }
}

/// Bytes that are inspected to tell a text.
const TEXT_BYTES: usize = 64;

/// Tells the format from the first bytes of a file.
///
/// # Errors
/// [`TraceError::Empty`]; [`TraceError::Binary`]; [`TraceError::Unknown`] for a text of which no format claims the
/// first line, and [`TraceError::Ambiguous`] if several do.
pub(super) fn detect(first: &[u8]) -> Result<Format, TraceError> {
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if first.is_empty() {
        return Err(TraceError::Empty);
    }
    if first.starts_with(&packed::MAGIC[..packed::KIND]) {
        return Ok(Format::Packed);
    }
    if first.starts_with(gem5::MAGIC) {
        return Ok(Format::Gem5);
    }
    if let Some(byte) = first.iter().take(TEXT_BYTES).position(|byte| !is_text(byte)) {
        return if champsim::can_begin_with(first) {
            Ok(Format::ChampSim)
        } else {
            Err(TraceError::Binary { byte, names: names() })
        };
    }
    let text = String::from_utf8_lossy(first);
    let Some((line, words)) = (1..).zip(text.lines()).find(|(_, words)| !words.trim().is_empty()) else {
        return Err(TraceError::NoMisses);
    };
    let claimed: Vec<Format> =
        NAMES.map(|(_, format)| format).into_iter().filter(|format| format.can_begin_with(words)).collect();
    match *claimed.as_slice() {
        [format] => Ok(format),
        [] => Err(TraceError::Unknown { line, text: quoted(words), names: names() }),
        _ => {
            let names = claimed.iter().map(Format::to_string).collect::<Vec<_>>().join(" or ");
            Err(TraceError::Ambiguous { line, text: quoted(words), names })
        }
    }
}
