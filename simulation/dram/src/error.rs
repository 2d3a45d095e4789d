//! Errors of a caller.

use crate::place::Place;
use crate::units::Block;
use thiserror::Error;

/// An error of this crate.
#[derive(Debug, Error)]
pub enum DramError {
    /// The text is not TOML, or has a field too many or too few. The line is that of the field, or of the section that
    /// lacks it.
    #[error("the description of the memory cannot be read: line {line}{section}: {why}")]
    Unreadable {
        /// The line, from 1.
        line: usize,
        /// The section of the line, if there is one.
        section: String,
        /// The fault, with the field's name.
        why: String,
    },
    /// A value, or two of them together, are invalid.
    #[error("the specification of the memory is invalid: {0}")]
    Invalid(String),
    /// A block that the memory does not have.
    #[error("{block} is beyond the memory's {blocks} blocks")]
    NoSuchBlock {
        /// The requested block.
        block: Block,
        /// The number of blocks.
        blocks: u64,
    },
    /// A place that the memory does not have.
    #[error("the memory has no such place: {0}")]
    NoSuchPlace(Place),
    /// A tree that cannot be laid out.
    #[error("the tree cannot be laid out: {0}")]
    Layout(String),
}

impl DramError {
    /// Says where a text is not the description of a memory, and why.
    pub(crate) fn unreadable(text: &str, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let before = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
        let is_head = |line: &&str| line.trim_start().starts_with('[');
        let head = text.lines().take(before + 1).filter(is_head).last();
        let section = head.map_or(String::new(), |head| format!(" in section {}", head.trim()));
        let why = error.message().lines().collect::<Vec<_>>().join(": ");
        DramError::Unreadable { line: before + 1, section, why }
    }
}
