//! The circumstances of a report.

/// The circumstances of a report, stated on its page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportMetadata {
    /// The title of its page.
    pub title: String,
    /// The paragraph below that: the source of the figures and their limits.
    pub introduction: String,
    /// The command that produced it.
    pub command: String,
    /// The version of the program.
    pub version: String,
    /// The choices, each with its name.
    pub facts: Vec<(String, String)>,
}
