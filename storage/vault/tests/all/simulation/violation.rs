//! The first promise that was broken. Checks happen where a panic cannot be propagated.

use super::run_log;
use std::cell::RefCell;
use std::rc::Rc;

/// The violation, if any. Clones share it.
#[derive(Clone, Default)]
pub struct Violation(Rc<RefCell<Option<String>>>);

impl Violation {
    /// Records what is wrong, if the check fails.
    pub fn check(&self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            let broken = otherwise();
            run_log::note(|| format!("BROKEN: {broken}"));
            self.0.borrow_mut().get_or_insert(broken);
        }
    }

    /// # Panics
    /// If something was wrong.
    pub fn assert_none(&self) {
        if let Some(broken) = &*self.0.borrow() {
            panic!("{broken}");
        }
    }
}
