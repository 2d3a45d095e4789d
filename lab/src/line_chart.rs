//! A chart of lines over whole numbers, such as the levels of a tree.

use crate::heading::Heading;
use crate::svg::{COLOURS, Drawing, escape};

/// A chart of shares, from 0 to 100 per cent, over the numbers from `first` on.
pub(crate) struct Lines {
    pub(crate) title: String,
    /// The subtitle: a sentence that says what is drawn.
    pub(crate) what: String,
    /// The words below the axis.
    pub(crate) across: String,
    pub(crate) first: u32,
    /// Each line with its name and its shares, one for each number.
    pub(crate) lines: Vec<(String, Vec<f64>)>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 56.0;
const LEGEND_LINE: f64 = 20.0;
impl Lines {
    /// The chart as SVG.
    pub(crate) fn svg(&self) -> String {
        let numbers = self.lines.iter().map(|(_, shares)| shares.len()).max().unwrap_or(1).max(2);
        let heading = Heading::new(&self.title, &self.what);
        let top = heading.height();
        let x = |nth: usize| LEFT + WIDTH * nth as f64 / (numbers - 1) as f64;
        let y = |share: f64| top + HEIGHT * (1.0 - share.clamp(0.0, 1.0));
        let bottom = top + HEIGHT;
        let (width, height) = (LEFT + WIDTH + 24.0, bottom + 60.0 + LEGEND_LINE * self.lines.len() as f64);
        let label = escape(&format!("{}: {}", self.title, self.what));
        let styles = ".axis{stroke:#768390}.grid{stroke:#768390;opacity:.3}.line{fill:none;stroke-width:2}";
        let mut drawn = Drawing::new([width, height], &label, styles);
        heading.draw(LEFT, &mut drawn);
        for tenth in (0..=10).step_by(2) {
            let (y, class) = (y(f64::from(tenth) / 10.0), if tenth == 0 { "axis" } else { "grid" });
            drawn.line(format!(
                "<line class=\"{class}\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{}\" y2=\"{y:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{} %</text>",
                LEFT + WIDTH,
                LEFT - 8.0,
                y + 4.0,
                tenth * 10
            ));
        }
        for (nth, number) in (self.first..).take(numbers).enumerate() {
            drawn.line(format!(
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{number}</text>",
                x(nth),
                bottom + 18.0
            ));
        }
        let middle = LEFT + WIDTH / 2.0;
        drawn.line(format!(
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 38.0,
            escape(&self.across)
        ));
        for (nth, ((name, shares), colour)) in self.lines.iter().zip(COLOURS.iter().cycle()).enumerate() {
            let points: Vec<String> = shares
                .iter()
                .enumerate()
                .map(|(nth, share)| format!("{:.1},{:.1}", x(nth), y(*share)))
                .collect();
            let legend = bottom + 58.0 + LEGEND_LINE * nth as f64;
            drawn.line(format!(
                "<polyline class=\"line\" stroke=\"{colour}\" points=\"{}\"/>\
                 <line class=\"line\" stroke=\"{colour}\" x1=\"{LEFT}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\
                 <text x=\"{}\" y=\"{legend}\">{}</text>",
                points.join(" "),
                legend - 4.0,
                LEFT + 20.0,
                legend - 4.0,
                LEFT + 28.0,
                escape(name)
            ));
        }
        drawn.finish()
    }
}
