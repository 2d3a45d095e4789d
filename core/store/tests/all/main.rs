//! Tests of the stores and wrappers.

mod common;
mod faults;
mod link;
mod meter;
mod pages;
mod provider;
mod recorder;
mod retry;
mod stack;
mod stores;
