//! The requests of a Git server, as they were recorded: `workloads/git.csv`, which `workloads/record_git.py` writes.

use crate::thesis::error::ThesisError;
use crate::thesis::job::{Job, ObjectPart, Step};

/// The four steps, in their order.
pub(super) const STEPS: [&str; 4] = ["push-repository", "clone", "push-commit", "pull-commit"];

/// The first line that is not a remark.
const COLUMNS: &str = "step,verb,object,size,together,ranges";

/// The number of bytes to which the first bytes of a run of ranges are rounded down.
const PAGE_BYTES: u64 = 4096;

/// The digits of pages.
const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The requests of a step, and the bytes of the objects that they move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StepTraffic {
    pub(super) requests: u64,
    pub(super) up: u64,
    pub(super) down: u64,
}

/// A recording.
#[derive(Debug)]
pub(super) struct Trace {
    /// The job. The end of each step is a timed step of the job.
    pub(super) job: Job,
    /// The sums of the steps.
    pub(super) traffic_by_step: [StepTraffic; 4],
    /// The sums as in the head of the recording.
    pub(super) stated: [StepTraffic; 4],
}

impl Trace {
    /// Reads a recording.
    ///
    /// # Errors
    /// [`ThesisError::Trace`] with the first line that is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, ThesisError> {
        let job = Job { timed_steps: vec![0; 4], ..Job::default() };
        let mut trace =
            Trace { job, traffic_by_step: [StepTraffic::default(); 4], stated: [StepTraffic::default(); 4] };
        let (mut latest, mut has_columns) = (0, false);
        for (line, text) in (1..).zip(text.lines()) {
            let wrong = |why: String| ThesisError::Trace { line, why };
            match text.strip_prefix('#') {
                Some(comment) => trace.read_comment(comment).map_err(wrong)?,
                None if !has_columns && text == COLUMNS => has_columns = true,
                None if !has_columns => return Err(wrong(format!("write {COLUMNS:?} here"))),
                None => latest = trace.read_requests(text, latest).map_err(wrong)?,
            }
        }
        Ok(trace)
    }

    /// Reads a sum such as `# sum clone 12 requests 0 up 345 down`; other comments are ignored.
    fn read_comment(&mut self, comment: &str) -> Result<(), String> {
        if let ["sum", step, requests, "requests", up, "up", down, "down"] =
            comment.split_whitespace().collect::<Vec<_>>().as_slice()
        {
            self.stated[step_index(step)?] = StepTraffic {
                requests: parse_number(requests)?,
                up: parse_number(up)?,
                down: parse_number(down)?,
            };
        }
        Ok(())
    }

    /// Reads a line of requests, which must not belong to a step before the latest one. Returns its step.
    fn read_requests(&mut self, line: &str, latest: usize) -> Result<usize, String> {
        let [step, verb, object, size, together, ranges] = line.split(',').collect::<Vec<_>>()[..] else {
            return Err(format!("write six fields with commas between them: {COLUMNS}"));
        };
        let (step_index, size, together) =
            (step_index(step)?, parse_number(size)?, parse_number(together)?.max(1) as usize);
        if step_index < latest {
            return Err(format!("{step} comes after {}: write the steps in their order", STEPS[latest]));
        }
        let writes = match verb {
            "PUT" => true,
            "GET" | "HEAD" => false,
            _ => return Err(format!("the verb {verb:?} is unknown: write GET, PUT or HEAD")),
        };
        let object = if object.is_empty() { None } else { Some(self.object(parse_number(object)?, size)?) };
        let mut parts = Vec::new();
        ranges.split(' ').try_for_each(|range| read_range(range, size, &mut parts))?;
        for (at, part) in parts.into_iter().enumerate() {
            let traffic = &mut self.traffic_by_step[step_index];
            traffic.requests += 1;
            *(if writes { &mut traffic.up } else { &mut traffic.down }) += part.bytes;
            let (object, is_concurrent) = (object.unwrap_or(0), !writes && at % together > 0);
            // A write replaces the object, which may become smaller than its room.
            let part = if writes { ObjectPart { first: 0, bytes: size } } else { part };
            self.job.steps.push(Step { writes, object, part: Some(part), is_concurrent });
        }
        let done = self.job.steps.len();
        self.job.timed_steps[step_index..].fill(done);
        Ok(step_index)
    }

    /// The index of an object, whose room is that of its greatest size.
    fn object(&mut self, parse_number: u64, size: u64) -> Result<usize, String> {
        let sizes = &mut self.job.sizes;
        let object = parse_number as usize;
        if object > sizes.len() {
            return Err(format!("object {parse_number} comes before object {}", sizes.len()));
        }
        if object == sizes.len() {
            sizes.push(0);
        }
        sizes[object] = sizes[object].max(size);
        Ok(object)
    }
}

/// Reads `first+bytes`, or `bytes@pages`: ranges of `bytes` bytes, each with its page in two digits.
fn read_range(range: &str, size: u64, parts: &mut Vec<ObjectPart>) -> Result<(), String> {
    if let Some((bytes, pages)) = range.split_once('@') {
        let bytes = parse_number(bytes)?;
        for page in pages.as_bytes().chunks(2) {
            let digit = |step_index: usize| {
                let found = page.get(step_index).and_then(|digit| DIGITS.find(char::from(*digit)));
                found.ok_or_else(|| format!("the pages of {bytes}@ are not of two digits each"))
            };
            let first = (digit(0)? * DIGITS.len() + digit(1)?) as u64 * PAGE_BYTES;
            parts.push(check_range(ObjectPart { first, bytes }, size)?);
        }
        return Ok(());
    }
    let (first, bytes) = range.split_once('+').ok_or_else(|| format!("{range:?} is not first+bytes"))?;
    parts.push(check_range(ObjectPart { first: parse_number(first)?, bytes: parse_number(bytes)? }, size)?);
    Ok(())
}

/// Returns the part, if it lies within the object's `size` bytes.
fn check_range(part: ObjectPart, size: u64) -> Result<ObjectPart, String> {
    match part.first.checked_add(part.bytes) {
        Some(end) if end <= size => Ok(part),
        _ => Err(format!("{}+{} ends after the {size} bytes of the object", part.first, part.bytes)),
    }
}

fn step_index(step: &str) -> Result<usize, String> {
    let found = STEPS.iter().position(|known| *known == step);
    found.ok_or_else(|| format!("the step {step:?} is unknown: write one of {}", STEPS.join(", ")))
}

fn parse_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number"))
}
