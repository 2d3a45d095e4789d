//! The location of a vault, and access to it: trusted disk, key and store.

mod create;
mod disk;
mod find;
mod key;
mod network_disk;
mod opening;
mod prices;
mod serve_line;
mod standby;
mod store;

pub use key::{NewKey, Renewal};
pub use opening::Opening;
pub use serve_line::url_of;
pub use store::Store;

use crate::config::Settings;

/// The location of a vault.
pub struct Home<'a> {
    settings: &'a Settings,
}

impl<'a> Home<'a> {
    /// Returns the location that the settings name.
    pub fn new(settings: &'a Settings) -> Self {
        Home { settings }
    }
}
