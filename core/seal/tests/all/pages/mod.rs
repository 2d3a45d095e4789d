//! Tests of sealed pages against every other user of the shared memory.

mod allocation;
mod array;
mod meter;
mod regions;
mod schemes;
mod setup;
mod tampering;
mod unsteady;
mod worker;
