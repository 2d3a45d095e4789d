//! The choices for some work: schemes and block sizes, each with its figures or the reason for rejection.

use super::figures::Figures;
use super::traffic::{self, Flow, Traffic};
use super::work::{BATCH, Work};
use ameles_core::schemes::curious::CuriousParameters;
use ameles_core::schemes::oblivistore::ObliviStoreParameters;
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::practical_os::PracticalOsParameters;
use ameles_core::schemes::ring::{RingObjective, RingParameters};
use ameles_core::schemes::trivial::TrivialParameters;
use ameles_vault::{JournalPlace, SchemeParameters, VaultParameters, with_default_slices};
use std::panic::resume_unwind;
use std::thread;

/// The maximum number of blocks of a vault.
const MAX_BLOCKS: u64 = (1 << 31) - 1;
/// The tree tops that are tried, until all fits.
const TRIES: usize = 5;
/// The cost of a written slot relative to a read slot, if writes are free.
const MIN_WRITTEN: f64 = 0.01;

/// The maximum of accesses in a batch of a vault.
const MAX_BATCH: u32 = BATCH as u32;

/// Bytes of trusted memory that a vault with these parameters takes.
pub type VaultMemory<'a> = &'a (dyn Fn(&VaultParameters) -> u64 + Sync);

/// A scheme with a block size.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The scheme.
    pub scheme: &'static str,
    /// The size of a block in bytes.
    pub block_bytes: u64,
    /// The scheme's parameters, in its paper's letters.
    pub parameters: String,
    /// The monthly bill, the time of a read, the size of the store, and the traffic.
    pub figures: Figures,
    /// The number of bytes of trusted memory.
    pub memory: u64,
    /// The flags of `ameles init` for it; `None` if no vault runs the scheme.
    pub flags: Option<String>,
    /// The parameters of the vault, if a vault runs the scheme.
    pub vault: Option<VaultParameters>,
}

/// A scheme with a block size that was left out, and why.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The scheme.
    pub scheme: &'static str,
    /// The size of a block in bytes.
    pub block_bytes: u64,
    /// The reason.
    pub why: String,
    /// The choice with enough trusted memory, if the reason is a lack of trusted memory.
    pub choice: Option<Choice>,
}

/// The choices, and those that were left out.
#[derive(Debug, Default)]
pub(super) struct Choices {
    pub(super) fit: Vec<Choice>,
    pub(super) rejected: Vec<Rejected>,
}

/// Finds the choices for some work. Block sizes are examined in parallel.
pub(super) fn choices_for(work: &Work, memory: VaultMemory<'_>) -> Choices {
    let of_size = |block_bytes: u64| {
        let mut choices = Choices::default();
        let blocks = work.capacity.div_ceil(block_bytes).max(1);
        let mut found = ChoiceSearch { work, block_bytes, blocks, choices: &mut choices };
        if blocks > MAX_BLOCKS {
            found.reject("any", format!("{blocks} blocks are more than the {MAX_BLOCKS} of a vault"));
        } else {
            found.vaults(memory);
            found.library_schemes();
        }
        choices
    };
    let all = thread::scope(|scope| {
        let of_size = &of_size;
        let threads: Vec<_> =
            work.block_bytes.iter().map(|bytes| scope.spawn(move || of_size(*bytes))).collect();
        let ended =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.collect::<Vec<Choices>>()
    });
    let mut choices = Choices::default();
    for mut of_size in all {
        choices.fit.append(&mut of_size.fit);
        choices.rejected.append(&mut of_size.rejected);
    }
    choices
}

/// The search among the choices with one block size.
struct ChoiceSearch<'a> {
    work: &'a Work,
    block_bytes: u64,
    blocks: u64,
    choices: &'a mut Choices,
}

impl ChoiceSearch<'_> {
    fn reject(&mut self, scheme: &'static str, why: String) {
        let block_bytes = self.block_bytes;
        self.choices.rejected.push(Rejected { scheme, block_bytes, why, choice: None });
    }

    /// Adds a choice, unless it takes more trusted memory than there is.
    fn add(&mut self, choice: Choice) {
        if choice.memory > self.work.trusted {
            let why = "it takes more trusted memory than there is".to_owned();
            let Choice { scheme, block_bytes, .. } = choice;
            self.choices.rejected.push(Rejected { scheme, block_bytes, why, choice: Some(choice) });
        } else {
            self.choices.fit.push(choice);
        }
    }

    /// The mean number of accesses in a batch.
    fn batch(&self) -> f64 {
        let blocks = |size: u64| size.div_ceil(self.block_bytes).max(1);
        let accesses = self.work.sizes.mean(|size| blocks(size) as f64);
        accesses / self.work.sizes.mean(|size| blocks(size).div_ceil(BATCH) as f64)
    }

    /// The schemes that a vault runs.
    fn vaults(&mut self, memory: VaultMemory<'_>) {
        let (blocks, bytes) = (self.blocks, self.block_bytes as u32);
        let objective = self.dollars();
        let slices = (MAX_BATCH, u32::MAX);
        let plan = |top| {
            let ring = RingParameters::for_objective(blocks, bytes, top, slices, objective);
            ring.validate().ok().map(|()| SchemeParameters::Ring(with_default_slices(ring)))
        };
        self.vault("ring", Some("dollars"), &plan, memory);
        let plan = |top| {
            let path = PathParameters::for_capacity(blocks, bytes, top, MAX_BATCH);
            path.ok().map(SchemeParameters::Path)
        };
        self.vault("path", None, &plan, memory);
        let plan = |_| {
            let chunk_blocks = MAX_BATCH;
            let trivial = TrivialParameters {
                capacity: blocks,
                block_bytes: bytes,
                chunk_blocks,
                max_batch: MAX_BATCH,
            };
            trivial.validate().ok().map(|()| SchemeParameters::Trivial(trivial))
        };
        self.vault("trivial", None, &plan, memory);
    }

    /// A vault with a tree top for which all fits into the trusted memory; or with the least.
    fn vault(
        &mut self,
        scheme: &'static str,
        objective: Option<&'static str>,
        plan: &dyn Fn(u64) -> Option<SchemeParameters>,
        memory: VaultMemory<'_>,
    ) {
        let mut top_bytes = (self.work.trusted / 8 * 7).min(self.work.capacity);
        let mut min = None;
        for _try in 0..TRIES {
            let top = top_bytes / self.block_bytes;
            let Some(parameters) = plan(top) else { break };
            let (traffic, letters) = self.vault_traffic(&parameters);
            let vault = VaultParameters::with_defaults(parameters).with_journal(self.work.journal);
            let traffic = Traffic { stored: vault.stored_bytes() as f64, ..traffic };
            let traffic = self.with_journal(traffic, &vault);
            let choice = Choice {
                scheme,
                block_bytes: self.block_bytes,
                parameters: letters,
                figures: Figures::of(self.work, self.block_bytes, &traffic),
                memory: memory(&vault),
                flags: Some(self.flags(scheme, top, objective)),
                vault: Some(vault),
            };
            let too_much = choice.memory.saturating_sub(self.work.trusted);
            min = Some(choice);
            if too_much == 0 || top == 0 {
                break;
            }
            top_bytes = top_bytes.saturating_sub(too_much + too_much / 8 + self.block_bytes);
        }
        match min {
            Some(min) => self.add(min),
            None => self.reject(scheme, "no parameters of it hold that many blocks".to_owned()),
        }
    }

    /// The traffic of a vault with the objects of its journal, if that is in the store: one for each batch.
    fn with_journal(&self, traffic: Traffic, vault: &VaultParameters) -> Traffic {
        if vault.journal == JournalPlace::Disk {
            return traffic;
        }
        let batch = self.batch();
        let bytes = vault.journal_object_bytes(batch.round() as u64) as f64;
        Traffic { logged: Flow { puts: 1.0 / batch, up: bytes / batch, ..Flow::default() }, ..traffic }
    }

    /// The flags of `ameles init` for a vault with a tree top of `top` blocks.
    fn flags(&self, scheme: &str, top: u64, objective: Option<&str>) -> String {
        let (capacity, block) = (size_flag(self.work.capacity), size_flag(self.block_bytes));
        let mut flags = format!("--capacity {capacity} --block-size {block} --scheme {scheme}");
        if scheme != "trivial" {
            flags.push_str(&format!(" --tree-top {}", size_flag(top * self.block_bytes)));
        }
        if let Some(objective) = objective {
            flags.push_str(&format!(" --objective {objective}"));
        }
        flags
    }

    fn vault_traffic(&self, parameters: &SchemeParameters) -> (Traffic, String) {
        match parameters {
            SchemeParameters::Ring(ring) => {
                let (z, l, top) = (ring.inner.blocks, ring.leaf_level.0, ring.top.0);
                let letters = format!("Z {z}, S {}, A {}, L {l}, top {top}", ring.reads, ring.eviction_rate);
                (traffic::ring(ring, self.batch()), letters)
            }
            SchemeParameters::Path(path) => {
                let (z, l, top) = (path.blocks_per_bucket, path.leaf_level.0, path.top.0);
                (traffic::path(path, self.batch()), format!("Z {z}, L {l}, top {top}"))
            }
            SchemeParameters::Trivial(trivial) => {
                (traffic::trivial(trivial, self.batch()), format!("chunk {}", trivial.chunk_blocks))
            }
        }
    }

    /// The schemes that no vault runs.
    fn library_schemes(&mut self) {
        let (blocks, bytes) = (self.blocks, self.block_bytes as u32);
        // The partition or the place of each block, and its entry in a table of the partition.
        let maps = 24 * blocks;
        let curious = CuriousParameters::for_capacity(blocks, bytes, MAX_BATCH);
        let letters = format!("{} partitions, k 3, Z 5", curious.partitions.partitions);
        let trusted_blocks = u64::from(curious.partitions.cache_bound) + curious.buffer_blocks();
        self.library(
            "curious",
            letters,
            traffic::curious(&curious, self.batch()),
            maps + trusted_blocks * self.block_bytes,
        );

        let oblivistore = ObliviStoreParameters::for_capacity(blocks, bytes, MAX_BATCH);
        let common = &oblivistore.partitions;
        let letters = format!("{} partitions, {} levels", common.partitions, oblivistore.partition.levels);
        let trusted_blocks =
            maps + (u64::from(common.cache_bound) + oblivistore.buffer_blocks()) * self.block_bytes;
        self.library(
            "oblivistore",
            letters,
            traffic::oblivistore(&oblivistore, self.batch()),
            trusted_blocks,
        );

        let practical = PracticalOsParameters::for_capacity(blocks, bytes, MAX_BATCH);
        let letters = format!("cache {}", practical.cache);
        let trusted_blocks = 2 * u64::from(practical.cache) * self.block_bytes + 4 * practical.permuted();
        self.library("practical-os", letters, traffic::practical_os(&practical), trusted_blocks);
    }

    fn library(&mut self, scheme: &'static str, parameters: String, traffic: Traffic, memory: u64) {
        let (block_bytes, flags, vault) = (self.block_bytes, None, None);
        let figures = Figures::of(self.work, block_bytes, &traffic);
        self.add(Choice { scheme, block_bytes, parameters, figures, memory, flags, vault });
    }

    /// The objective of the bill, for slots of these blocks.
    fn dollars(&self) -> RingObjective {
        let prices = &self.work.prices;
        let per_slot = |per_gb: f64| per_gb * self.block_bytes as f64 / prices.bytes_per_gb as f64;
        let (get, put) =
            (prices.get_per_1000 / 1000.0, (prices.put_per_1000 + prices.delete_per_1000) / 1000.0);
        let read = per_slot(prices.egress_per_gb);
        let min = MIN_WRITTEN * if read > 0.0 { read } else { get };
        let (slot_read, slot_written) =
            (read.max(MIN_WRITTEN * get), per_slot(prices.ingress_per_gb).max(min));
        if get + put + slot_read + slot_written == 0.0 {
            return RingObjective::BYTES;
        }
        RingObjective { get, put, slot_read, slot_written, slot_waited: 0.0 }
    }
}

/// A size as the command line reads it, exactly.
fn size_flag(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.iter().find(|(_, power)| bytes > 0 && bytes.is_multiple_of(1 << power));
    unit.map_or(bytes.to_string(), |(unit, power)| format!("{}{unit}", bytes >> power))
}
