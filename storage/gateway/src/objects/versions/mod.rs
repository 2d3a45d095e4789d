//! Versions of objects: puts and deletes that keep the objects before them.
//!
//! In a container whose owner has switched them on, a replaced object stays, and a delete puts a *delete marker* on
//! top: a version that stands for nothing. The key stands for the newest version unless that is a marker. Nothing of it
//! moves a byte: a version goes from one row of the catalogue to another, in the commit that replaces it.
//!
//! Versions of a key are in the order of their commits, even if the clock says otherwise.

mod draft;
mod list;
mod verbs;

pub(crate) use draft::{CommitStamp, Draft, replaced};
pub use list::{ListedVersion, VersionListing, VersionMarker};
pub use verbs::{Deleted, Removal};
