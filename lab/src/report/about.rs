//! The circumstances of a report.

/// The circumstances of a report, which its page tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The title of its page.
    pub title: String,
    /// The paragraph below that: the source of the figures, and what they can say.
    pub introduction: String,
    /// The command that made it.
    pub command: String,
    /// The version of the program.
    pub version: String,
    /// The choices, each with its name.
    pub facts: Vec<(String, String)>,
}
