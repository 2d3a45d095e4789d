//! The promises of the stores and of the wrappers, each by name.

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
