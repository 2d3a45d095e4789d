//! The flags that choose the machines to simulate.

use crate::commands::usage_error::usage_error;
use ameles_dram::{DramError, Specification};
use ameles_lab::processor::{FrameOrder, Options, Preset, Start};
use anyhow::Result;
use clap::{Args, ValueEnum};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct MachineFlags {
    /// The machines to simulate; several are compared. Other flags change each of them [default: authors,paper,machine,
    /// or machine if programs, schemes, settings, parts or a trace are given]
    #[arg(long = "as", value_name = "MACHINES", value_delimiter = ',')]
    machines: Vec<NamedMachine>,
    /// The memory: ddr3, ddr4, ddr5, lpddr5, hbm2, hbm3 or a TOML file [default: ddr3]
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) dram: Option<PathBuf>,
    /// Channels of the memory: a power of two [default: 1 as authors, else 4 or those of --dram]
    #[arg(long, value_name = "NUMBER")]
    pub(super) channels: Option<u32>,
    /// The places of pages in the memory [default: random as machine, else virtual]
    #[arg(long, value_name = "ORDER")]
    pub(super) frames: Option<Frames>,
    /// The state of the tree at the start [default: packed as authors, filled as paper, settled as machine]
    #[arg(long, value_name = "STATE")]
    pub(super) start: Option<StartState>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum NamedMachine {
    /// The authors' logs: one channel, 24 levels, virtual addresses, a packed tree; tree-top blocks are read with their
    /// paths
    Authors,
    /// The paper's text: four channels, 25 levels, virtual addresses, a tree whose every block was accessed once
    Paper,
    /// A machine that has run for long: four channels, 25 levels, random page frames, a settled tree
    Machine,
}

impl From<NamedMachine> for Preset {
    fn from(machine: NamedMachine) -> Self {
        match machine {
            NamedMachine::Authors => Preset::Authors,
            NamedMachine::Paper => Preset::Paper,
            NamedMachine::Machine => Preset::Machine,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Frames {
    /// No frames: virtual addresses modulo the memory
    Virtual,
    /// Frames in the order in which pages are touched first
    FirstTouch,
    /// Random frames
    Random,
}

impl From<Frames> for FrameOrder {
    fn from(frames: Frames) -> Self {
        match frames {
            Frames::Virtual => FrameOrder::Virtual,
            Frames::FirstTouch => FrameOrder::FirstTouch,
            Frames::Random => FrameOrder::Random,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum StartState {
    /// A tree whose every block is as near to the leaves as there is room
    Packed,
    /// A tree whose every block was accessed once, in a random order
    Filled,
    /// A tree that random accesses have settled
    Settled,
    /// The filled tree after the program ran once
    Own,
}

impl From<StartState> for Start {
    fn from(start: StartState) -> Self {
        match start {
            StartState::Packed => Start::Packed,
            StartState::Filled => Start::Filled,
            StartState::Settled => Start::Settled,
            StartState::Own => Start::Own,
        }
    }
}

impl MachineFlags {
    /// The options of each machine, each once. The flags change all of them. If no machine is named, a run that is
    /// narrowed to programs, schemes or settings simulates one machine.
    ///
    /// # Errors
    /// A usage error, if the memory cannot be read.
    pub(super) fn all(&self, is_quick: bool, is_narrowed: bool) -> Result<Vec<Options>> {
        let memory = self.dram.as_ref().map(|path| read_memory(path)).transpose()?;
        let mut presets: Vec<Preset> = Vec::new();
        let machines = match &self.machines[..] {
            [] if is_narrowed => &[NamedMachine::Machine],
            [] => NamedMachine::value_variants(),
            machines => machines,
        };
        for preset in machines.iter().map(|machine| Preset::from(*machine)) {
            if !presets.contains(&preset) {
                presets.push(preset);
            }
        }
        let options = |preset| {
            let options = if is_quick { Options::quick(preset) } else { Options::of(preset) };
            Options {
                channels: self.channels.or(options.channels.filter(|_| memory.is_none())),
                frames: self.frames.map_or(options.frames, FrameOrder::from),
                start: self.start.map(Start::from),
                memory: memory.clone(),
                ..options
            }
        };
        Ok(presets.into_iter().map(options).collect())
    }
}

/// The memory of `--dram`: a file, or without such a file a memory by its name.
fn read_memory(path: &Path) -> Result<Specification> {
    let failed = |why: String| usage_error(format!("--dram {}: {why}", path.display()));
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            let named = path.to_str().and_then(Specification::preset);
            let names = Specification::PRESETS.join(", ");
            let why = || failed(format!("{error}: name a file, or choose {names}"));
            return Ok(named.ok_or_else(why)?);
        }
    };
    Ok(text.parse().map_err(|error: DramError| failed(error.to_string()))?)
}
