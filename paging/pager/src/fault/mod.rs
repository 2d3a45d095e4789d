//! The steps of a page fault, as in section 2.2 (figure 1) of Chakravarty and Panda, "Introducing Fast and Secure
//! Deterministic Stash Free Write Only Oblivious RAMs for Demand Paging in Keystone" (2021):
//!
//! ```text
//!  1  an access to an absent page faults
//!  2  if the limit of resident pages is reached, choose a victim and unmap it
//!  3  write it through the scheme; read the wanted page through the scheme
//!  4  map the wanted page
//!  5  the access is repeated
//! ```
//!
//! - [`path::FaultPath`]: the five steps over any [`Oram`](ameles_core::oram::Oram).
//! - [`frames::Frames`]: what they require from the platform.
//! - [`policy::Policy`]: the choice of the victim.
//! - [`counters::Counters`]: what is counted.

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
