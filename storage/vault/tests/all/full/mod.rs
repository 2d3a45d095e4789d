//! A disk is full: the trusted one, or that of the store.

mod disk;
mod fixture;
mod limited_store;
mod store;
