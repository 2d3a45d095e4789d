//! A sample of a cycle of a controller: its ports, and the inside of a backend.

use crate::rtl::{Inputs, Outputs};
use std::io;
use std::path::Path;

/// The ports in a cycle.
#[derive(Clone, Debug)]
pub struct PortSample {
    /// The signals into the controller.
    pub inputs: Inputs,
    /// The signals out of the controller, before the edge of the clock.
    pub outputs: Outputs,
}

/// The inside of a backend in a cycle: `watch_t` of `hardware/tests/ameles_bench.sv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendSample {
    /// The level whose header is next.
    pub level: u32,
    /// The state of the stash, as a place in [`enumeration_names`].
    pub state: usize,
    /// True if a header is decrypted and accepted.
    pub header: bool,
    /// True if a beat of a body is accepted.
    pub body: bool,
    /// True if that beat belongs to the block of interest (RAW ORAM).
    pub interest: bool,
    /// The purpose of the blocks of AES that begin, as a place in the engine's list, if any begin.
    pub stream: Option<usize>,
    /// True if the list of waiting blocks is being scanned.
    pub scanning: bool,
    /// A block goes into PushToLeaf.
    pub push: bool,
    /// A block comes out: with its level, or stuck.
    pub out: Option<Option<u32>>,
}

impl BackendSample {
    /// The inside in a cycle, from a library that exposes it.
    pub fn of(sample: &PortSample) -> Self {
        let mut word = sample.outputs.watch;
        let mut field = |bits: u32| {
            let field = word & ((1 << bits) - 1);
            word >>= bits;
            field
        };
        let (level, state) = (field(4), field(4) as usize);
        let mut flag = || field(1) == 1;
        let (header, body, interest, chunks) = (flag(), flag(), flag(), flag());
        let stream = field(3) as usize;
        let mut flag = || field(1) == 1;
        let (scanning, push, out, stuck) = (flag(), flag(), flag(), flag());
        let out_level = field(5);
        BackendSample {
            level,
            state,
            header,
            body,
            interest,
            stream: chunks.then_some(stream),
            scanning,
            push,
            out: out.then_some((!stuck).then_some(out_level)),
        }
    }
}

/// The names of an enumeration in the RTL, such as `state_e` of `ameles_stash.sv`, in their order.
///
/// # Errors
/// If the file cannot be read, or has no such enumeration.
pub fn enumeration_names(file: &str, enumeration: &str) -> io::Result<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hardware/rtl").join(file);
    let text = std::fs::read_to_string(path)?;
    let before = text.split(&format!("}} {enumeration};")).next().filter(|before| before.len() < text.len());
    let list = before.and_then(|before| before.rsplit_once('{'));
    let (_, list) = list.ok_or_else(|| io::Error::other(format!("{file} has no {enumeration}")))?;
    let lines = list.lines().map(|line| line.split("//").next().unwrap_or_default());
    let names = lines.flat_map(|line| line.split(',')).map(str::trim).filter(|name| !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_taken_from_the_lowest_bit_on() {
        let watch = |word| {
            let outputs = Outputs { watch: word, ..Outputs::default() };
            BackendSample::of(&PortSample { inputs: Inputs::default(), outputs })
        };
        let word = 3 | 5 << 4 | 0b0001 << 8 | 1 << 11 | 4 << 12 | 0b1100 << 15 | 9 << 19;
        let found = watch(word);
        assert_eq!((found.level, found.state, found.stream), (3, 5, Some(4)));
        assert_eq!(
            [found.header, found.body, found.interest, found.scanning, found.push],
            [true, false, false, false, false]
        );
        assert_eq!(found.out, Some(None));
        assert_eq!(watch(word & !(1 << 18)).out, Some(Some(9)));
        assert_eq!(watch(0).out, None);
    }

    #[test]
    fn the_names_of_states_are_those_of_the_rtl() {
        let states_of_stash = enumeration_names("ameles_stash.sv", "state_e").unwrap();
        assert_eq!(states_of_stash[..2], ["First", "Idle"]);
        assert!(states_of_stash.iter().all(|name| name.chars().all(char::is_alphanumeric)));
        assert_eq!(enumeration_names("ameles_mask_engine.sv", "stream_e").unwrap()[..2], ["Leaf", "Read"]);
        enumeration_names("ameles_stash.sv", "nothing_e").unwrap_err();
    }
}
