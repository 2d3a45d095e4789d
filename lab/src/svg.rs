//! Drawings as SVG. Their colours stand out on light and on dark ground.

use std::fmt::{Display, Write};

/// The styles that every drawing has.
const STYLES: &str = "text{fill:#768390}.title{font-size:16px;font-weight:bold}";

/// A drawing that grows line by line.
pub struct Drawing {
    text: String,
}

impl Drawing {
    /// An empty drawing of that width and height, with a label for those who cannot see it and with styles of its own.
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

/// A text as it may stand in a drawing.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
