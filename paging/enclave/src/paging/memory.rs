//! The program's memory, as accessed by the program and its system calls.

use super::entry::Entry;
use super::faults::{Built, Enclave, Faults, PagingError, PlatformOn, is_forged};
use super::frames::{ProgramFrames, nodes};
use super::hidden::HiddenWork;
use super::table::PageTable;
use crate::access::{Access, Touch};
use crate::layout::{self, PAGE, page_of};
use crate::processor::Processor;
use crate::space::{CommitPolicy, Space};
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;
use ameles_enclave_boundary::exit::{Ending, Failure, Memory};
use ameles_enclave_boundary::launch::PagingMode;
use ameles_pager::fault::counters::Counters;
use ameles_pager::fault::path::FaultOutcome;
use ameles_pager::fault_path_builder::FaultPathBuilder;
use ameles_pager::page::PAGE_BYTES;
use ameles_pager::scheme_error::SchemeError;
use ameles_seal::pages::{PageMeter, SharedMemory, Workers};
use core::marker::PhantomData;
use core::ops::Range;
use rand_chacha::ChaCha20Rng;

/// The reason why an access fails.
#[derive(Debug, PartialEq, Eq)]
pub enum AccessError {
    /// No memory is there, or the program lacks the right.
    Illegal,
    /// The run has ended.
    End(Ending),
}

/// A listener to the faults of the program.
pub trait Listener {
    /// Runs after a fault, when all its work is done.
    ///
    /// # Errors
    /// The end of the run.
    fn after_fault(&mut self, counters: &Counters) -> Result<(), Ending>;
}

/// The options of the program's memory.
pub struct Paging {
    /// The scheme, sealing and the fault path.
    pub fault_path: FaultPathBuilder,
    /// The mode of the page table.
    pub mode: PagingMode,
    /// The addresses reserved for the runtime.
    pub kernel: Range<u64>,
    /// The meter of ciphers and copies, and whether the parts of a fault are counted.
    pub meter: Option<&'static PageMeter>,
    /// The harts that share the page jobs of a fault, if there are several.
    pub workers: Option<&'static dyn Workers>,
}

/// The memory of a program.
pub struct ProgramMemory<P> {
    /// The areas of the program's memory.
    pub space: Space,
    frames: ProgramFrames<P>,
    faults: Box<dyn Faults<P>>,
    listener: Option<Box<dyn Listener>>,
    /// The region's pages from here on were never used.
    unused: u32,
    /// The pages that were used and freed.
    given_up: Vec<u32>,
    pages: u64,
    mode: PagingMode,
    kernel: Range<u64>,
    scheme_bytes: usize,
    idle_instructions: u64,
    fault_instructions: u64,
    hidden: HiddenWork,
}

impl<P: Processor + 'static> ProgramMemory<P> {
    /// Builds the scheme over untrusted memory. Nothing is mapped yet.
    ///
    /// # Errors
    /// [`SchemeError`].
    pub fn new<M>(options: Paging, memory: M, rng: ChaCha20Rng) -> Result<Self, SchemeError>
    where
        M: SharedMemory + Send + 'static,
    {
        let Paging { fault_path, mode, kernel, meter, workers } = options;
        let Built { faults, trusted_bytes } =
            fault_path.build(memory, rng, PlatformOn::<P>(Enclave { meter, workers }, PhantomData))?;
        let table = PageTable::new(mode, nodes(fault_path.pages, mode), &kernel)
            .expect("the runtime's own gigabytes need two nodes");
        let frames = ProgramFrames::new(table, fault_path.pages, fault_path.resident, meter.is_some());
        Ok(ProgramMemory {
            space: Space::new(fault_path.pages),
            frames,
            faults,
            listener: None,
            unused: 0,
            given_up: Vec::new(),
            pages: fault_path.pages,
            mode,
            kernel,
            scheme_bytes: trusted_bytes,
            idle_instructions: 0,
            fault_instructions: 0,
            hidden: HiddenWork::default(),
        })
    }

    /// Calls the listener after every fault from now on.
    pub fn listen(&mut self, listener: Box<dyn Listener>) {
        self.listener = Some(listener);
    }

    /// The physical address of the page table's root, and its levels.
    pub fn root(&self) -> (u64, u32) {
        (self.frames.table.root(), self.frames.table.levels())
    }

    /// The counters of the fault path.
    pub fn counters(&self) -> Counters {
        self.faults.counters()
    }

    /// Returns the number of instructions of the scheme's offline work.
    pub fn idle_instructions(&self) -> u64 {
        self.idle_instructions
    }

    /// Returns the number of instructions of offline work that another processor would have done while the program ran.
    pub fn hidden_instructions(&self) -> u64 {
        self.hidden.sum()
    }

    /// Counts from now on: earlier work hides nothing of later work.
    pub fn begin_counting(&mut self) {
        self.hidden.flush_translation();
    }

    /// Returns the number of instructions of faults, including offline work, whether the program or a call accessed the
    /// page.
    pub fn fault_instructions(&self) -> u64 {
        self.fault_instructions
    }

    /// The mode of the page table.
    pub fn mode(&self) -> PagingMode {
        self.mode
    }

    /// The addresses reserved for the runtime.
    pub fn kernel(&self) -> Range<u64> {
        self.kernel.clone()
    }

    /// Adds its part of the exit record.
    pub fn measure(&self, memory: &mut Memory) {
        memory.max_held_pages = self.counters().max_held_pages;
        let trusted = self.scheme_bytes + self.faults.trusted_bytes() + self.frames.trusted_bytes();
        memory.trusted_bytes = trusted as u64;
    }

    /// Handles a fault of the processor.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn fault(&mut self, address: u64, touch: Touch) -> Result<(), AccessError> {
        let at = page_of(address);
        let entry = self.frames.table.entry(at);
        if !entry.has_page() {
            return self.first_touch(at, touch);
        }
        if !entry.access().allows(touch) {
            return Err(AccessError::Illegal);
        }
        if entry.is_resident() {
            // The processor had cached the old entry.
            P::flush_translation(address);
            return Ok(());
        }
        self.page_in(entry.number() as u32)
    }

    /// Assigns a page of the region to a page of an area.
    fn first_touch(&mut self, at: u64, touch: Touch) -> Result<(), AccessError> {
        if at >= page_of(layout::top(self.mode)) {
            return Err(AccessError::Illegal);
        }
        let area =
            self.space.area_of(at).filter(|area| area.access.allows(touch)).ok_or(AccessError::Illegal)?;
        let at_touch = area.commit == CommitPolicy::OnTouch;
        if at_touch && self.space.commit_touched().is_err() {
            return Err(out_of_memory(
                "the program touched more memory than there is, on its stack for example",
            ));
        }
        let page = self.unused_page().ok_or_else(|| out_of_memory("there are no pages left"))?;
        let entry = Entry::absent(page, area.access, at_touch);
        if self.frames.table.set(at, entry).is_err() {
            return Err(out_of_memory("the program's memory is spread too widely over its addresses"));
        }
        self.frames.set_home(page, at);
        self.page_in(page)
    }

    fn unused_page(&mut self) -> Option<u32> {
        let new = self.unused;
        self.given_up.pop().or_else(|| {
            self.unused += 1;
            (u64::from(new) < self.pages).then_some(new)
        })
    }

    fn page_in(&mut self, page: u32) -> Result<(), AccessError> {
        let begin = P::retired_instructions();
        self.hidden.begin(begin);
        let outcome = self.faults.fault(page.into(), &mut self.frames).map_err(ended)?;
        let (fault, shares) = (P::retired_instructions(), P::shares());
        while self.faults.pending_steps() > 0 {
            self.faults.step(&self.frames).map_err(ended)?;
        }
        let end = P::retired_instructions();
        self.idle_instructions += end - fault;
        self.fault_instructions += end - begin;
        self.hidden.end(end, end - fault - (P::shares() - shares).saved());
        if outcome != FaultOutcome::PagedIn {
            return Ok(());
        }
        match &mut self.listener {
            Some(listener) => listener.after_fault(&self.faults.counters()).map_err(AccessError::End),
            None => Ok(()),
        }
    }

    /// The memory of the page at an address, paged in as if the program had accessed it.
    fn touched(&mut self, address: u64, touch: Touch) -> Result<&mut [u8; PAGE_BYTES], AccessError> {
        let at = page_of(address);
        let entry = self.frames.table.entry(at);
        if !entry.is_resident() || !entry.access().allows(touch) {
            self.fault(address, touch)?;
        }
        self.frames.memory_at(at).ok_or(AccessError::Illegal)
    }

    /// Copies from the program's memory.
    ///
    /// # Errors
    /// [`AccessError`]; what comes before the illegal page was copied.
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), AccessError> {
        for (address, range) in page_pieces(address, into.len())? {
            let offset = (address % PAGE) as usize;
            let into = &mut into[range];
            into.copy_from_slice(&self.touched(address, Touch::Load)?[offset..][..into.len()]);
        }
        Ok(())
    }

    /// Copies into the program's memory.
    ///
    /// # Errors
    /// [`AccessError`]; what comes before the illegal page was copied.
    pub fn write(&mut self, address: u64, from: &[u8]) -> Result<(), AccessError> {
        self.copy_in(address, from, Touch::Store)
    }

    /// Fills a part of the program with the contents of its file, regardless of the program's own rights.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn load(&mut self, address: u64, from: &[u8]) -> Result<(), AccessError> {
        self.copy_in(address, from, Touch::Load)
    }

    fn copy_in(&mut self, address: u64, from: &[u8], touch: Touch) -> Result<(), AccessError> {
        for (address, range) in page_pieces(address, from.len())? {
            let offset = (address % PAGE) as usize;
            let from = &from[range];
            self.touched(address, touch)?[offset..][..from.len()].copy_from_slice(from);
        }
        Ok(())
    }

    /// Discards the contents of pages of the program's addresses: they read as zeros if they still belong to an area.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn discard(&mut self, pages: Range<u64>) -> Result<(), AccessError> {
        let mut from = pages.start;
        while let Some(at) = self.frames.table.next(from..pages.end) {
            from = at + 1;
            let Some(page) = self.frames.page_at(at) else { continue };
            if self.frames.table.entry(at).at_touch() {
                self.space.release_touched(1);
            }
            self.frames.table.replace(at, Entry::EMPTY);
            P::flush_translation(at * PAGE);
            self.frames.clear_home(page);
            let number = u64::from(page);
            self.faults.discard(number..number + 1, &mut self.frames).map_err(ended)?;
            self.given_up.push(page);
        }
        Ok(())
    }

    /// Changes the access rights of those pages of the program's addresses that were accessed.
    pub fn protect(&mut self, pages: Range<u64>, access: Access) {
        let mut from = pages.start;
        while let Some(at) = self.frames.table.next(from..pages.end) {
            from = at + 1;
            self.frames.protect(at, access);
        }
    }

    /// Moves those pages of the program's addresses that were accessed to others, which are empty.
    ///
    /// # Errors
    /// [`AccessError::End`].
    pub fn move_pages(&mut self, pages: Range<u64>, to: u64) -> Result<(), AccessError> {
        let mut from = pages.start;
        while let Some(at) = self.frames.table.next(from..pages.end) {
            from = at + 1;
            let (entry, Some(page)) = (self.frames.table.entry(at), self.frames.page_at(at)) else {
                continue;
            };
            let moved = to + (at - pages.start);
            if self.frames.table.set(moved, Entry::EMPTY).is_err() {
                return Err(out_of_memory("the program's memory is spread too widely over its addresses"));
            }
            self.frames.table.replace(moved, Entry::absent(page, entry.access(), entry.at_touch()));
            self.frames.table.replace(at, Entry::EMPTY);
            P::flush_translation(at * PAGE);
            self.frames.set_home(page, moved);
            // Maps it there if it is resident.
            self.frames.protect(moved, entry.access());
        }
        Ok(())
    }
}

/// The pages of a range of addresses, and the part of the buffer that each is for.
fn page_pieces(address: u64, bytes: usize) -> Result<impl Iterator<Item = (u64, Range<usize>)>, AccessError> {
    let end = address.checked_add(bytes as u64).ok_or(AccessError::Illegal)?;
    let mut at = address;
    Ok(core::iter::from_fn(move || {
        if at == end {
            return None;
        }
        let next = (at | (PAGE - 1)).saturating_add(1).min(end);
        let piece = (at, (at - address) as usize..(next - address) as usize);
        at = next;
        Some(piece)
    }))
}

fn out_of_memory(text: &str) -> AccessError {
    AccessError::End(Ending::Failed { kind: Failure::OutOfMemory, text: text.into() })
}

fn ended(error: PagingError) -> AccessError {
    let kind = if is_forged(&error) { Failure::Forged } else { Failure::Runtime };
    AccessError::End(Ending::Failed { kind, text: error.to_string() })
}
