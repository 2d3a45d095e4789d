//! Schemes against their model, a plain array, and the promises of Path ORAM beyond it.

mod array;
mod path;
mod path_trace;
mod setup;
