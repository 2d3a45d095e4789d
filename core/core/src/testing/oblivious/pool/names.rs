//! Names of classes.

use alloc::string::String;

/// The name of a class of draws, as a table numbers it.
pub(super) trait Names {
    fn name(&self, class: usize) -> String;
}
