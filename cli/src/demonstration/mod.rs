//! The demonstration: a small vault whose ORAM can be switched off, by `ameles serve --demonstration`.
//!
//! All its files are in a temporary folder, so an ordinary vault never has such a switch. Each block is written to the
//! vault and to a bare store (`bare`) without an ORAM, and read from the one that is switched on. So no data is lost
//! when the switch is turned. A watcher of the bare store sees the access pattern: that is what the demonstration
//! shows.

mod pattern;
mod plain_store;
mod setup;
mod switch;

pub use pattern::{CONTAINER, OBJECTS, Pattern, object_name, put_objects, read_repeatedly};
pub use plain_store::BareStore;
pub use setup::DemonstrationFolder;
pub use switch::{Baseline, ObliviousFlag, Switch, SwitchState};
