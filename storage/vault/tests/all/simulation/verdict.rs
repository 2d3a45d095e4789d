//! The first promise that was seen broken. Checks happen where no panic can be passed on.

use super::diary;
use std::cell::RefCell;
use std::rc::Rc;

/// The verdict; clones share it.
#[derive(Clone, Default)]
pub struct Verdict(Rc<RefCell<Option<String>>>);

impl Verdict {
    /// Notes what is wrong, if it is.
    pub fn ensure(&self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            let broken = otherwise();
            diary::note(|| format!("BROKEN: {broken}"));
            self.0.borrow_mut().get_or_insert(broken);
        }
    }

    /// # Panics
    /// If something was wrong.
    pub fn speak(&self) {
        if let Some(broken) = &*self.0.borrow() {
            panic!("{broken}");
        }
    }
}
