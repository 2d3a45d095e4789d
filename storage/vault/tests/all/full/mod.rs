//! A disk is full: the trusted disk, or the disk of the store.

mod disk;
mod fixture;
mod limited_store;
mod store;
