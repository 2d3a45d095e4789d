//! The front end of Freecursive ORAM over a tree with a watch of its own: the accesses of that tree, one for each path, and what
//! it owes between them.
//!
//! For a driver that is prompt or late, over a store that is ready at once: then each request belongs to the path that comes next,
//! or to what is owed before it.

use super::super::stage::{Event, Work};
use super::super::trace_store::TraceEntry;
use super::watch::{Adversary, Pick, ShownLeaf, Sights, Watch, ensure};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

/// A step of what is owed between two paths. No other step is in flight beside an access.
const STEP: Work = Work::Idle(0);

/// The watch over a front end with so many paths an access; `tree` gives that over the tree. All paths are checked; the sights are
/// those of the `shown`th of each access. Whatever the adversary sees, the reads tell here which path is which.
pub(super) fn watch(
    tree: impl Fn(Adversary) -> Box<dyn Watch>,
    (paths, shown): (u32, u32),
    adversary: Adversary,
) -> Box<dyn Watch> {
    Box::new(FrontEndWatch {
        tree: tree(Adversary::Full),
        eyes: (adversary != Adversary::Full).then(|| tree(adversary)),
        paths: paths as usize,
        shown: shown as usize,
        left: 0,
        is_first: false,
        doing: None,
        sights: Sights::default(),
        noted: (0, 0),
    })
}

struct FrontEndWatch {
    /// The watch that knows what is due.
    tree: Box<dyn Watch>,
    /// The watch of an adversary that sees less.
    eyes: Option<Box<dyn Watch>>,
    /// Paths of an access.
    paths: usize,
    shown: usize,
    /// Paths of the batch in flight that are still to come; true if none has come.
    left: usize,
    is_first: bool,
    /// The work of the tree that the access in flight is at.
    doing: Option<Doing>,
    sights: Sights,
    /// Leaves and choices of the tree's sights that were looked at.
    noted: (usize, usize),
}

#[derive(Clone, Copy, PartialEq)]
enum Doing {
    Path,
    /// A step, which ends when it has written.
    Step {
        writes: bool,
    },
}

impl FrontEndWatch {
    /// Shows an event of the tree to its watches.
    fn show(&mut self, event: &Event) -> Result<(), String> {
        self.tree.see(event)?;
        self.eyes.as_mut().map_or(Ok(()), |eyes| eyes.see(event))
    }

    fn is_settled(&mut self) -> bool {
        self.tree.see(&Event::Owes { owed: 0, must_step: false }).is_ok()
    }

    fn begin_path(&mut self) -> Result<(), String> {
        ensure(self.left > 0, || String::from("a path too many"))?;
        (self.left, self.is_first) = (self.left - 1, false);
        self.show(&Event::AccessBegins(1))
    }

    /// Finds the work that a request of the access belongs to.
    fn request(&mut self, entry: &TraceEntry) -> Result<(), String> {
        let writes = matches!(entry, TraceEntry::Write(_));
        while self.doing.is_none() {
            ensure(self.left > 0, || format!("{entry:?} after the last path of a batch"))?;
            if !self.is_first && !self.is_settled() {
                self.show(&Event::IdleBegins(0))?;
                self.doing = Some(Doing::Step { writes });
                break;
            }
            self.begin_path()?;
            if writes {
                // The path shows nothing: no bucket of it was written before.
                self.show(&Event::Ends(Work::Access))?;
            } else {
                self.doing = Some(Doing::Path);
            }
        }
        let work = match &mut self.doing {
            Some(Doing::Step { writes: step_writes }) => {
                *step_writes = writes;
                STEP
            }
            _ => Work::Access,
        };
        self.show(&Event::Asks(work, entry.clone()))
    }

    /// Ends the work whose last request was answered.
    fn answer(&mut self) -> Result<(), String> {
        let (work, ends) = match self.doing {
            Some(Doing::Path) => (Work::Access, true),
            Some(Doing::Step { writes }) => (STEP, writes),
            None => return Err(String::from("an answer to nobody")),
        };
        self.show(&Event::Answered(work, 0))?;
        if ends {
            self.doing = None;
            self.show(&Event::Ends(work))?;
        }
        Ok(())
    }

    /// Ends an access: the paths that are left show nothing, and nothing is owed before them.
    fn end_access(&mut self) -> Result<(), String> {
        ensure(self.doing.is_none(), || String::from("an access ended amid what was owed"))?;
        while self.left > 0 {
            let is_due = self.is_first || self.is_settled();
            ensure(is_due, || format!("an access ended {} paths early", self.left))?;
            self.begin_path()?;
            self.show(&Event::Ends(Work::Access))?;
        }
        self.note();
        Ok(())
    }

    /// Notes what the tree showed since the last time, of the paths that are looked at and of what is owed.
    fn note(&mut self) {
        let all = self.eyes.as_ref().unwrap_or(&self.tree).sights();
        let (paths, shown) = (self.paths, self.shown);
        // `None` for another path than those that are looked at.
        let access = |path: Option<usize>| match path {
            Some(path) if path % paths == shown => Some(Some(path / paths)),
            Some(_) => None,
            None => Some(None),
        };
        let leaves = all.leaves[self.noted.0..].iter();
        self.sights
            .leaves
            .extend(leaves.filter_map(|seen| Some(ShownLeaf { access: access(seen.access)?, ..*seen })));
        let picks = all.picks[self.noted.1..].iter();
        self.sights
            .picks
            .extend(picks.filter_map(|seen| Some(Pick { access: access(seen.access)?, ..*seen })));
        self.sights.totals.clone_from(&all.totals);
        self.noted = (all.leaves.len(), all.picks.len());
    }
}

impl Watch for FrontEndWatch {
    fn see(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::AccessBegins(accesses) => {
                (self.left, self.is_first) = (accesses * self.paths, true);
                Ok(())
            }
            Event::Asks(Work::Access, entry) => self.request(entry),
            Event::Answered(Work::Access, _) => self.answer(),
            Event::Ends(Work::Access) => self.end_access(),
            Event::Ends(Work::Idle(_)) => {
                self.show(event)?;
                self.note();
                Ok(())
            }
            Event::Owes { .. }
            | Event::IdleBegins(_)
            | Event::Asks(..)
            | Event::Answered(..)
            | Event::Acts(..)
            | Event::Rests
            | Event::Recovers(_)
            | Event::Yields(_) => self.show(event),
        }
    }

    fn sights(&self) -> &Sights {
        &self.sights
    }
}
