//! The tools for tests of schemes. They include a store that records its trace, a store in memory, a plain array to
//! compare with, and a small executor. Behind the feature `testing`; not for production.

pub mod array_model;
pub mod array_store;
pub mod driver;
pub mod executor;
pub mod mutants;
pub mod oblivious;
pub mod parameters;
pub mod path_tail;
pub mod processors;
pub mod ring_plans;
pub mod small_ring;
pub mod stash_histogram;
pub mod stash_tail;
pub mod trace_store;
pub mod virtual_time;

pub use array_model::{ArrayModel, Operation, Prepared, exercise, settle};
pub use array_store::ArrayStore;
pub use driver::{Driver, Event, Work};
pub use executor::{Executor, Task, finish_now};
pub use processors::{ProcessorStore, processor_stores};
pub use small_ring::small_ring;
pub use trace_store::{ProcessorAction, SentMessage, TraceEntry, TraceStore, TraceStoreError};
