//! The figures for programs: a line for each program in each configuration, and one for each geometric mean.

use super::figures::{Figures, PagingBaseline};
use crate::paging::csv::option;
use std::io::{self, Write};

const HEADER: &str = "cipher,resident_pages,untrusted_mib,program,scheme,k,harts,faults,slowdown,slowdown_of_all_work,\
slowdown_by_wall_clock,paper_slowdown,page_bench_slowdown,instructions,in_faults,off_line,hidden,system_calls,ciphers,\
copies,shared,longest,handing_over,wall_clock_millis";

/// Writes the whole file. A figure that was not measured, or is not known, is empty.
///
/// # Errors
/// The errors of the writer.
pub(super) fn write<'a>(
    into: &mut impl Write,
    all: impl Iterator<Item = &'a Figures>,
    paging_baseline: &PagingBaseline,
) -> io::Result<()> {
    writeln!(into, "{HEADER}")?;
    for Figures { setting, lines, programs, .. } in all {
        for line in lines {
            let configuration = line.configuration;
            let start = |program: &str| {
                let setting =
                    format!("{},{},{}", setting.cipher, setting.resident, setting.untrusted_bytes >> 20);
                let (k, harts) = (option(configuration.k), configuration.harts);
                format!("{setting},{program},{},{k},{harts}", configuration.scheme)
            };
            for (program, figure) in programs.iter().zip(&line.programs) {
                let Some(figure) = figure else { continue };
                let (counted, by_clock) = (&figure.counted, option(figure.wall_clock_slowdown));
                let slowdowns = format!("{:.4},{:.4},{by_clock},,", figure.slowdown, figure.total_slowdown);
                let counts = [
                    counted.total,
                    counted.in_faults,
                    counted.off_line,
                    counted.hidden,
                    counted.system_calls,
                    counted.ciphers,
                    counted.copies,
                    counted.shared,
                    counted.longest,
                    counted.hand_over,
                ]
                .map(|count| count.to_string())
                .join(",");
                let millis = option(figure.millis);
                writeln!(into, "{},{},{slowdowns},{counts},{millis}", start(program), counted.faults)?;
            }
            let means = [
                line.slowdown(),
                line.mean(|figure| Some(figure.total_slowdown)),
                line.mean(|figure| figure.wall_clock_slowdown),
                configuration.paper(),
                paging_baseline.slowdown(configuration),
            ]
            .map(option)
            .join(",");
            writeln!(into, "{},,{means},,,,,,,,,,,", start("geometric mean"))?;
        }
    }
    into.flush()
}
