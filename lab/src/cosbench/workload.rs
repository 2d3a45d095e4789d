//! A workload, as it was read.

use super::config::Config;
use super::selector::{Selector, SizeSelector};

/// A workload of COSBench.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The workload's name.
    pub name: String,
    /// The workload's description.
    pub description: String,
    /// The store, if the workload names one.
    pub storage: Option<Service>,
    /// The service that authenticates users of the store, if the workload names one.
    pub auth: Option<Service>,
    /// The stages, in sequence.
    pub stages: Vec<Stage>,
}

/// A store or a service of authentication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The service's type, such as `swift`.
    pub kind: String,
    /// The service's configuration, which only that service understands.
    pub config: Config,
}

/// A stage: works that are done at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The stage's name.
    pub name: String,
    /// The seconds to wait after the stage.
    pub closure_delay_seconds: u64,
    /// The store of this stage, if it differs from the store of the workload.
    pub storage: Option<Service>,
    /// The authentication service of this stage, if it differs from the service of the workload.
    pub auth: Option<Service>,
    /// The works.
    pub works: Vec<Work>,
}

/// A work: operations that some workers do.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// The work's name.
    pub name: String,
    /// The workers, each with one operation at a time.
    pub workers: u64,
    /// The division among the workers.
    pub division: Division,
    /// The end of the work.
    pub limit: Limit,
    /// The store of this work, if it differs from the store of the stage.
    pub storage: Option<Service>,
    /// The authentication service of this work, if it differs from the service of the stage.
    pub auth: Option<Service>,
    /// The operations, of which each is drawn by its ratio.
    pub operations: Vec<Operation>,
}

/// The end of a work: the first of these that is reached. 0 means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// The number of seconds.
    pub runtime_seconds: u64,
    /// The number of operations.
    pub operations: u64,
    /// The number of bytes moved.
    pub bytes: u64,
}

/// The division of a work among its workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Each worker does all of the work.
    None,
    /// Each worker has its own containers.
    Container,
    /// Each worker has its own objects.
    Object,
}

/// An operation, and which objects it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The operation's kind.
    pub kind: OperationKind,
    /// The share of this operation in the operations of the work, in per cent.
    pub ratio: u64,
    /// The containers.
    pub containers: Option<Selector>,
    /// The objects of a container.
    pub objects: Option<Selector>,
    /// The sizes of objects that are written.
    pub sizes: Option<SizeSelector>,
    /// The folder whose files are written.
    pub files: Option<String>,
    /// The order in which they are.
    pub file_order: FileOrder,
    /// All of its configuration.
    pub config: Config,
}

/// The order in which files of a folder are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOrder {
    /// The files in the order of their names.
    Sequence,
    /// Any of the files, uniformly.
    Uniform,
}

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Makes containers.
    Init,
    /// Writes each object once.
    Prepare,
    /// Reads an object.
    Read,
    /// Writes an object.
    Write,
    /// Writes a file of a folder.
    FileWrite,
    /// Lists a container.
    List,
    /// Deletes an object.
    Delete,
    /// Deletes each object once.
    Cleanup,
    /// Deletes containers.
    Dispose,
    /// Waits.
    Delay,
}

impl OperationKind {
    /// The kinds that COSBench has.
    pub(super) const ALL: [OperationKind; 10] = {
        use OperationKind::*;
        [Init, Prepare, Read, Write, FileWrite, List, Delete, Cleanup, Dispose, Delay]
    };

    /// The name of the kind, as the type of an operation.
    pub fn name(self) -> &'static str {
        match self {
            OperationKind::Init => "init",
            OperationKind::Prepare => "prepare",
            OperationKind::Read => "read",
            OperationKind::Write => "write",
            OperationKind::FileWrite => "filewrite",
            OperationKind::List => "list",
            OperationKind::Delete => "delete",
            OperationKind::Cleanup => "cleanup",
            OperationKind::Dispose => "dispose",
            OperationKind::Delay => "delay",
        }
    }

    /// The keys of its configuration that must be there, each with an example.
    pub(super) fn needs(self) -> &'static [(&'static str, &'static str)] {
        const CONTAINERS: (&str, &str) = ("containers", "containers=u(1,32)");
        const OBJECTS: (&str, &str) = ("objects", "objects=u(1,50)");
        const SIZES: (&str, &str) = ("sizes", "sizes=c(64)KB");
        match self {
            OperationKind::Init | OperationKind::Dispose | OperationKind::List => &[CONTAINERS],
            OperationKind::Prepare | OperationKind::Write => &[CONTAINERS, OBJECTS, SIZES],
            OperationKind::Read | OperationKind::Delete | OperationKind::Cleanup => &[CONTAINERS, OBJECTS],
            OperationKind::FileWrite => &[CONTAINERS, ("files", "files=sizes/A")],
            OperationKind::Delay => &[],
        }
    }

    /// Returns whether a work may have this kind as its type. It is then a single operation of this kind, which it does
    /// not name.
    pub(super) fn is_a_work(self) -> bool {
        use OperationKind::*;
        matches!(self, Init | Prepare | Cleanup | Dispose | Delay)
    }
}
