//! The words and names that the project does not use, and their replacements.

use anyhow::{Context, Result, bail};
use proc_macro2::{TokenStream, TokenTree};
use std::path::Path;

/// The list: a row for each word, with the place in which it is refused and its replacement.
const LIST: &str = "xtask/retired.tsv";
/// The endings of the files that have words to check.
const ENDINGS: [&str; 8] = [".rs", ".md", ".py", ".js", ".sv", ".html", ".css", ".toml"];

/// The place in which a word is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The word and its regular forms are refused anywhere: in prose, and as a part of an identifier.
    Word,
    /// The word is refused as a whole identifier or word.
    Name,
    /// The word is refused as an identifier of Rust, or as its first word. Comments and messages may use it.
    Code,
    /// The word is refused as the name of a source file, of its folder, or of a module.
    File,
}

/// A row of the list.
struct Retired {
    word: String,
    place: Place,
    replacement: String,
}

/// The list of retired words.
pub struct RetiredWords(Vec<Retired>);

impl RetiredWords {
    /// Reads the list.
    pub fn read() -> Result<Self> {
        let text = std::fs::read_to_string(LIST).with_context(|| format!("reading {LIST}"))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self> {
        let rows = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let retired = rows.map(|(nth, line)| {
            let columns: Vec<&str> = line.split('\t').collect();
            let [word, place, replacement] = columns[..] else {
                bail!("{LIST}:{}: expected a word, a place and a replacement, separated by tabs", nth + 1);
            };
            let place = match place {
                "word" => Place::Word,
                "name" => Place::Name,
                "code" => Place::Code,
                "file" => Place::File,
                _ => bail!("{LIST}:{}: `{place}` is not a place: write word, name, code or file", nth + 1),
            };
            Ok(Retired { word: word.into(), place, replacement: replacement.into() })
        });
        Ok(RetiredWords(retired.collect::<Result<_>>()?))
    }

    /// Returns whether a file has words to check.
    pub fn apply_to(file: &str) -> bool {
        file != LIST && ENDINGS.iter().any(|ending| file.ends_with(ending))
    }

    /// Returns the lines of a file that use a retired word, each with a message. Line 1 stands for the file's own name.
    pub fn find_in(&self, file: &str, lines: &[&str]) -> Vec<(usize, String)> {
        let in_path = path_names(file).filter_map(|name| Some((1, self.rule(Place::File, name)?)));
        let mut found: Vec<(usize, String)> = in_path.collect();
        for (nth, line) in lines.iter().enumerate() {
            found.extend(names(line).filter_map(|name| {
                let whole = self.rule(Place::Name, name);
                let part = || parts(name).find_map(|part| self.rule(Place::Word, &part));
                Some((nth + 1, whole.or_else(part)?))
            }));
        }
        if file.ends_with(".rs")
            && let Ok(tokens) = lines.join("\n").parse()
        {
            let mut in_code = Vec::new();
            identifiers(tokens, &mut in_code);
            let rule = |name: &str| self.rule(Place::Code, name.split('_').next()?);
            found.extend(in_code.iter().filter_map(|(line, name)| Some((*line, rule(name)?))));
        }
        found
    }

    fn rule(&self, place: Place, name: &str) -> Option<String> {
        let is_used = |row: &&Retired| match place {
            Place::Word => is_form(name, &row.word),
            _ => row.word == name,
        };
        let row = self.0.iter().filter(|row| row.place == place).find(is_used)?;
        Some(format!("`{}` is retired: say {}", row.word, row.replacement))
    }
}

/// Returns whether a name is a word, or the word with one of the regular endings.
fn is_form(name: &str, word: &str) -> bool {
    let (stem, endings) = match word.strip_suffix('e') {
        Some(stem) => (stem, ["e", "es", "ed", "ing"]),
        None => (word, ["", "s", "ed", "ing"]),
    };
    name.strip_prefix(stem).is_some_and(|ending| endings.contains(&ending))
}

/// Returns the identifiers and words of a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty())
}

/// Collects the identifiers of Rust code, with their lines.
fn identifiers(tokens: TokenStream, found: &mut Vec<(usize, String)>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => found.push((name.span().start().line, name.to_string())),
            TokenTree::Group(group) => identifiers(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Returns the names in the path of a source file: its folders and its own name without the ending.
fn path_names(file: &str) -> impl Iterator<Item = &str> {
    let is_source = file.ends_with(".rs");
    Path::new(file).iter().filter_map(move |part| {
        Some(part.to_str()?.split('.').next().unwrap_or_default()).filter(|_| is_source)
    })
}

/// Returns the words of an identifier in lower case: `read` and `page` for `ReadPage` and `read_page`.
fn parts(name: &str) -> impl Iterator<Item = String> {
    name.split('_').flat_map(|part| {
        let mut words: Vec<String> = Vec::new();
        let mut was_lower = false;
        for letter in part.chars() {
            if words.is_empty() || (letter.is_uppercase() && was_lower) {
                words.push(String::new());
            }
            was_lower = letter.is_lowercase();
            words.last_mut().expect("a word was pushed").extend(letter.to_lowercase());
        }
        words
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_retired_word_is_found_where_it_is_refused_and_nowhere_else() {
        let list =
            "# a comment\nolden\tword\tagain\nTurns\tname\tFifoLock\nmost\tcode\tmax\nbeside\tfile\tworker\n";
        let list = RetiredWords::parse(list).unwrap();
        let lines = [
            "fn write_olden() {}",
            "/// Written olden, beside it.",
            "struct WriteOlden(Turns);",
            "/// Turns are taken by `MyTurns`; renewed, oldenish.",
            "const BESIDE: Olden = beside;",
            "const A: u8 = most_blocks(\"most\"); // the most",
        ];
        let found =
            |file| -> Vec<usize> { list.find_in(file, &lines).into_iter().map(|(line, _)| line).collect() };
        assert_eq!(found("a/b.rs"), [1, 2, 3, 3, 4, 5, 6]);
        assert_eq!(found("a/beside/b.rs"), [1, 1, 2, 3, 3, 4, 5, 6]);
        assert!(!RetiredWords::apply_to("a.bin") && !RetiredWords::apply_to(LIST));
        assert!(RetiredWords::apply_to("a/b.rs"));
    }

    #[test]
    fn the_forms_of_a_retired_word_are_found_and_longer_words_are_not() {
        let list = RetiredWords::parse("olden\tword\tage\nstare\tword\tread\n").unwrap();
        for used in ["it oldens", "it_is_oldened", "Oldening", "it stares", "stared", "staring"] {
            assert_eq!(list.find_in("a.md", &[used]).len(), 1, "{used}");
        }
        for free in ["oldener", "star", "stars", "starer", "unstaring"] {
            assert_eq!(list.find_in("a.md", &[free]), [], "{free}");
        }
    }

    #[test]
    fn a_malformed_row_is_refused_with_its_line() {
        for (row, line) in [("olden\tword", "tsv:1"), ("\nolden\there\tagain", "tsv:2")] {
            let error = RetiredWords::parse(row).err().expect("refused").to_string();
            assert!(error.contains(line), "{error}");
        }
    }
}
