//! A timing and energy model of DRAM, for simulators of ORAM controllers: DDR3, DDR4, DDR5, LPDDR5, HBM2 and HBM3.
//!
//! A [`Specification`] (a TOML file; [`Specification::preset`] has those that are built in) describes the memory. A
//! [`Memory`] takes batches of blocks to read and write, and says in which [`Cycle`] a batch is done. It carries no
//! data.
//!
//! ```
//! use ameles_dram::{Block, Direction, Memory, Specification};
//!
//! let mut memory = Memory::new(&Specification::usimm())?;
//! let path: Vec<Block> = (0..60).map(Block).collect();
//! let batch = memory.read(&path)?;
//! let ready = memory.wait(batch);
//! memory.post(Direction::Write, &path)?;
//! memory.advance(ready + ameles_dram::Cycle(1000));
//! assert_eq!(memory.counts().writes, 60);
//! # Ok::<(), ameles_dram::DramError>(())
//! ```
//!
//! [`scheduler`] has the rules by which commands are chosen, precise enough for a second implementation. There are two:
//! [`Fast`], which is the default, and [`Stepped`], which goes cycle by cycle to be compared with. [`Checker`] knows
//! the DRAM's own rules and nothing of schedulers; it judges any list of commands. [`SubtreeLayout`] and
//! [`PlainLayout`] say where the buckets of a tree lie.

mod checker;
mod command;
mod energy;
mod error;
mod geometry;
mod layout;
mod memory;
mod place;
mod presets;
pub mod scheduler;
mod specification;
mod units;

pub use checker::{Checker, Rule, Violation};
pub use command::{Command, Kind, Observer, RequestId};
pub use energy::{Counts, Energy};
pub use error::DramError;
pub use geometry::{Address, Field, Geometry, MAX_BANKS, Mapping};
pub use layout::{Layout, PlainLayout, SubtreeLayout};
pub use memory::{Batch, Memory};
pub use place::Place;
pub use scheduler::{Direction, Fast, Stepped};
pub use specification::{Clock, CommandBus, Power, Queues, Refresh, SameGroup, Specification, Timing};
pub use units::{Block, Bytes, Cycle, Picojoules};
