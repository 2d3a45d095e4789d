//! Errors of a caller.

use crate::place::Place;
use crate::units::Block;
use thiserror::Error;

/// An error of this crate.
#[derive(Debug, Error)]
pub enum DramError {
    /// The text is no TOML, or has a key too many or too few.
    #[error("the description of the memory cannot be read: {0}")]
    Unreadable(#[from] toml::de::Error),
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
