//! The configurations of COSBench: pairs of keys and values.

use super::error::Problem;
use std::collections::BTreeMap;

/// The pairs of a configuration, `key=value;key=value`. White space around keys and values does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config(BTreeMap<String, String>);

impl Config {
    /// Reads the pairs.
    ///
    /// # Errors
    /// [`Problem::Pair`], for a part that has no key.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let pair = |part: &str| match part.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                Ok((key.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(Problem::Pair { part: part.to_owned() }),
        };
        let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
        parts.map(pair).collect::<Result<_, _>>().map(Config)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The keys, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns these pairs, and those of `outer` whose keys are not among them.
    pub fn over(&self, outer: &Config) -> Config {
        let mut both = outer.0.clone();
        both.extend(self.0.clone());
        Config(both)
    }
}
