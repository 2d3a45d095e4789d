//! The digests of the traces that were recorded last, to compare new ones with: `digests.toml`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// SHA-256 of traces by their names, in hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Digests {
    /// Digests of the short traces.
    #[serde(default)]
    pub short: BTreeMap<String, String>,
    /// Digests of the full-length traces.
    #[serde(default)]
    pub full: BTreeMap<String, String>,
}

/// The comparison of a trace with its stored digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The digests are equal.
    Same,
    /// The digests differ: the program or the emulator is another one, or it does not always do the same.
    Different,
    /// There is no stored digest.
    New,
}

impl Digests {
    /// Reads the digests.
    ///
    /// # Errors
    /// The fault of the text.
    pub fn read(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// The text of the file.
    ///
    /// # Errors
    /// The errors of TOML, none of which these maps have.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        let note = "# SHA-256 of the records of each trace, as `cargo xtask traces --keep` found them.\n\n";
        Ok(note.to_owned() + &toml::to_string(self)?)
    }

    /// The digests of the traces of one length.
    pub fn for_length(&mut self, is_full: bool) -> &mut BTreeMap<String, String> {
        if is_full { &mut self.full } else { &mut self.short }
    }
}

impl Comparison {
    /// Compares a digest with the stored one.
    pub fn of(digest: &str, kept: Option<&String>) -> Self {
        match kept {
            None => Comparison::New,
            Some(kept) if kept == digest => Comparison::Same,
            Some(_) => Comparison::Different,
        }
    }

    /// A word for a table.
    pub fn word(self) -> &'static str {
        match self {
            Comparison::Same => "as kept",
            Comparison::Different => "another",
            Comparison::New => "new",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_read_as_they_were_written_and_compared() {
        let mut digests = Digests::default();
        digests.for_length(false).insert("cc1".into(), "ab".into());
        digests.for_length(true).insert("cc1".into(), "cd".into());
        assert_eq!(Digests::read(&digests.to_toml().unwrap()).unwrap(), digests);
        let compared = |digest| Comparison::of(digest, digests.short.get("cc1"));
        assert_eq!([compared("ab"), compared("cd")], [Comparison::Same, Comparison::Different]);
        assert_eq!(Comparison::of("ab", None), Comparison::New);
    }
}
