//! The settings of a recording, as QEMU hands them over: `key=value` each.

use std::path::PathBuf;

/// The misses that are recorded unless a number is given, as in IR-ORAM.
const MISSES: u64 = 2_000_000;

/// The settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The file of the trace.
    pub out: PathBuf,
    /// The number of instructions before the recording begins; the caches are warm by then.
    pub skip: u64,
    /// The number of records, without the warm-up, after which the program is ended; 0 for no end.
    pub misses: u64,
}

/// The reason why settings are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// There is no such setting.
    #[error("{0:?} is not a setting: write out=FILE, skip=INSTRUCTIONS, misses=NUMBER")]
    Unknown(String),
    /// A value is not a number.
    #[error("{key}={value} is not a number: write for example {key}=1000000")]
    Number {
        /// The setting.
        key: &'static str,
        /// The value of the setting.
        value: String,
    },
    /// There is no file to write.
    #[error("the name of the output is missing: write out=FILE")]
    NoFile,
}

impl Settings {
    /// Reads the settings.
    ///
    /// # Errors
    /// [`SettingsError`] for the first invalid setting.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, SettingsError> {
        let (mut out, mut skip, mut misses) = (None, 0, MISSES);
        for word in words {
            let unknown = || SettingsError::Unknown(word.to_owned());
            let (key, value) = word.split_once('=').ok_or_else(unknown)?;
            let number =
                |key| value.parse().map_err(|_| SettingsError::Number { key, value: value.to_owned() });
            match key {
                "out" => out = Some(PathBuf::from(value)).filter(|_| !value.is_empty()),
                "skip" => skip = number("skip")?,
                "misses" => misses = number("misses")?,
                _ => return Err(unknown()),
            }
        }
        Ok(Settings { out: out.ok_or(SettingsError::NoFile)?, skip, misses })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_wrong_ones_refused() {
        let read = |words: &[&str]| Settings::parse(words.iter().copied());
        let usual = Settings { out: "a.trace".into(), skip: 0, misses: MISSES };
        assert_eq!(read(&["out=a.trace"]), Ok(usual.clone()));
        assert_eq!(
            read(&["skip=5", "out=a.trace", "misses=7"]),
            Ok(Settings { skip: 5, misses: 7, ..usual })
        );
        for (words, why) in [
            (&["out=a", "jump=5"][..], "\"jump=5\" is not a setting"),
            (&["out"], "\"out\" is not a setting"),
            (&["out=a", "skip=five"], "skip=five is not a number: write for example skip=1000000"),
            (&["misses=-1", "out=a"], "misses=-1 is not a number"),
            (&["skip=5"], "the name of the output is missing"),
            (&["out="], "the name of the output is missing"),
        ] {
            let error = read(words).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
