//! What sealed pages promise to a pager, whoever else holds its memory.

mod allocation;
mod array;
mod beside;
mod meter;
mod regions;
mod schemes;
mod setup;
mod tampering;
mod unsteady;
