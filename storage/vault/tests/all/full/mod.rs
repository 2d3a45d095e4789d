//! A disk is full: the trusted disk, or the store's.

mod disk;
mod fixture;
mod limited_store;
mod store;
