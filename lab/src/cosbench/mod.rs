//! Workloads of COSBench, a benchmark of object stores: a reader of its XML.
//!
//! The format is that of COSBench's user guide and of its own examples: stages of works, works of operations, and
//! configurations such as `containers=c(1);objects=u(1,10);sizes=c(64)KB`. A file that COSBench would misunderstand
//! is refused with the line and what to do. A trigger, which starts a program of the machine, is read and not run.

mod config;
mod error;
mod reader;
mod selector;
mod work_reader;
mod workload;

pub use config::Config;
pub use error::{CosbenchError, Problem};
pub use selector::{Selection, Selector, SelectorError, SizeSelector};
pub use workload::{Division, FileOrder, Limit, Operation, OperationKind, Service, Stage, Work, Workload};

#[cfg(test)]
mod tests;
