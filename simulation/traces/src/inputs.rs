//! The files that programs read, generated from pinned seeds.

use crate::programs::Input;
use ameles_processor::trace::synthetic::{Pattern, Shape, Synthetic};
use ameles_programs::picosat::{Formula, Size};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use std::io::{self, Write};

/// The seed of all inputs.
const SEED: u64 = 4;

/// Writes a file. The same input is the same bytes on every machine.
///
/// # Errors
/// The errors of the writer.
pub fn write(input: &Input, into: &mut impl Write) -> io::Result<()> {
    match *input {
        Input::Words { bytes } => words(bytes, into),
        Input::Lines { lines } => {
            let mut random = ChaCha8Rng::seed_from_u64(SEED);
            (0..lines).try_for_each(|nth| writeln!(into, "{:016x} {nth}", random.next_u64()))
        }
        Input::Functions { functions } => self::functions(functions, into),
        Input::Formula { variables, clauses } => {
            Formula::new(&Size { variables, clauses, planted: true, seed: SEED }).write_dimacs(into)
        }
    }
}

/// Different words of a text.
const WORDS: u64 = 30_000;
/// Words of a line.
const LINE: usize = 12;

fn words(bytes: u64, into: &mut impl Write) -> io::Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut word = |_| -> String {
        let letters = 2 + random.next_u32() % 9;
        (0..letters).map(|_| char::from(b'a' + (random.next_u32() % 26) as u8)).collect()
    };
    let known: Vec<String> = (0..WORDS).map(&mut word).collect();
    let shape = Shape {
        pattern: Pattern::Zipf { exponent: 1.0 },
        lines: WORDS,
        stores: 0.0,
        instructions: 0,
        seed: SEED,
    };
    let mut drawn = Synthetic::new(shape).map_err(io::Error::other)?;
    let mut length = 0;
    while length < bytes {
        let words: Vec<&str> =
            drawn.by_ref().take(LINE).map(|miss| known[miss.line.0 as usize].as_str()).collect();
        let line = words.join(" ");
        writeln!(into, "{line}")?;
        length += line.len() as u64 + 1;
    }
    Ok(())
}

fn functions(count: u64, into: &mut impl Write) -> io::Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    for nth in 0..count {
        let mut below = |bound: u32| random.next_u32() % bound;
        let (limit, factor, shift, less, more) =
            (below(100), 2 + below(8), 1 + below(7), below(100), 3 + below(74));
        writeln!(
            into,
            "static int f{nth}(int a, int b, int *p) {{\n  int s = a;\n  for (int i = 0; i < b; i++) {{\n    \
             if (p[i] > {limit}) s += p[i] * {factor}; else s ^= b << {shift};\n    \
             switch (s & 3) {{ case 0: s -= {less}; break; case 1: p[i] = s; break; default: s = s * {more} + i; }}\n  \
             }}\n  return s;\n}}"
        )?;
        let before = nth.saturating_sub(1);
        writeln!(into, "int g{nth}(int *p) {{ return f{nth}(p[0], p[1], p) + f{before}(p[2], {nth}, p); }}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    fn generated(input: Input) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&input, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn inputs_are_the_same_bytes_at_every_time_on_every_machine() {
        let inputs = [
            Input::Words { bytes: 10_000 },
            Input::Lines { lines: 100 },
            Input::Functions { functions: 20 },
            Input::Formula { variables: 100, clauses: 380 },
        ];
        let found = inputs.map(|input| {
            let digest = Sha256::digest(generated(input));
            digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect::<String>()
        });
        assert_eq!(found, ["fa04ef88", "f1151179", "7815e3b3", "2e2bb09b"]);
    }

    #[test]
    fn a_text_has_lines_of_words_some_of_which_are_frequent() {
        let text = String::from_utf8(generated(Input::Words { bytes: 100_000 })).unwrap();
        assert!((100_000..101_000).contains(&text.len()));
        assert!(text.lines().all(|line| line.split(' ').count() == LINE));
        let mut counts = std::collections::BTreeMap::new();
        text.split_whitespace().for_each(|word| *counts.entry(word).or_insert(0) += 1);
        let words: u32 = counts.values().sum();
        assert!(counts.values().max().copied() > Some(words / 20), "the first has 9 in 100");
    }
}
