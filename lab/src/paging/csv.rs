//! The figures for programs: a line for each program in each configuration, and one for each geometric mean.

use super::figures::{Figures, Spread};
use super::paper;
use super::table::PAPER_RESIDENT;
use ameles_programs::PROGRAMS;
use std::fmt::Display;
use std::io::{self, Write};

const HEADER: &str = "cipher,resident_pages,program,scheme,k,workers,rounds,faults,slowdown,slowdown_lower_quartile,\
slowdown_upper_quartile,paper_slowdown,micros_a_fault,micros_lower_quartile,micros_upper_quartile,in_faults_micros,\
metered_micros,crypto_micros,copying_micros,moving_micros,trap_micros,program_micros,off_line_micros,beside_micros";

/// Writes the whole file. A figure that was not measured, or is not known, is empty.
///
/// # Errors
/// The errors of the writer.
pub(super) fn write<'a>(into: &mut impl Write, all: impl Iterator<Item = &'a Figures>) -> io::Result<()> {
    writeln!(into, "{HEADER}")?;
    for figures in all {
        let setting = &figures.setting;
        for line in &figures.lines {
            let configuration = line.configuration;
            let start = |program: &str| {
                let (cipher, resident) = (setting.cipher.to_string(), setting.resident.to_string());
                let k = option(configuration.k);
                vec![cipher, resident, program.to_owned(), configuration.scheme.to_string(), k]
            };
            let times = |slowdown: &Spread, paper: Option<f64>, micros: &Spread| {
                [spread(slowdown).as_slice(), &[option(paper)], &spread(micros)].concat()
            };
            for (program, figure) in PROGRAMS.iter().zip(&line.programs) {
                let mut fields = start(program.name);
                fields.extend([figure.threads, figures.rounds, figure.faults].map(|count| count.to_string()));
                fields.extend(times(&figure.slowdown, None, &figure.micros));
                fields.push(number(figure.in_faults_micros));
                fields.extend(match figure.parts {
                    None => [const { String::new() }; 8],
                    Some(parts) => [
                        parts.all,
                        parts.crypto,
                        parts.copying,
                        parts.moving,
                        parts.trap,
                        parts.program,
                        parts.off_line,
                        parts.second_process,
                    ]
                    .map(number),
                });
                writeln!(into, "{}", fields.join(","))?;
            }
            let mut fields = start("geometric mean");
            fields.extend([String::new(), figures.rounds.to_string(), String::new()]);
            let known = setting.resident == PAPER_RESIDENT;
            let paper = paper::slowdown(configuration).filter(|_| known);
            fields.extend(times(&line.slowdown, paper, &line.micros));
            fields.extend([const { String::new() }; 9]);
            writeln!(into, "{}", fields.join(","))?;
        }
    }
    into.flush()
}

fn spread(spread: &Spread) -> [String; 3] {
    [spread.median, spread.lower_quartile, spread.upper_quartile].map(number)
}

fn number(number: f64) -> String {
    format!("{number:.3}")
}

/// A value as a field; empty if there is none.
pub(crate) fn option(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
