//! The steps of a page fault, as in section 2.2 (figure 1) of Chakravarty and Panda, "Introducing Fast and Secure
//! Deterministic Stash Free Write Only Oblivious RAMs for Demand Paging in Keystone" (2021):
//!
//! ```text
//!  1  a touch of an absent page brings us here
//!  2  if as many pages are resident as may be, choose a victim and take it out of everybody's sight
//!  3  write it through the scheme; read the wanted page through the scheme
//!  4  put the wanted page in
//!  5  the touch is done again
//! ```
//!
//! - [`path::FaultPath`]: the five steps over any [`Oram`](ameles_core::oram::Oram).
//! - [`frames::Frames`]: what they ask of the platform.
//! - [`policy::Policy`]: who the victim is.
//! - [`counters::Counters`]: what they count.

pub mod counters;
pub mod error;
#[cfg(feature = "linux")]
pub(crate) mod fork;
pub mod frames;
pub mod path;
pub mod policy;

pub(crate) mod poll_now;
mod resident;
mod reuse;
