//! The picture of lanes, in the colours of the documentation's other figures, which suit a light page and a dark one.

use super::lanes::{Lane, Shade, Span};
use std::fmt::Write;

/// The place where cycles begin.
const LEFT: f64 = 112.0;
/// The place where lanes begin.
const TOP: f64 = 76.0;
/// The height of a lane, and that of one with names of short spans.
const LOW: f64 = 24.0;
const HIGH: f64 = 62.0;
/// The number of cycles from line to line.
const GRID: usize = 10;

/// Draws lanes, each cycle that many pixels wide.
pub(crate) fn draw(title: &str, lanes: &[Lane], pixels: f64) -> String {
    let cycles = lanes.iter().flat_map(|lane| &lane.spans).map(|span| span.to).max().unwrap_or_default();
    let (width, height) =
        (LEFT + cycles as f64 * pixels + 16.0, TOP + lanes.iter().map(full).sum::<f64>() + 34.0);
    let (heading, more) = title.split_once(": ").unwrap_or((title, ""));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" \
         font-size=\"12\" role=\"img\" aria-label=\"{title}\">\n<style>text{{fill:#768390}}.title{{font-size:16px;\
         font-weight:bold}}.in{{fill:#fff;font-size:9px}}.short{{font-size:9px}}.grid{{stroke:#768390;opacity:.3}}\
         .plain{{fill:#768390}}.header{{fill:#d97706}}.body{{fill:#2f81f7}}.interest{{fill:#cf4b46}}.write{{fill:#1a9c5b}}\
         .ahead{{fill:#8c6d46}}</style>\n<text class=\"title\" x=\"16\" y=\"22\">{heading}</text>\n\
         <text x=\"16\" y=\"40\">{more}</text>\n"
    );
    let bottom = height - 30.0;
    for cycle in (0..=cycles).step_by(GRID) {
        let x = LEFT + cycle as f64 * pixels;
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{bottom}\"/><text x=\"{x}\" y=\"{}\" \
             text-anchor=\"middle\">{cycle}</text>",
            TOP - 6.0,
            TOP - 10.0
        );
    }
    let mut y = TOP;
    for lane in lanes {
        let middle = y + bar_height(lane) / 2.0 + 4.0;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            lane.name
        );
        let mut upright = 0.0;
        for span in &lane.spans {
            bar(&mut svg, span, y, bar_height(lane), pixels, &mut upright);
        }
        y += full(lane);
    }
    legend(&mut svg, height - 10.0);
    svg.push_str("</svg>\n");
    svg
}

fn full(lane: &Lane) -> f64 {
    if lane.is_high { HIGH } else { LOW }
}

fn bar_height(lane: &Lane) -> f64 {
    full(lane) - 6.0
}

/// A span with its name, if the name fits. A short span has an upright name, if it is far enough from the upright name
/// before.
fn bar(svg: &mut String, span: &Span, y: f64, height: f64, pixels: f64, upright: &mut f64) {
    let (x, width) = (LEFT + span.from as f64 * pixels, (span.to - span.from) as f64 * pixels);
    let (class, label) = (class(span.shade), &span.label);
    let _ = writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"{height}\" rx=\"1\"/>",
        x + 0.4,
        width - 0.8
    );
    let needed = label.chars().count() as f64 * 5.6;
    let (middle, center) = (x + width / 2.0, y + height / 2.0);
    let place = if label.is_empty() {
        return;
    } else if needed <= width + 1.0 {
        format!("x=\"{middle:.1}\" y=\"{:.1}\"", center + 3.2)
    } else if needed <= height + 2.0 && middle - *upright >= 8.0 {
        *upright = middle;
        format!("transform=\"translate({:.1} {center:.1}) rotate(-90)\"", middle + 3.2)
    } else {
        return;
    };
    let _ = writeln!(svg, "<text class=\"in\" text-anchor=\"middle\" {place}>{label}</text>");
}

fn legend(svg: &mut String, y: f64) {
    let mut x = LEFT;
    for (shade, meaning) in [
        (Shade::Header, "header, and its mask"),
        (Shade::Body, "beat of a body"),
        (Shade::Interest, "block of interest, and its mask"),
        (Shade::Write, "mask of what goes back; a place"),
        (Shade::Ahead, "mask made ahead"),
    ] {
        let class = class(shade);
        let _ = writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"10\" height=\"10\"/><text class=\"short\" x=\"{}\" \
             y=\"{y}\">{meaning}</text>",
            y - 9.0,
            x + 14.0
        );
        x += 34.0 + meaning.len() as f64 * 4.8;
    }
}

fn class(shade: Shade) -> &'static str {
    match shade {
        Shade::Plain => "plain",
        Shade::Header => "header",
        Shade::Body => "body",
        Shade::Interest => "interest",
        Shade::Write => "write",
        Shade::Ahead => "ahead",
    }
}
