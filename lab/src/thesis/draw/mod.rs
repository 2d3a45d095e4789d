//! Draws a job from a workload of COSBench.
//!
//! The works of a stage run at the same time, each with its workers. Workers send requests in *rounds*. In a round each
//! worker requests one operation, and the next round starts when all are answered. A work ends after a number of
//! operations or bytes, or after the seconds that it would take without an ORAM.

mod active_work;
mod store_timing;

pub use store_timing::StoreTiming;

use super::error::ThesisError;
use super::job::{Job, ObjectPart, Step};
use crate::cosbench::{Operation, OperationKind, Selector, Stage, Work, Workload};
use crate::sizes::{FolderError, Folders};
use crate::virtual_time::RequestKind;
use active_work::{ActiveWork, Selections, check_workers};
use rand_chacha::ChaCha12Rng;
use rand_core::SeedableRng;
use std::collections::BTreeMap;
use std::path::Path;
use store_timing::StageClock;

/// The maximum number of operations of a job.
const MAX_OPERATIONS: usize = 1_000_000;
/// The maximum number of bytes of all objects: 1 PiB.
const MAX_BYTES: u64 = 1 << 50;

impl Job {
    /// Draws the job of a workload: the stages up to the clean-up, with the sizes of the files that they write. The
    /// same seed draws the same job.
    ///
    /// # Errors
    /// An unknown folder; an object that was never written; [`ThesisError::Unsupported`].
    pub fn draw(
        workload: &Workload,
        folders: &Folders,
        seed: u64,
        timing: &StoreTiming,
    ) -> Result<Self, ThesisError> {
        let random = ChaCha12Rng::seed_from_u64(seed);
        let (files, objects) = (BTreeMap::new(), BTreeMap::new());
        let mut draft =
            JobDraft { folders, random, files, objects, bytes: 0, operations: 0, job: Job::default() };
        for stage in &workload.stages {
            let prepares = draft.job.prepared == draft.job.steps.len() && is_preparing(stage);
            draft.stage(stage, timing)?;
            if prepares {
                draft.job.prepared = draft.job.steps.len();
            }
        }
        if draft.job.steps.is_empty() {
            return Err(ThesisError::Unsupported("it reads and writes nothing: add a work that does".into()));
        }
        let Job { sizes, steps, .. } = &mut draft.job;
        // A part that fills an object's room is the whole object. A read without bytes is a question to the
        // catalogue.
        let is_whole = |step: &Step| {
            let bytes = step.bytes(sizes);
            bytes == sizes[step.object] && (step.writes || bytes > 0)
        };
        steps.iter_mut().filter(|step| is_whole(step)).for_each(|step| step.part = None);
        Ok(draft.job)
    }
}

/// Returns true if a stage is not measured: its name is `prepare`, or it only prepares objects.
fn is_preparing(stage: &Stage) -> bool {
    let prepares = |work: &Work| work.operations.iter().all(|operation| !moves_objects(operation.kind));
    stage.name == "prepare" || stage.works.iter().all(prepares)
}

/// A job that is being drawn.
struct JobDraft<'a> {
    folders: &'a Folders,
    random: ChaCha12Rng,
    /// The sizes of the files of each folder.
    files: BTreeMap<String, Vec<u64>>,
    /// The objects of each container that were ever written.
    objects: BTreeMap<(u64, u64), WrittenObject>,
    /// The number of bytes of all objects.
    bytes: u64,
    operations: usize,
    job: Job,
}

/// An object that was written.
#[derive(Clone, Copy)]
struct WrittenObject {
    number: usize,
    /// The present size of the object.
    bytes: u64,
    is_deleted: bool,
}

/// A request of a worker.
struct WorkerRequest {
    /// The step of the job; none if no scheme moves anything for it.
    step: Option<Step>,
    kind: RequestKind,
    bytes: u64,
}

impl JobDraft<'_> {
    fn stage(&mut self, stage: &Stage, timing: &StoreTiming) -> Result<(), ThesisError> {
        let mut works = Vec::new();
        for work in &stage.works {
            check_workers(work)?;
            match work.operations.as_slice() {
                [one] if one.kind == OperationKind::Prepare => self.prepare(work, one)?,
                // These operations move no object, or follow after the figures are taken.
                [one] if !moves_objects(one.kind) => {}
                _ => works.push(ActiveWork::new(work, self.selections(work)?)),
            }
        }
        let all = works.iter().map(|work| work.workers(std::time::Duration::ZERO)).sum();
        let mut clock = StageClock::new(timing, all);
        loop {
            let (first_step, mut requests) = (self.job.steps.len(), Vec::new());
            for work in &mut works {
                for worker in 0..work.workers(clock.now()) {
                    let (operation, selections) = work.next(&mut self.random);
                    let WorkerRequest { step, kind, bytes } =
                        self.operation(operation, selections, worker)?;
                    work.move_bytes(bytes);
                    requests.push((kind, bytes));
                    let is_concurrent = self.job.steps.len() > first_step;
                    self.job.steps.extend(step.map(|step| Step { is_concurrent, ..step }));
                }
            }
            if requests.is_empty() {
                return Ok(());
            }
            clock.round(requests.into_iter());
        }
    }

    fn selections(&mut self, work: &Work) -> Result<Vec<Selections>, ThesisError> {
        let of = |operation: &Operation| {
            let files = match &operation.files {
                Some(path) => self.files_at(path)?.len(),
                None => 0,
            };
            Selections::new(work, operation, files)
        };
        work.operations.iter().map(of).collect()
    }

    fn operation(
        &mut self,
        operation: &Operation,
        with: &mut Selections,
        worker: usize,
    ) -> Result<WorkerRequest, ThesisError> {
        self.count()?;
        let container = with.container(worker, &mut self.random);
        match operation.kind {
            OperationKind::Read => {
                let object = with.object(worker, &mut self.random);
                self.read(container, object)
            }
            OperationKind::Write => {
                let object = with.object(worker, &mut self.random);
                let bytes = with.bytes(operation, &mut self.random);
                self.write((container, object), bytes)
            }
            OperationKind::FileWrite => {
                let file = with.file(&mut self.random);
                let path = operation.files.as_deref().unwrap_or_default();
                let bytes = self.files_at(path)?[file as usize - 1];
                self.write((container, file), bytes)
            }
            OperationKind::Delete => {
                let object = with.object(worker, &mut self.random);
                if let Some(object) = self.objects.get_mut(&(container, object)) {
                    object.is_deleted = true;
                }
                Ok(WorkerRequest { step: None, kind: RequestKind::Put, bytes: 0 })
            }
            OperationKind::List => {
                let any = self.objects.range((container, 0)..=(container, u64::MAX)).next();
                Ok(catalogue_request(any.map(|(_, object)| object.number)))
            }
            other => {
                let why = format!("an operation {} among others: leave it out", other.name());
                Err(ThesisError::Unsupported(why))
            }
        }
    }

    /// Writes each object of each container once.
    fn prepare(&mut self, work: &Work, operation: &Operation) -> Result<(), ThesisError> {
        let count = |selector: &Option<Selector>| match selector {
            Some(Selector::Range(min, max) | Selector::Sequence(min, max)) => Ok(max - min),
            Some(Selector::Constant(_)) => Ok(0),
            _ => {
                Err(ThesisError::Unsupported("a work prepare takes r(a,b) for containers and objects".into()))
            }
        };
        let (containers, objects) = (count(&operation.containers)?, count(&operation.objects)?);
        // Each pair comes once, from any worker.
        let mut with = Selections::new(&Work { workers: 1, ..work.clone() }, operation, 0)?;
        let mut written = 0;
        for _ in 0..=containers {
            let container = with.container(0, &mut self.random);
            for _ in 0..=objects {
                self.count()?;
                let object = with.object(0, &mut self.random);
                let bytes = with.bytes(operation, &mut self.random);
                let WorkerRequest { step, .. } = self.write((container, object), bytes)?;
                let is_concurrent = written % work.workers > 0;
                self.job.steps.extend(step.map(|step| Step { is_concurrent, ..step }));
                written += 1;
            }
        }
        Ok(())
    }

    /// Reads an object. For a deleted one the store answers that it does not exist.
    fn read(&mut self, container: u64, object: u64) -> Result<WorkerRequest, ThesisError> {
        let found = self.objects.get(&(container, object));
        let found = found.ok_or(ThesisError::NoObject { container, object })?;
        if found.is_deleted {
            return Ok(catalogue_request(Some(found.number)));
        }
        let WrittenObject { number, bytes, .. } = *found;
        Ok(WorkerRequest { step: Some(first_bytes(false, number, bytes)), kind: RequestKind::Get, bytes })
    }

    /// Writes an object: a new one, or one that is there already in its place.
    fn write(&mut self, key: (u64, u64), bytes: u64) -> Result<WorkerRequest, ThesisError> {
        let next = self.job.sizes.len();
        let object =
            self.objects.entry(key).or_insert(WrittenObject { number: next, bytes, is_deleted: false });
        (object.bytes, object.is_deleted) = (bytes, false);
        let number = object.number;
        if number == next {
            self.job.sizes.push(0);
        }
        // An object's room is that of its greatest size.
        let more = bytes.saturating_sub(self.job.sizes[number]);
        self.job.sizes[number] += more;
        self.bytes = self.bytes.saturating_add(more);
        if self.bytes > MAX_BYTES {
            let why = "its objects have more than 1 PiB: write fewer or smaller ones".to_owned();
            return Err(ThesisError::Unsupported(why));
        }
        Ok(WorkerRequest { step: Some(first_bytes(true, number, bytes)), kind: RequestKind::Put, bytes })
    }

    /// Counts an operation.
    fn count(&mut self) -> Result<(), ThesisError> {
        self.operations += 1;
        if self.operations > MAX_OPERATIONS {
            let why = format!(
                "it has more than {MAX_OPERATIONS} operations, or no end that they reach: end its works earlier, by totalOps"
            );
            return Err(ThesisError::Unsupported(why));
        }
        Ok(())
    }

    /// The sizes of the files of a folder: drawn at the first use, or those of an existing folder.
    fn files_at(&mut self, path: &str) -> Result<&[u64], ThesisError> {
        if !self.files.contains_key(path) {
            let sizes = match self.folders.folder(path) {
                Ok(folder) => folder.draw(&mut self.random),
                Err(unknown) => sizes_of_files(Path::new(path), unknown)?,
            };
            self.files.insert(path.to_owned(), sizes);
        }
        Ok(&self.files[path])
    }
}

/// A request that moves no bytes: an ORAM's catalogue answers it.
fn catalogue_request(object: Option<usize>) -> WorkerRequest {
    WorkerRequest {
        step: object.map(|object| first_bytes(false, object, 0)),
        kind: RequestKind::Get,
        bytes: 0,
    }
}

/// A step that moves the first `bytes` bytes of an object's room.
fn first_bytes(writes: bool, object: usize, bytes: u64) -> Step {
    Step { part: Some(ObjectPart { first: 0, bytes }), ..Step::whole(writes, object) }
}

/// The sizes of the files of a folder of this machine, in the order of their names.
fn sizes_of_files(path: &Path, unknown: FolderError) -> Result<Vec<u64>, ThesisError> {
    if !path.is_dir() {
        let why = format!("{unknown}; and there is no folder {} on this machine", path.display());
        return Err(ThesisError::Unsupported(why));
    }
    let unreadable = |error| ThesisError::File(path.to_owned(), error);
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let about = entry.metadata().map_err(unreadable)?;
        if about.is_file() {
            files.insert(entry.file_name(), about.len());
        }
    }
    if files.is_empty() {
        let why = format!("the folder {} has no files: put some in", path.display());
        return Err(ThesisError::Unsupported(why));
    }
    Ok(files.into_values().collect())
}

fn moves_objects(kind: OperationKind) -> bool {
    use OperationKind::*;
    matches!(kind, Read | Write | FileWrite | List | Delete)
}

#[cfg(test)]
mod tests;
