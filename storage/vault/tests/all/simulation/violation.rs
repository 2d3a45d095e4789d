//! The first promise that was seen broken. Checks happen where no panic can be passed on.

use super::run_log;
use std::cell::RefCell;
use std::rc::Rc;

/// The verdict; clones share it.
#[derive(Clone, Default)]
pub struct Violation(Rc<RefCell<Option<String>>>);

impl Violation {
    /// Notes what is wrong, if it is.
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
