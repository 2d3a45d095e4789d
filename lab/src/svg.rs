//! Drawings as SVG. Their colours are legible on light and on dark backgrounds.

use std::fmt::{Display, Write};

/// The styles that every drawing has.
const STYLES: &str = "text{fill:#768390}.title{font-size:16px;font-weight:bold}";

/// The colours of series that are legible on light and on dark backgrounds.
pub(crate) const COLOURS: [&str; 7] =
    ["#2f81f7", "#d97706", "#1a9c5b", "#a371f7", "#cf4b46", "#8c6d46", "#57606a"];

/// A drawing that grows line by line.
pub struct Drawing {
    text: String,
}

impl Drawing {
    /// An empty drawing of that width and height, with a label for screen readers and its own styles.
    pub fn new(size: [impl Display; 2], label: &str, styles: &str) -> Self {
        let [width, height] = size;
        let mut drawing = Drawing { text: String::new() };
        drawing.line(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
             font-size=\"13\" role=\"img\" aria-label=\"{label}\">"
        ));
        drawing.line(format!("<style>{STYLES}{styles}</style>"));
        drawing
    }

    /// Writes the title, from `left` on.
    pub fn title(&mut self, left: impl Display, title: &str) {
        self.line(format!("<text class=\"title\" x=\"{left}\" y=\"22\">{title}</text>"));
    }

    /// Adds a line of SVG.
    pub fn line(&mut self, line: impl AsRef<str>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{}", line.as_ref());
    }

    /// The whole drawing.
    pub fn finish(mut self) -> String {
        self.line("</svg>");
        self.text
    }
}

/// Escapes a text for use in a drawing.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
