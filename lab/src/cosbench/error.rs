//! The errors of the reader.

use super::selector::SelectorError;

/// The reason why a workload is refused, and the line that is to be changed.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct CosbenchError {
    /// The line, from 1.
    pub line: u32,
    /// The fault on that line.
    pub problem: Problem,
}

/// A fault of a workload, and what to do about it.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// The text is not XML.
    #[error("this is not XML: {0}")]
    Xml(String),
    /// An element that the format does not have there.
    #[error("<{name}> is unknown in {within}: write {known}")]
    Element {
        /// The unexpected element.
        name: String,
        /// The element around it.
        within: String,
        /// The elements that are allowed there.
        known: String,
    },
    /// An attribute that the format does not have.
    #[error("the attribute {name:?} of <{element}> is unknown: it takes {known}")]
    Attribute {
        /// The attribute.
        name: String,
        /// The element that has the attribute.
        element: String,
        /// The attributes that exist.
        known: String,
    },
    /// An attribute or element that must be there.
    #[error("<{element}> has no {missing}: add it")]
    Missing {
        /// The element.
        element: String,
        /// The missing part.
        missing: &'static str,
    },
    /// A value that is not a number, or out of range.
    #[error("{name}={value:?} is not a whole number from {min} to {max}")]
    Number {
        /// The attribute.
        name: &'static str,
        /// The value of the attribute.
        value: String,
        /// The smallest valid value.
        min: u64,
        /// The largest valid value.
        max: u64,
    },
    /// A value that is not one of the valid ones.
    #[error("{name}={value:?} is unknown: choose {known}")]
    Choice {
        /// The attribute or key.
        name: &'static str,
        /// The value of the attribute or key.
        value: String,
        /// The valid values.
        known: String,
    },
    /// A part of a configuration that is not `key=value`.
    #[error("{part:?} in a config is not key=value: write for example containers=c(1);objects=u(1,10)")]
    Pair {
        /// The part of the configuration, as it is written.
        part: String,
    },
    /// A key of a configuration that the operation does not know.
    #[error("{key:?} is unknown in the config of {operation}: it takes {known}")]
    Key {
        /// The key.
        key: String,
        /// The operation.
        operation: &'static str,
        /// The valid keys.
        known: String,
    },
    /// A key that an operation needs.
    #[error("the config of {operation} has no {key}: add for example {example}")]
    NoKey {
        /// The operation.
        operation: &'static str,
        /// The key.
        key: &'static str,
        /// The expected format.
        example: &'static str,
    },
    /// A selector that cannot be read.
    #[error("{key}: {reason}")]
    Selector {
        /// The key.
        key: &'static str,
        /// The fault of the selector.
        reason: SelectorError,
    },
    /// The ratios of a work's operations.
    #[error("the ratios of the operations of work {work:?} add up to {sum}: they must add up to 100")]
    Ratios {
        /// The work.
        work: String,
        /// The sum of the ratios.
        sum: u64,
    },
    /// A work that would never end.
    #[error("work {work:?} has no end: give it runtime, totalOps or totalBytes")]
    NoEnd {
        /// The work.
        work: String,
    },
}
