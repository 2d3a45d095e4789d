//! A disk is full: the trusted one, or that of the store.

mod disk;
mod scene;
mod shelf;
mod store;
