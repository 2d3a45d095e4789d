//! Tests of the runtime's portable parts.

mod calls;
mod edges;
mod handlers;
mod host;
mod image;
mod memory;
mod settings;
mod space;
mod support;
