//! The paper's Figures 2, 5 and 6, drawn from our figures, and the sweep.

use super::colours::{colour, strength};
use super::configuration::Configuration;
use super::figures::{Figures, Line, Spread};
use super::paper;
use crate::bar_chart::{Bar, Chart, Group, Scale, Series};
use ameles_pager::scheme::Scheme;
use ameles_programs::PROGRAMS;

/// A picture and the name of its file.
pub struct Picture {
    /// The name of the file.
    pub file: &'static str,
    /// The picture's contents.
    pub svg: String,
}

/// Draws the paper's pictures: DetWoORAM with Path ORAM and OPAM, with Eager, with Parallel.
pub(super) fn paper_pictures(figures: &Figures) -> Vec<Picture> {
    use Scheme::{DetWoOram, Eager, EagerParallel, Opam, Parallel, Path};
    let all: [(&str, &str, &[Scheme]); 3] = [
        ("figure-2.svg", "Figure 2: Path ORAM, OPAM and DetWoORAM", &[Path, Opam, DetWoOram]),
        ("figure-5.svg", "Figure 5: Eager DetWoORAM", &[DetWoOram, Eager]),
        (
            "figure-6.svg",
            "Figure 6: Parallel DetWoORAM, and Eager and Parallel together",
            &[DetWoOram, Parallel, EagerParallel],
        ),
    ];
    let picture = |(file, title, schemes): (&'static str, &str, &[Scheme])| {
        let of = |scheme| figures.lines.iter().filter(move |line| line.configuration.scheme == scheme);
        let lines: Vec<&Line> = schemes.iter().copied().flat_map(of).collect();
        Picture { file, svg: chart(title, figures, &lines).svg() }
    };
    all.into_iter().map(picture).collect()
}

fn chart(title: &str, figures: &Figures, lines: &[&Line]) -> Chart {
    let what = format!(
        "slowdown against plain paging, with its quartiles; {}, {} pages resident",
        figures.setting.cipher, figures.setting.resident
    );
    let programs = PROGRAMS.iter().enumerate().map(|(nth, program)| {
        (program.name, lines.iter().map(|line| Some(bar(&line.programs[nth].slowdown))).collect())
    });
    let mean = lines.iter().map(|line| Some(bar(&line.slowdown))).collect();
    let quoted = |line: &&Line| paper::slowdown(line.configuration).map(|ratio| Bar { ratio, spread: None });
    let paper = lines.iter().map(quoted).collect();
    slowdown_chart((title, what), programs, [mean, paper], lines.iter().map(|line| series(line)).collect())
}

/// A chart of slowdowns: a group of bars for each program, one for their geometric means, and one for the paper's
/// means.
pub(crate) fn slowdown_chart<'a>(
    (title, what): (&str, String),
    programs: impl Iterator<Item = (&'a str, Vec<Option<Bar>>)>,
    [mean, paper]: [Vec<Option<Bar>>; 2],
    series: Vec<Series>,
) -> Chart {
    let group = |name: &str, bars, quoted| Group { name: name.to_owned(), bars, quoted };
    let programs = programs.map(|(name, bars)| group(name, bars, false));
    let means = [group("geometric mean", mean, false), group("the paper's mean", paper, true)];
    let groups = programs.chain(means).collect();
    Chart { scale: Scale::Ratios, title: title.to_owned(), what, groups, series }
}

/// The means for several numbers of resident pages.
pub(super) fn sweep_picture(sweep: &[Figures]) -> Option<Picture> {
    let first = sweep.first()?;
    let lines =
        || first.lines.iter().enumerate().filter(|(_, line)| line.configuration != Configuration::PLAIN);
    let group = |figures: &Figures| Group {
        name: format!("R = {}", figures.setting.resident),
        bars: lines().map(|(nth, _)| Some(bar(&figures.lines[nth].slowdown))).collect(),
        quoted: false,
    };
    let chart = Chart {
        scale: Scale::Ratios,
        title: "The same with R resident pages".to_owned(),
        what: format!(
            "slowdown against plain paging, with its quartiles; {}, geometric means over the six programs",
            first.setting.cipher
        ),
        groups: sweep.iter().map(group).collect(),
        series: lines().map(|(_, line)| series(line)).collect(),
    };
    Some(Picture { file: "resident.svg", svg: chart.svg() })
}

fn bar(spread: &Spread) -> Bar {
    Bar { ratio: spread.median, spread: Some((spread.lower_quartile, spread.upper_quartile)) }
}

/// A colour for each scheme, paler for a smaller K. The absolute time follows the name.
fn series(line: &Line) -> Series {
    let name = format!("{} ({:.0} µs)", line.configuration, line.micros.median);
    let Configuration { scheme, k } = line.configuration;
    Series { name, colour: colour(scheme), strength: strength(k) }
}
