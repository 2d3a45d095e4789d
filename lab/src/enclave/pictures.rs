//! The paper's Figures 2, 5 and 6, drawn from our figures.

use super::figures::{Figures, Line};
use crate::bar_chart::{Bar, Chart, Series};
use crate::paging::colours::{colour, strength};
use crate::paging::pictures::{Picture, slowdown_chart};
use ameles_pager::scheme::Scheme;

/// Draws Path ORAM, OPAM and DetWoORAM; then the Eager and the Parallel form next to DetWoORAM.
pub(super) fn paper_pictures(figures: &Figures) -> Vec<Picture> {
    use Scheme::{DetWoOram, Eager, EagerParallel, Opam, Parallel, Path};
    let all: [(&str, &str, &[Scheme], &[Scheme]); 3] = [
        ("enclave-figure-2.svg", "Figure 2: Path ORAM, OPAM and DetWoORAM", &[], &[Path, Opam, DetWoOram]),
        ("enclave-figure-5.svg", "Figure 5: Eager DetWoORAM", &[DetWoOram], &[Eager]),
        (
            "enclave-figure-6.svg",
            "Figure 6: Parallel DetWoORAM, and Eager and Parallel together",
            &[DetWoOram],
            &[Parallel, EagerParallel],
        ),
    ];
    let picture = |(file, title, baseline_schemes, own): (&'static str, &str, &[Scheme], &[Scheme])| {
        let lines = figures.lines_of(baseline_schemes, own);
        (!lines.is_empty()).then(|| Picture { file, svg: chart(title, figures, &lines).svg() })
    };
    all.into_iter().filter_map(picture).collect()
}

fn chart(title: &str, figures: &Figures, lines: &[&Line]) -> Chart {
    let what = format!(
        "slowdown against plain paging in the enclave, by instructions on the critical path; {}, {} pages resident",
        figures.setting.cipher, figures.setting.resident
    );
    let bar = |ratio| Bar { ratio, spread: None };
    let programs = figures.programs.iter().enumerate().map(|(nth, program)| {
        let figures = lines.iter().map(|line| line.programs[nth].as_ref());
        (*program, figures.map(|figure| figure.map(|figure| bar(figure.slowdown))).collect())
    });
    let mean = lines.iter().map(|line| line.slowdown().map(bar)).collect();
    let paper = lines.iter().map(|line| line.configuration.paper().map(bar)).collect();
    slowdown_chart((title, what), programs, [mean, paper], lines.iter().map(|line| series(line)).collect())
}

/// A series whose colour is that of its scheme, paler the smaller K is and the fewer harts there are.
fn series(line: &Line) -> Series {
    let configuration = line.configuration;
    let strength = strength(configuration.k) * if configuration.harts == 2 { 0.7 } else { 1.0 };
    Series { name: configuration.to_string(), colour: colour(configuration.scheme), strength }
}
