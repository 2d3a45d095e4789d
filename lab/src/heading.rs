//! The title of a chart and the sentence below it, in as many lines as they need.

use crate::svg::{Drawing, escape};

/// The width of a letter on average: of a title, and of any other text. Browsers choose the font, so both are generous.
const TITLE_LETTER_WIDTH: f64 = 11.2;
pub(crate) const TEXT_LETTER_WIDTH: f64 = 7.6;
/// The width of a line. It is less than the width of a chart, so a narrow window that shows the left of a chart shows
/// the whole line.
const WIDTH: f64 = 640.0;
/// The baseline of the first line, and the distances between lines.
const FIRST: f64 = 22.0;
const LINE: f64 = 20.0;

/// The lines above a chart.
pub(crate) struct Heading {
    title: Vec<String>,
    what: Vec<String>,
}

impl Heading {
    /// The lines of a title and a sentence.
    pub(crate) fn new(title: &str, what: &str) -> Self {
        let wrap = |text: &str, letter: f64| wrap(text, (WIDTH / letter) as usize);
        Heading { title: wrap(title, TITLE_LETTER_WIDTH), what: wrap(what, TEXT_LETTER_WIDTH) }
    }

    /// The height of all lines, with the distance to what is below.
    pub(crate) fn height(&self) -> f64 {
        FIRST + LINE * (self.title.len() + self.what.len()) as f64
    }

    /// Draws the lines from `left` on.
    pub(crate) fn draw(&self, left: f64, drawn: &mut Drawing) {
        let lines = self.title.iter().map(|line| (" class=\"title\"", line));
        let lines = lines.chain(self.what.iter().map(|line| ("", line)));
        for (nth, (class, line)) in lines.enumerate() {
            let y = FIRST + LINE * nth as f64;
            drawn.line(format!("<text{class} x=\"{left}\" y=\"{y}\">{}</text>", escape(line)));
        }
    }
}

/// A text in lines of at most this many letters, broken between words.
fn wrap(text: &str, letters: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= letters {
            *line += " ";
            *line += word;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_between_words_and_loses_none() {
        assert_eq!(wrap("one two three", 13), ["one two three"]);
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one incomprehensibilities two", 7), ["one", "incomprehensibilities", "two"]);
        assert_eq!(wrap("", 7), [""]);
    }

    #[test]
    fn a_title_that_is_too_long_takes_a_line_more() {
        let one = Heading::new("a title", "a sentence").height();
        let two = Heading::new(&"title ".repeat(15), "a sentence").height();
        assert_eq!((one, two), (62.0, 82.0));
    }
}
