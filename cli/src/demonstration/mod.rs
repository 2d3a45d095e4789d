//! A vault to look at, whose ORAM can be switched off: `ameles serve --demonstration`.
//!
//! Everything of it lies in a temporary folder of its own, so that no switch ever stands between a user and the ORAM
//! that keeps their pattern. Each block is written twice, to the vault and to a bare store (`bare`) beside it, and read
//! from the one that is switched on: nothing is lost, whenever the switch is turned. The watcher of the bare store sees
//! the pattern; the store is there to show that.

mod pattern;
mod plain_store;
mod setup;
mod switch;

pub use pattern::{CONTAINER, OBJECTS, Pattern, object_name, put_objects, read_on};
pub use plain_store::BareStore;
pub use setup::DemonstrationFolder;
pub use switch::{Baseline, ObliviousFlag, Switch, SwitchState};
