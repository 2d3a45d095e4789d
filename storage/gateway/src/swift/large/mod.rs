//! Large objects: an object that stands for others, one after the other.
//!
//! A **dynamic** one names a container and a prefix of keys; all objects there when it is read belong to it. A
//! **static** one holds a list of its segments, with the ETag and the size that each had when the list was put; it is
//! read only as long as they have them. The list is the object's own bytes: reading it takes accesses.

mod budget;
mod content;
mod delete;
mod dynamic;
mod list;
mod pieces;
mod put;

pub(super) use list::{MAX_LIST_BYTES, MAX_SEGMENTS};

use super::refusal::Refusal;
use http::StatusCode;

fn conflict(text: &'static str) -> Refusal {
    Refusal::new(StatusCode::CONFLICT, text)
}
