//! The trusted side of a vault at rest: its disk, and what lies on it.

mod checked_database;
pub(crate) mod checkpoint;
pub(crate) mod delta;
pub(crate) mod directory;
pub(crate) mod disk;
pub(crate) mod freight;
pub(crate) mod group;
pub(crate) mod header;
pub(crate) mod header_exchange;
pub(crate) mod keeper;
mod kept;
pub(crate) mod ledger;
mod logged;
pub(crate) mod names;
pub(crate) mod part;
mod pieces;
pub(crate) mod places;
mod places_file;
pub(crate) mod position;
pub(crate) mod resealed;
pub(crate) mod row;
pub(crate) mod rows;
pub(crate) mod state;
pub(crate) mod summary;
pub(crate) mod tables;
pub(crate) mod unlogged;
pub(crate) mod written;
