//! The home of a vault, and the way to it: trusted disk, key and store.

mod disk;
mod find;
mod key;
mod make;
mod network_disk;
mod opening;
mod prices;
mod serve_line;
mod store;

pub use key::{NewKey, Renewal};
pub use opening::Opening;
pub use store::Store;

use crate::config::Settings;

/// A vault's whereabouts.
pub struct Home<'a> {
    settings: &'a Settings,
}

impl<'a> Home<'a> {
    /// The location that the settings name.
    pub fn new(settings: &'a Settings) -> Self {
        Home { settings }
    }
}
