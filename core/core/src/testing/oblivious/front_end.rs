//! The observer of Freecursive ORAM's front end over a tree that has its own observer. It divides the trace into the
//! accesses of that tree, one for each path, and the pending steps between them.
//!
//! It is for a driver that is prompt or late, over a store that is ready at once. Each request then belongs to the next
//! path, or to the pending work before it.

use super::super::driver::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::observer::{Adversary, Observations, Observer, Pick, ShownLeaf, ensure};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

/// A step of the pending work between two paths. No other step is in flight during an access.
const STEP: Work = Work::Step(0);

/// The observer of a front end with this many paths per access; `tree` makes the observer of the tree. All paths are
/// checked. The observations are those of path number `shown` of each access. For every adversary, the reads identify
/// the paths here.
pub(super) fn observer(
    tree: impl Fn(Adversary) -> Box<dyn Observer>,
    (paths, shown): (u32, u32),
    adversary: Adversary,
) -> Box<dyn Observer> {
    Box::new(FrontEndObserver {
        tree: tree(Adversary::Full),
        weaker: (adversary != Adversary::Full).then(|| tree(adversary)),
        paths: paths as usize,
        shown: shown as usize,
        remaining: 0,
        is_first: false,
        current: None,
        observations: Observations::default(),
        copied: (0, 0),
    })
}

struct FrontEndObserver {
    /// The observer that knows what is due.
    tree: Box<dyn Observer>,
    /// The observer for an adversary that sees less.
    weaker: Option<Box<dyn Observer>>,
    /// The number of paths of an access.
    paths: usize,
    shown: usize,
    /// The number of paths of the batch in flight that are still to come.
    remaining: usize,
    /// True if no path of the batch has come.
    is_first: bool,
    /// The work of the tree that the access in flight is at.
    current: Option<CurrentWork>,
    observations: Observations,
    /// Leaves and choices of the tree's observations that were looked at.
    copied: (usize, usize),
}

#[derive(Clone, Copy, PartialEq)]
enum CurrentWork {
    Path,
    /// A step, which ends when it has written.
    Step {
        writes: bool,
    },
}

impl FrontEndObserver {
    /// Shows an event of the tree to its observers.
    fn show(&mut self, event: &Event) -> Result<(), String> {
        self.tree.observe(event)?;
        self.weaker.as_mut().map_or(Ok(()), |weaker| weaker.observe(event))
    }

    fn has_no_pending_steps(&mut self) -> bool {
        self.tree.observe(&Event::Pending { pending_steps: 0, must_step: false }).is_ok()
    }

    fn begin_path(&mut self) -> Result<(), String> {
        ensure(self.remaining > 0, || String::from("a path too many"))?;
        (self.remaining, self.is_first) = (self.remaining - 1, false);
        self.show(&Event::AccessBegins(1))
    }

    /// Finds the work that a request of the access belongs to.
    fn request(&mut self, entry: &TraceEntry) -> Result<(), String> {
        let writes = matches!(entry, TraceEntry::Write(_));
        while self.current.is_none() {
            ensure(self.remaining > 0, || format!("{entry:?} after the last path of a batch"))?;
            if !self.is_first && !self.has_no_pending_steps() {
                self.show(&Event::StepBegins(0))?;
                self.current = Some(CurrentWork::Step { writes });
                break;
            }
            self.begin_path()?;
            if writes {
                // The path shows nothing: no bucket of it was written before.
                self.show(&Event::Ends(Work::Access))?;
            } else {
                self.current = Some(CurrentWork::Path);
            }
        }
        let work = match &mut self.current {
            Some(CurrentWork::Step { writes: step_writes }) => {
                *step_writes = writes;
                STEP
            }
            _ => Work::Access,
        };
        self.show(&Event::StoreRequest(work, entry.clone()))
    }

    /// Ends the work whose last request was answered.
    fn answer(&mut self) -> Result<(), String> {
        let (work, ends) = match self.current {
            Some(CurrentWork::Path) => (Work::Access, true),
            Some(CurrentWork::Step { writes }) => (STEP, writes),
            None => return Err(String::from("an answer that no work waits for")),
        };
        self.show(&Event::StoreAnswer(work, 0))?;
        if ends {
            self.current = None;
            self.show(&Event::Ends(work))?;
        }
        Ok(())
    }

    /// Ends an access: the remaining paths show nothing, and no step is pending before them.
    fn end_access(&mut self) -> Result<(), String> {
        ensure(self.current.is_none(), || String::from("an access ended before its pending steps"))?;
        while self.remaining > 0 {
            let is_due = self.is_first || self.has_no_pending_steps();
            ensure(is_due, || format!("an access ended {} paths early", self.remaining))?;
            self.begin_path()?;
            self.show(&Event::Ends(Work::Access))?;
        }
        self.copy_observations();
        Ok(())
    }

    /// Records the tree's trace since the last time, for the observed paths and the pending work.
    fn copy_observations(&mut self) {
        let all = self.weaker.as_ref().unwrap_or(&self.tree).observations();
        let (paths, shown) = (self.paths, self.shown);
        // `None` for another path than those that are looked at.
        let access = |path: Option<usize>| match path {
            Some(path) if path % paths == shown => Some(Some(path / paths)),
            Some(_) => None,
            None => Some(None),
        };
        let leaves = all.leaves[self.copied.0..].iter();
        self.observations.leaves.extend(
            leaves.filter_map(|observed| Some(ShownLeaf { access: access(observed.access)?, ..*observed })),
        );
        let picks = all.picks[self.copied.1..].iter();
        self.observations.picks.extend(
            picks.filter_map(|observed| Some(Pick { access: access(observed.access)?, ..*observed })),
        );
        self.observations.totals.clone_from(&all.totals);
        self.copied = (all.leaves.len(), all.picks.len());
    }
}

impl Observer for FrontEndObserver {
    fn observe(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::AccessBegins(accesses) => {
                (self.remaining, self.is_first) = (accesses * self.paths, true);
                Ok(())
            }
            Event::StoreRequest(Work::Access, entry) => self.request(entry),
            Event::StoreAnswer(Work::Access, _) => self.answer(),
            Event::Ends(Work::Access) => self.end_access(),
            Event::Ends(Work::Step(_)) => {
                self.show(event)?;
                self.copy_observations();
                Ok(())
            }
            Event::Pending { .. }
            | Event::StepBegins(_)
            | Event::StoreRequest(..)
            | Event::StoreAnswer(..)
            | Event::ProcessorAction(..)
            | Event::Redraws { .. }
            | Event::Quiescent
            | Event::Recovers(_)
            | Event::Yields(_) => self.show(event),
        }
    }

    fn observations(&self) -> &Observations {
        &self.observations
    }
}
