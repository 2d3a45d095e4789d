//! Large objects: each stands for other objects, concatenated.
//!
//! A **dynamic** one has a container and a prefix of keys; its content is all such objects at the time of the read. A
//! **static** one has a list of its segments, with the ETag and the size of each at the time of the put. It can be read
//! only while they are unchanged. The list is the object's own bytes: reading it takes accesses.

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
