//! Versions of objects: puts and deletes that keep the objects before them.
//!
//! In a container with versioning, a replaced object stays, and a delete puts a *delete marker* on top: a version
//! without content. The newest version is the current object of its key, unless it is a marker. No byte is moved: a
//! version goes from one row of the catalogue to another, in the commit that replaces it.
//!
//! Versions of a key are in the order of their commits, even if the clock runs backwards.

mod draft;
mod list;
mod verbs;

pub(crate) use draft::{CommitStamp, Draft, replaced};
pub use list::{ListedVersion, VersionListing, VersionMarker};
pub use verbs::{Deleted, Removal};
