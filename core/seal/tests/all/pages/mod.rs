//! The promises of sealed pages to a pager, against every other holder of its memory.

mod allocation;
mod array;
mod meter;
mod regions;
mod schemes;
mod setup;
mod tampering;
mod unsteady;
mod worker;
