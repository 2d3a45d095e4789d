//! The output of a command, on standard output.
//!
//! A closed pipe or a full disk must not end a command half-way. The work is finished first, and then an error says
//! that the output could not be written.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};
use std::sync::OnceLock;

/// The first error of a write.
static FAILURE: OnceLock<std::io::Error> = OnceLock::new();

/// Writes a text.
pub fn write(text: Arguments<'_>) {
    if FAILURE.get().is_some() {
        return;
    }
    let mut output = std::io::stdout().lock();
    if let Err(error) = output.write_fmt(text).and_then(|()| output.flush()) {
        // Only the first error counts.
        let _ = FAILURE.set(error);
    }
}

/// Returns the error that lost output. A closed pipe does not count.
pub fn failure() -> Option<&'static std::io::Error> {
    FAILURE.get().filter(|error| error.kind() != ErrorKind::BrokenPipe)
}

/// Writes a line to standard error, if it can be written.
pub fn write_error(text: Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints a line to standard output.
macro_rules! print_line {
    () => { $crate::runtime::output::write(format_args!("\n")) };
    ($($text:tt)*) => { $crate::runtime::output::write(format_args!("{}\n", format_args!($($text)*))) };
}
pub(crate) use print_line;

/// Prints a line to standard error.
macro_rules! print_error {
    () => { $crate::runtime::output::write_error(format_args!("")) };
    ($($text:tt)*) => { $crate::runtime::output::write_error(format_args!($($text)*)) };
}
pub(crate) use print_error;
