//! Sizes of objects: distributions with stated moments, and folders of files whose sizes are drawn from them.
//!
//! A distribution is a mixture of parts, each a constant, uniform, or lognormal between two bounds. Its mean,
//! deviation and share below a size follow from closed forms ([`Distribution`]), so that samples can be compared with
//! them.

mod distribution;
mod folders;

pub use distribution::{Distribution, Part, Shape};
pub use folders::{Folder, FolderError, Folders};
