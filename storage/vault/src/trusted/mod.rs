//! The trusted side of a vault at rest: its disk, and the contents of the disk.

mod checked_database;
pub(crate) mod checkpoint;
pub(crate) mod checkpoint_bytes;
pub(crate) mod checkpoint_writer;
mod chunks;
pub(crate) mod commit_group;
mod companion_file;
mod database_changes;
mod database_file;
pub(crate) mod delta;
pub(crate) mod disk;
pub(crate) mod disk_reserve;
pub(crate) mod disk_snapshot;
mod failure;
pub(crate) mod folder_sync;
pub(crate) mod header;
pub(crate) mod header_exchange;
pub(crate) mod journal;
mod log_tables;
#[cfg(test)]
pub(crate) mod memory_file;
pub(crate) mod payload_reader;
pub(crate) mod position;
pub(crate) mod reseal;
pub(crate) mod row;
pub(crate) mod rows;
pub(crate) mod seal_context;
pub(crate) mod shipped_state;
mod slot_file;
pub(crate) mod slots;
pub(crate) mod stash_directory;
pub(crate) mod state;
pub(crate) mod state_tables;
pub(crate) mod summary;
pub(crate) mod unlogged_commits;
mod unlogged_table;
pub(crate) mod word_tables;
