//! The job of a workload: which objects are written and read, in which order. It is drawn once, and every scheme
//! does it.

use super::error::ThesisError;
use crate::cosbench::{FileOrder, Operation, OperationKind, Selection, Selector, Work, Workload};
use crate::sizes::Folders;
use rand_chacha::ChaCha12Rng;
use rand_core::{RngCore, SeedableRng};
use std::collections::BTreeMap;
use std::ops::Range;

/// The steps of a job with `quick`.
pub(super) const QUICK_STEPS: usize = 30;

/// Reads and writes of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// The size of each object, in bytes.
    pub sizes: Vec<u64>,
    /// The steps, one after the other.
    pub steps: Vec<Step>,
    /// The first steps, which prepare objects: time is not taken before they are done.
    pub prepared: usize,
    /// The numbers of steps after which an instant is noted, at most four.
    pub ends: Vec<usize>,
}

/// A step of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// True if the object is written, false if it is read.
    pub writes: bool,
    /// The number of the object.
    pub object: usize,
    /// The part of the object; none is all of it.
    pub part: Option<ObjectPart>,
    /// True if it is asked for together with the step before it, which is of the same kind.
    pub beside: bool,
}

/// A part of an object. It may have no bytes: then a store is asked, and an ORAM's catalogue answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectPart {
    /// The first byte.
    pub first: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl Step {
    /// A write or read of a whole object, after the step before it.
    pub fn whole(writes: bool, object: usize) -> Self {
        Step { writes, object, part: None, beside: false }
    }

    /// The blocks that hold what the step moves, of an object that lies in these blocks.
    pub(super) fn blocks(&self, place: &Range<u64>, payload: u64) -> Range<u64> {
        let Some(part) = self.part else { return place.clone() };
        if part.bytes == 0 {
            return place.start..place.start;
        }
        let block = |byte: u64| place.start + byte / payload;
        block(part.first)..place.end.min(block(part.first + part.bytes - 1) + 1)
    }
}

impl Job {
    /// Draws the job of a workload: the stages up to the clean-up, with the sizes of the files that they write. The
    /// same seed draws the same job.
    ///
    /// # Errors
    /// An unknown folder; an object that was never written; [`ThesisError::Unsupported`].
    pub fn draw(workload: &Workload, folders: &Folders, seed: u64) -> Result<Self, ThesisError> {
        let random = ChaCha12Rng::seed_from_u64(seed);
        let mut draft =
            Draft { folders, random, files: BTreeMap::new(), objects: BTreeMap::new(), job: Job::default() };
        for stage in &workload.stages {
            let prepares = draft.job.prepared == draft.job.steps.len() && stage.name == "prepare";
            stage.works.iter().try_for_each(|work| draft.work(work))?;
            if prepares {
                draft.job.prepared = draft.job.steps.len();
            }
        }
        Ok(draft.job)
    }

    /// The steps in groups that are asked for together, each with the number of steps up to its first and to its end.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&[Step], Range<usize>)> {
        let mut end = 0;
        self.steps.chunk_by(|_, next| next.beside).map(move |group| {
            let begin = end;
            end += group.len();
            (group, begin..end)
        })
    }

    /// Cuts the job off after so many steps.
    pub fn truncate(&mut self, steps: usize) {
        self.steps.truncate(steps);
        self.prepared = self.prepared.min(steps);
        self.ends.iter_mut().for_each(|end| *end = steps.min(*end));
    }
}

/// A job that is being drawn.
struct Draft<'a> {
    folders: &'a Folders,
    random: ChaCha12Rng,
    /// The sizes of the files of each folder.
    files: BTreeMap<String, Vec<u64>>,
    /// The objects of each container that were written.
    objects: BTreeMap<(u64, u64), usize>,
    job: Job,
}

/// The selections of an operation, which go on from one time to the next.
struct Selections {
    containers: Selection,
    objects: Selection,
    sizes: Selection,
    files: Selection,
}

impl Draft<'_> {
    fn work(&mut self, work: &Work) -> Result<(), ThesisError> {
        match work.operations.as_slice() {
            [one] if one.kind == OperationKind::Prepare => return self.prepare(one),
            // These move no object, or come after the figures are taken.
            [one] if !moves_objects(one.kind) => return Ok(()),
            _ => {}
        }
        if work.workers > 1 {
            let why = format!("the work {:?} has {} workers: give it one", work.name, work.workers);
            return Err(ThesisError::Unsupported(why));
        }
        if work.limit.operations == 0 {
            let why = format!("the work {:?} has no totalOps: give it some", work.name);
            return Err(ThesisError::Unsupported(why));
        }
        let mut selections = work
            .operations
            .iter()
            .map(|operation| self.selections(operation))
            .collect::<Result<Vec<_>, _>>()?;
        for _ in 0..work.limit.operations {
            let mut left = self.random.next_u64() % 100;
            let nth = work.operations.iter().position(|operation| {
                let is_it = left < operation.ratio;
                left = left.saturating_sub(operation.ratio);
                is_it
            });
            let nth = nth.unwrap_or(0);
            self.operation(&work.operations[nth], &mut selections[nth])?;
        }
        Ok(())
    }

    /// The selections of an operation, from their beginning.
    fn selections(&mut self, operation: &Operation) -> Result<Selections, ThesisError> {
        let of =
            |selector: &Option<Selector>| Selection::new(selector.clone().unwrap_or(Selector::Constant(1)));
        let last = match &operation.files {
            Some(path) => self.files_at(path)?.len().max(1) as u64,
            None => 1,
        };
        let files = match operation.file_order {
            FileOrder::Sequence => Selector::Sequence(1, last),
            FileOrder::Uniform => Selector::Uniform(1, last),
        };
        Ok(Selections {
            containers: of(&operation.containers),
            objects: of(&operation.objects),
            sizes: of(&operation.sizes.as_ref().map(|sizes| sizes.selector.clone())),
            files: Selection::new(files),
        })
    }

    fn operation(&mut self, operation: &Operation, with: &mut Selections) -> Result<(), ThesisError> {
        let container = with.containers.draw(&mut self.random);
        match operation.kind {
            OperationKind::Read => {
                let object = with.objects.draw(&mut self.random);
                let found = self.objects.get(&(container, object)).copied();
                let object = found.ok_or(ThesisError::NoObject { container, object })?;
                self.job.steps.push(Step::whole(false, object));
            }
            OperationKind::Write => {
                let object = with.objects.draw(&mut self.random);
                let units = with.sizes.draw(&mut self.random);
                self.write((container, object), units * unit_bytes(operation));
            }
            OperationKind::FileWrite => {
                let file = with.files.draw(&mut self.random);
                let path = operation.files.as_deref().unwrap_or_default();
                let size = self.files_at(path)?[file as usize - 1];
                self.write((container, file), size);
            }
            OperationKind::Delete => {
                let object = with.objects.draw(&mut self.random);
                self.objects.remove(&(container, object));
            }
            other => {
                let why = format!("an operation {} among others: leave it out", other.name());
                return Err(ThesisError::Unsupported(why));
            }
        }
        Ok(())
    }

    /// Writes each object of each container once.
    fn prepare(&mut self, operation: &Operation) -> Result<(), ThesisError> {
        let mut with = self.selections(operation)?;
        let count = |selector: &Option<Selector>| match selector {
            Some(Selector::Range(least, most) | Selector::Sequence(least, most)) => Ok(most - least + 1),
            Some(Selector::Constant(_)) => Ok(1),
            _ => {
                Err(ThesisError::Unsupported("a work prepare takes r(a,b) for containers and objects".into()))
            }
        };
        let (containers, objects) = (count(&operation.containers)?, count(&operation.objects)?);
        for _ in 0..containers {
            let container = with.containers.draw(&mut self.random);
            for _ in 0..objects {
                let object = with.objects.draw(&mut self.random);
                let units = with.sizes.draw(&mut self.random);
                self.write((container, object), units * unit_bytes(operation));
            }
        }
        Ok(())
    }

    /// Writes an object: a new one, or one that is there already in its place.
    fn write(&mut self, key: (u64, u64), size: u64) {
        let next = self.job.sizes.len();
        let object = *self.objects.entry(key).or_insert(next);
        if object == next {
            self.job.sizes.push(0);
        }
        // An object's room is that of its greatest size.
        self.job.sizes[object] = self.job.sizes[object].max(size);
        self.job.steps.push(Step::whole(true, object));
    }

    /// The sizes of the files of a folder, drawn when they are first wanted.
    fn files_at(&mut self, path: &str) -> Result<&[u64], ThesisError> {
        if !self.files.contains_key(path) {
            let sizes = self.folders.at(path)?.draw(&mut self.random);
            self.files.insert(path.to_owned(), sizes);
        }
        Ok(&self.files[path])
    }
}

fn moves_objects(kind: OperationKind) -> bool {
    matches!(
        kind,
        OperationKind::Read | OperationKind::Write | OperationKind::FileWrite | OperationKind::Delete
    )
}

fn unit_bytes(operation: &Operation) -> u64 {
    operation.sizes.as_ref().map_or(1, |sizes| sizes.unit_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::workloads;
    use super::*;

    fn job(letter: &str, seed: u64) -> Job {
        let workload = workloads::read(letter).unwrap().1;
        Job::draw(&workload, &workloads::folders(), seed).unwrap()
    }

    #[test]
    fn the_same_seed_draws_the_same_job() {
        assert_eq!(job("A", 1), job("A", 1));
        assert_ne!(job("A", 1), job("A", 2));
    }

    #[test]
    fn the_workloads_read_and_write_as_often_as_they_say() {
        for (letter, reads) in [("A", 40.0), ("B", 90.0), ("C", 10.0), ("D", 80.0), ("E", 59.0)] {
            let seeds = 0..40;
            let all: usize = seeds
                .map(|seed| {
                    let job = job(letter, seed);
                    assert_eq!((job.steps.len(), job.prepared), (110, 10));
                    assert!(job.steps[..10].iter().all(|step| step.writes));
                    job.steps.iter().filter(|step| !step.writes).count()
                })
                .sum();
            let mean = all as f64 / 40.0;
            assert!((mean - reads).abs() < 3.0, "{letter}: {mean}");
        }
    }

    #[test]
    fn an_object_that_was_never_written_is_not_read() {
        let text = include_str!("../../workloads/a.xml").replace("objects=u(1,10)", "objects=c(11)");
        let workload = Workload::parse(&text).unwrap();
        let error = Job::draw(&workload, &workloads::folders(), 1).unwrap_err().to_string();
        assert!(error.contains("object 11 of container 1"), "{error}");
    }
}
