//! A bar chart of numbers, in groups.

use crate::heading::{Heading, TEXT_LETTER_WIDTH};
use crate::svg::{Drawing, escape};

/// A chart of groups of bars, one of each series in each group.
pub(crate) struct Chart {
    pub(crate) title: String,
    /// The subtitle: a sentence that says what is drawn.
    pub(crate) what: String,
    pub(crate) groups: Vec<Group>,
    pub(crate) series: Vec<Series>,
    pub(crate) scale: Scale,
}

/// The scale of the bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Logarithmic from 1 on: no slowdown, no bar.
    Ratios,
    /// Linear from 0 on.
    Linear,
}

/// A group of adjacent bars.
pub(crate) struct Group {
    /// The name of the group below its bars; a line break begins another line.
    pub(crate) name: String,
    /// A bar for each series.
    pub(crate) bars: Vec<Option<Bar>>,
    /// True if the bars are drawn as outlines, because they are not measured.
    pub(crate) quoted: bool,
}

/// The meaning of the bars of one colour.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) colour: &'static str,
    /// The strength of the colour, from 0 to 1.
    pub(crate) strength: f64,
}

#[derive(Clone, Copy)]
pub(crate) struct Bar {
    pub(crate) ratio: f64,
    /// The minimum and maximum of its spread.
    pub(crate) spread: Option<(f64, f64)>,
}

const WIDTH: f64 = 960.0;
/// The height of bars in a single row, and in each of several.
const HEIGHT: f64 = 300.0;
const HEIGHT_OF_SEVERAL: f64 = 220.0;
/// The room for the numbers at the scale.
const LEFT: f64 = 48.0;
/// The minimum width of a bar with its number above it. The number is written upwards, and its letters have this
/// height.
const MIN_BAR: f64 = 9.0;
/// The gap between two groups, in bars.
const GAP: f64 = 1.5;
/// Room below the bars for a line of names, and what each further line takes.
const NAMES: f64 = 44.0;
const NAMES_LINE: f64 = 20.0;
const LEGEND_LINE: f64 = 20.0;
const LEGEND_COLUMN: f64 = 230.0;
/// The sine and the cosine of the angle by which long names are slanted.
const SLANT: (f64, f64) = (0.574, 0.819);

/// The places of everything in a chart.
struct Frame<'a> {
    /// The groups, row by row.
    rows: Vec<&'a [Group]>,
    /// The width of a bar.
    bar: f64,
    /// The height of bars.
    height: f64,
    left: f64,
    /// Room below the bars.
    below: f64,
    is_slanted: bool,
    top_ratio: f64,
}

impl Chart {
    /// The chart as SVG. Its colours are legible on light and on dark backgrounds.
    pub(crate) fn svg(&self) -> String {
        let heading = Heading::new(&self.title, &self.what);
        let frame = self.frame();
        let legend_columns = (WIDTH / LEGEND_COLUMN).floor();
        let legend_lines = (self.series.len() as f64 / legend_columns).ceil();
        let legend = heading.height() + frame.rows.len() as f64 * (frame.height + frame.below);
        let mut drawn = Drawing::new(
            [frame.left + WIDTH + 12.0, legend + legend_lines * LEGEND_LINE],
            &escape(&format!("{}: {}", self.title, self.what)),
            ".value{font-size:9px}.axis{stroke:#768390}.grid{stroke:#768390;opacity:.3}\
             .spread{stroke:#768390;fill:none}",
        );
        heading.draw(frame.left, &mut drawn);
        for (nth, groups) in frame.rows.iter().enumerate() {
            let bottom = heading.height() + nth as f64 * (frame.height + frame.below) + frame.height;
            self.draw_scale(&frame, bottom, &mut drawn);
            for (nth, group) in groups.iter().enumerate() {
                let bars = self.series.len() as f64;
                let left = frame.left + frame.bar * (nth as f64 * (bars + GAP) + GAP / 2.0);
                frame.draw_name(group, [left + frame.bar * bars / 2.0, bottom], &mut drawn);
                self.draw_bars(&frame, group, [left, bottom], &mut drawn);
            }
        }
        for (nth, series) in self.series.iter().enumerate() {
            let (column, line) = (nth as f64 % legend_columns, (nth as f64 / legend_columns).floor());
            let (x, y) = (frame.left + column * LEGEND_COLUMN, legend + line * LEGEND_LINE);
            let Series { name, colour, strength } = series;
            drawn.line(format!(
                "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\" opacity=\"{strength}\"/>\
                 <text x=\"{}\" y=\"{}\">{}</text>",
                y - 10.0,
                x + 18.0,
                y + 1.0,
                escape(name)
            ));
        }
        drawn.finish()
    }

    /// The places: as few rows as leave each bar its least width.
    fn frame(&self) -> Frame<'_> {
        let bars = self.series.len() as f64 + GAP;
        let fit = (WIDTH / (bars * MIN_BAR)).floor().max(1.0) as usize;
        let groups = self.groups.len().max(1);
        let in_a_row = groups.div_ceil(groups.div_ceil(fit));
        let pitch = WIDTH / in_a_row as f64;
        let length = |name: &str| name.chars().count() as f64 * TEXT_LETTER_WIDTH;
        let longest = |groups: &[Group]| {
            let lines = groups.iter().flat_map(|group| group.name.lines());
            lines.map(length).fold(0.0, f64::max)
        };
        let is_slanted = longest(&self.groups) > pitch;
        let rows: Vec<&[Group]> = self.groups.chunks(in_a_row).collect();
        // A slanted name ends below the middle of its group, and begins left of that.
        let first = self.groups.chunks(in_a_row).map(|row| length(&row[0].name)).fold(0.0, f64::max);
        let overhang = if is_slanted { first * SLANT.1 - pitch / 2.0 } else { 0.0 };
        let lines = self.groups.iter().map(|group| group.name.lines().count()).max().unwrap_or(1);
        let names = if is_slanted {
            let whole = self.groups.iter().map(|group| length(&group.name)).fold(0.0, f64::max);
            (whole * SLANT.0 - NAMES_LINE).max(0.0)
        } else {
            lines.saturating_sub(1) as f64 * NAMES_LINE
        };
        Frame {
            bar: pitch / bars,
            height: if rows.len() > 1 { HEIGHT_OF_SEVERAL } else { HEIGHT },
            rows,
            left: LEFT.max(overhang.ceil()),
            below: NAMES + names.ceil(),
            is_slanted,
            top_ratio: self.top_ratio(),
        }
    }

    /// The upper end of the axis, which leaves room for the number above each bar: a power of two for ratios.
    fn top_ratio(&self) -> f64 {
        let bars = self.groups.iter().flat_map(|group| group.bars.iter().flatten());
        let max = bars.map(|bar| bar.spread.map_or(bar.ratio, |(_, high)| high.max(bar.ratio)));
        match self.scale {
            Scale::Ratios => (max.fold(1.0, f64::max) * 1.4).log2().ceil().exp2(),
            Scale::Linear => {
                let max = max.fold(0.0, f64::max) * 1.15;
                let step = step(max);
                (max / step).ceil().max(1.0) * step
            }
        }
    }

    /// The height of a number over bars that end at `bottom`.
    fn y(&self, frame: &Frame<'_>, bottom: f64, ratio: f64) -> f64 {
        let share = match self.scale {
            Scale::Ratios => ratio.max(1.0).log2() / frame.top_ratio.log2(),
            Scale::Linear => ratio.max(0.0) / frame.top_ratio,
        };
        bottom - share * frame.height
    }

    /// The numbers at which lines are drawn.
    fn marks(&self, top: f64) -> Vec<f64> {
        match self.scale {
            Scale::Ratios => (0..=top.log2() as i32).map(|power| f64::from(power).exp2()).collect(),
            Scale::Linear => {
                let step = step(top);
                (0..=(top / step).round() as i32).map(|nth| f64::from(nth) * step).collect()
            }
        }
    }

    fn draw_scale(&self, frame: &Frame<'_>, bottom: f64, drawn: &mut Drawing) {
        for (nth, mark) in self.marks(frame.top_ratio).into_iter().enumerate() {
            let (y, class) = (self.y(frame, bottom, mark), if nth == 0 { "axis" } else { "grid" });
            let (left, right) = (frame.left, frame.left + WIDTH);
            // Digits that the step of the marks has.
            let mark = (mark * 1e6).round() / 1e6;
            drawn.line(format!(
                "<line class=\"{class}\" x1=\"{left}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{mark}</text>",
                left - 8.0,
                y + 4.0
            ));
        }
    }

    /// Draws a group's bars from `left` on.
    fn draw_bars(&self, frame: &Frame<'_>, group: &Group, [left, bottom]: [f64; 2], drawn: &mut Drawing) {
        let width = frame.bar;
        for (nth, (bar, series)) in group.bars.iter().zip(&self.series).enumerate() {
            let Some(bar) = bar else { continue };
            let (x, y) = (left + nth as f64 * width, self.y(frame, bottom, bar.ratio));
            let Series { colour, strength, .. } = series;
            let paint = if group.quoted {
                format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"")
            } else {
                format!("fill=\"{colour}\"")
            };
            let (inner, centre) = (width * 0.84, x + width / 2.0);
            drawn.line(format!(
                "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{inner:.1}\" height=\"{:.1}\" opacity=\"{strength}\" {paint}/>",
                x + width * 0.08,
                bottom - y
            ));
            let mut top = y;
            if let Some((low, high)) = bar.spread {
                top = self.y(frame, bottom, high);
                drawn.line(format!(
                    "<path class=\"spread\" d=\"M{centre:.1} {:.1}V{top:.1}\"/>",
                    self.y(frame, bottom, low)
                ));
            }
            drawn.line(format!(
                "<text class=\"value\" text-anchor=\"start\" transform=\"translate({:.1} {:.1}) rotate(-90)\">{}</text>",
                centre + 3.0,
                top - 4.0,
                label(bar.ratio)
            ));
        }
    }
}

impl Frame<'_> {
    /// Draws a group's name below its middle.
    fn draw_name(&self, group: &Group, [middle, bottom]: [f64; 2], drawn: &mut Drawing) {
        if self.is_slanted {
            let (x, y) = (middle + 4.0, bottom + 14.0);
            drawn.line(format!(
                "<text text-anchor=\"end\" transform=\"translate({x:.1} {y}) rotate(-35)\">{}</text>",
                escape(&group.name.replace('\n', " "))
            ));
            return;
        }
        for (nth, line) in group.name.lines().enumerate() {
            drawn.line(format!(
                "<text x=\"{middle:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                bottom + 18.0 + nth as f64 * 16.0,
                escape(line)
            ));
        }
    }
}

/// The step of marks up to a number: 1, 2 or 5 times a power of ten, for four to ten marks.
fn step(max: f64) -> f64 {
    let power = 10f64.powf((max.max(1e-9) / 4.0).log10().floor());
    let fits = |factor: &f64| max / (factor * power) >= 4.0;
    [5.0, 2.0, 1.0].into_iter().find(fits).unwrap_or(1.0) * power
}

/// Two digits behind the point, and fewer of large ratios.
fn label(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.2}") } else { format!("{ratio:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chart of the given numbers of programs and schemes.
    fn drawn(programs: usize, schemes: usize, title: &str) -> String {
        let bar = |nth: usize| Some(Bar { ratio: 1.0 + nth as f64 / 10.0, spread: None });
        let group = |nth: usize| Group {
            name: format!("python3-encode{nth}"),
            bars: (0..schemes).map(bar).collect(),
            quoted: false,
        };
        let series = |nth: usize| Series { name: format!("{nth}"), colour: "#2f81f7", strength: 1.0 };
        let (title, what) = (title.to_owned(), "a ratio".to_owned());
        let groups = (0..programs).map(group).collect();
        Chart { title, what, groups, series: (0..schemes).map(series).collect(), scale: Scale::Linear }.svg()
    }

    /// The numbers in a text.
    fn numbers(text: &str) -> Vec<f64> {
        text.split(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != '-')
            .filter_map(|number| number.parse().ok())
            .collect()
    }

    #[test]
    fn numbers_and_names_keep_apart_and_every_text_lies_within_the_picture() {
        let long = "Speed of delayed remapping whose dummies bring positions ahead (the paper's future work) over delayed remapping";
        for (programs, schemes) in [(1, 6), (8, 4), (10, 1), (22, 4), (22, 6), (3, 20)] {
            let svg = drawn(programs, schemes, long);
            let document = roxmltree::Document::parse(&svg).unwrap();
            let size = numbers(document.root_element().attribute("viewBox").unwrap());
            let (mut values, mut names) = (Vec::new(), Vec::new());
            for text in document
                .descendants()
                .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")))
            {
                let letters = text.text().unwrap().chars().count() as f64;
                let of_class = |class| text.attribute("class") == Some(class);
                let length = letters * if of_class("title") { 11.0 } else { 7.5 };
                let place = |name| text.attribute(name).map(|number| number.parse::<f64>().unwrap());
                let turned = text.attribute("transform").map(numbers);
                let x = turned.as_ref().map_or_else(|| place("x").unwrap(), |turned| turned[0]);
                let (begin, end) = match (text.attribute("text-anchor"), &turned) {
                    (Some("end"), Some(_)) => (x - length * 0.82, x),
                    (Some("end"), None) => (x - length, x),
                    (Some("middle"), _) => (x - length / 2.0, x + length / 2.0),
                    _ if of_class("value") => (x - 7.0, x),
                    _ => (x, x + length),
                };
                assert!(begin >= 0.0 && end <= size[2], "{programs} by {schemes}: {text:?} {begin} {end}");
                let y = turned.as_ref().map_or_else(|| place("y").unwrap(), |turned| turned[1]);
                assert!((0.0..size[3]).contains(&y), "{text:?}");
                if of_class("value") {
                    values.push((x, y));
                } else if text.text().unwrap().starts_with("python3") {
                    names.push((y, begin, end, turned.is_some()));
                }
            }
            for pair in values.windows(2) {
                let (one, other) = (pair[0], pair[1]);
                assert!((one.0 - other.0).abs() > 8.9, "{programs} by {schemes}: {one:?} {other:?}");
            }
            for pair in names.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
                let pitch = pair[1].1 - pair[0].1;
                let min = if pair[0].3 { 16.0 / SLANT.0 } else { pair[0].2 - pair[0].1 };
                assert!(pitch >= min, "{programs} by {schemes}: {pair:?}");
            }
        }
    }
}
