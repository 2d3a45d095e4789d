//! The visualizer: the schemes of the core, one store operation at a time, for a page in a browser.
//!
//! Compiled to WebAssembly it takes requests in JSON ([`host`]) through three exported functions ([`exports`]). The
//! page is in `web/page/`; `cargo xtask web` puts both together. A scheme of your own goes into [`own_scheme`]: it
//! implements [`Oram`](ameles_core::oram::Oram) over any [`Store`](ameles_core::store::Store), and the page draws it
//! like the others.
#![deny(unsafe_code)]

pub mod area;
pub mod catalogue;
pub mod code;
mod example_schemes;
pub mod exports;
pub mod host;
pub mod instance;
pub mod memory;
pub mod own_scheme;
pub mod phase;
pub mod picture;
pub mod simulation;
pub mod stepped_scheme;
mod tree_schemes;
mod wire;
