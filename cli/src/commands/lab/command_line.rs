//! The command line of a run, for its report.

/// Returns the command line of this process in readable form.
pub(super) fn command_line() -> String {
    let quoted = |word: String| if word.contains(char::is_whitespace) { format!("'{word}'") } else { word };
    let words = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    ["ameles".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}
