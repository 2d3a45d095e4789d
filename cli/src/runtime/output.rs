//! The answer of a command, on standard output.
//!
//! A reader that has gone, or a full disk, must end no command half-way: the work under way is done, and only then is
//! it said that the answer could not be written.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};
use std::sync::OnceLock;

/// The first failure to write.
static FAILURE: OnceLock<std::io::Error> = OnceLock::new();

/// Writes a text.
pub fn write(text: Arguments<'_>) {
    if FAILURE.get().is_some() {
        return;
    }
    let mut output = std::io::stdout().lock();
    if let Err(error) = output.write_fmt(text).and_then(|()| output.flush()) {
        // Only the first one counts.
        let _ = FAILURE.set(error);
    }
}

/// The reason why the answer was not written. A reader that has read enough and gone is no reason.
pub fn failure() -> Option<&'static std::io::Error> {
    FAILURE.get().filter(|error| error.kind() != ErrorKind::BrokenPipe)
}

/// Writes a line to standard error, if it can be written.
pub fn write_error(text: Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints a line that a command answers.
macro_rules! print_line {
    () => { $crate::runtime::output::write(format_args!("\n")) };
    ($($text:tt)*) => { $crate::runtime::output::write(format_args!("{}\n", format_args!($($text)*))) };
}
pub(crate) use print_line;

/// Prints a line on standard error.
macro_rules! print_error {
    () => { $crate::runtime::output::write_error(format_args!("")) };
    ($($text:tt)*) => { $crate::runtime::output::write_error(format_args!($($text)*)) };
}
pub(crate) use print_error;
