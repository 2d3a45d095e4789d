//! Builds a scheme by its name, over sealed pages and under a fault path, for any platform.

use crate::fault::path::FaultPath;
use crate::fault::policy::Policy;
use crate::page::PAGE_BYTES;
use crate::prefill::{prefill_by_writes, prefill_slots};
use crate::scheme::Scheme;
use crate::scheme_error::SchemeError;
use crate::size::{self, path_parameters, plain_parameters};
use ameles_core::oram::Oram;
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::detworam::{DetWoOram, DetWoParameters};
use ameles_core::schemes::eager::{EagerOram, EagerParameters};
use ameles_core::schemes::opam::{OpamOram, OpamParameters};
use ameles_core::schemes::path::PathOram;
use ameles_core::schemes::plain::Plain;
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bucket;
use ameles_seal::pages::{
    PageCipher, PageError, PageKey, ScheduledVersions, SealedPages, SharedMemory, TableVersions, Versions,
};
use rand_core::CryptoRng;

/// The number of pages that an eager scheme of one thread moves in one step between two faults, by default.
const STEP_PAGES: u32 = 4;

/// The options of the scheme, of sealing and of the fault path. All of them are public.
#[derive(Clone, Copy, Debug)]
pub struct FaultPathBuilder {
    /// The scheme.
    pub scheme: Scheme,
    /// The number of pages: 1 to 2^32 - 1.
    pub pages: u64,
    /// K, the number of main pages that each write of DetWoORAM and its variants refreshes: at least 1.
    pub ratio: u64,
    /// The cipher that seals the pages.
    pub cipher: PageCipher,
    /// The maximum number of pages that are resident: at least 1.
    pub resident: usize,
    /// The eviction policy.
    pub policy: Policy,
    /// The number of pages that an eager scheme moves in one step between two faults: at least 1. By default 4, or all
    /// at once if it is parallel too.
    pub step_pages: Option<u32>,
    /// True if every slot is written before the first fault, like after a long run: for measurements.
    pub filled: bool,
}

/// The platform's part.
pub trait Platform<M> {
    /// The platform's fault path, over any scheme.
    type Built;

    /// Returns the number of threads that seal and open pages in parallel. Each has a sealed page on the trusted side.
    fn threads(&self) -> usize {
        1
    }

    /// Adds threads and meters to the sealed pages.
    fn equip<V: Versions>(&self, pages: SealedPages<M, V>) -> SealedPages<M, V> {
        pages
    }

    /// Takes the fault path, and the trusted bytes of its scheme and of sealing.
    fn take<O>(self, path: FaultPath<O>, trusted_bytes: usize) -> Self::Built
    where
        O: Oram<Error = PageError> + Send + 'static;
}

impl FaultPathBuilder {
    /// The untrusted memory that it needs, in bytes, if the limit allows that.
    ///
    /// # Errors
    /// [`SchemeError::UntrustedMemory`], and parameters that the scheme refuses.
    pub fn untrusted_bytes(&self, limit: u64) -> Result<usize, SchemeError> {
        size::untrusted_bytes(self.scheme, self.pages, self.ratio, self.cipher, limit)
    }

    /// The areas of DetWoORAM and its variants.
    pub(crate) fn areas(&self) -> DetWoParameters {
        DetWoParameters::for_ratio(self.pages, self.ratio, PAGE_BYTES as u32)
    }

    /// Draws a key and builds the fault path over the memory.
    ///
    /// # Errors
    /// [`SchemeError`].
    pub fn build<M, R, P>(&self, memory: M, mut rng: R, platform: P) -> Result<P::Built, SchemeError>
    where
        M: SharedMemory + Send + 'static,
        R: CryptoRng + Send + 'static,
        P: Platform<M>,
    {
        let layout = self.scheme.layout(self.pages, self.ratio)?;
        let buckets = layout.buckets();
        let key = PageKey::draw(self.cipher, &mut rng);
        let sealing_bytes = platform.threads() * (PAGE_BYTES + self.cipher.tag_bytes());
        let table = || TableVersions::new(buckets);
        match self.scheme {
            Scheme::Plain => {
                let store = self
                    .with_table(platform.equip(SealedPages::new(memory, &layout, key, table())?), &layout)?;
                let bytes = store.trusted_bytes() as usize + sealing_bytes;
                let oram = Plain::new(plain_parameters(self.pages), store)?;
                self.end(bytes + oram.trusted_bytes(), oram, platform)
            }
            Scheme::DetWoOram | Scheme::Parallel => {
                let versions = ScheduledVersions::new(&self.areas().schedule()?);
                let store = platform.equip(SealedPages::new(memory, &layout, key, versions)?);
                let bytes = store.trusted_bytes() as usize + sealing_bytes;
                let mut oram = DetWoOram::new(self.areas(), store)?;
                self.fill(&mut oram)?;
                self.end(bytes + oram.trusted_bytes(), oram, platform)
            }
            Scheme::Eager | Scheme::EagerParallel => {
                let schedule = self.areas().schedule()?;
                let versions = ScheduledVersions::new(&schedule);
                let store = platform.equip(SealedPages::new(memory, &layout, key, versions)?);
                let bytes = store.trusted_bytes() as usize + sealing_bytes;
                let all = schedule.max_refreshes() as u32 + 1;
                let step_pages =
                    self.step_pages.unwrap_or(if self.scheme.is_parallel() { all } else { STEP_PAGES });
                let mut oram = EagerOram::new(EagerParameters { areas: self.areas(), step_pages }, store)?;
                self.fill(&mut oram)?;
                self.end(bytes + oram.trusted_bytes(), oram, platform)
            }
            Scheme::Path => {
                let store = self
                    .with_table(platform.equip(SealedPages::new(memory, &layout, key, table())?), &layout)?;
                let bytes = store.trusted_bytes() as usize + sealing_bytes;
                let positions = FlatPositionMap::new(Positions::new(self.pages));
                let oram = PathOram::new(path_parameters(self.pages)?, Bucket(0), store, positions, rng)?;
                self.end(bytes + oram.trusted_bytes(), oram, platform)
            }
            Scheme::Opam => {
                let store = self
                    .with_table(platform.equip(SealedPages::new(memory, &layout, key, table())?), &layout)?;
                let bytes = store.trusted_bytes() as usize + sealing_bytes;
                let parameters = OpamParameters::for_capacity(self.pages, PAGE_BYTES as u32)?;
                let oram = OpamOram::new(parameters, store, rng)?;
                self.end(bytes + oram.trusted_bytes(), oram, platform)
            }
        }
    }

    /// Fills the pages of a scheme with a position map of its own, if requested.
    fn with_table<M: SharedMemory, V: Versions>(
        &self,
        pages: SealedPages<M, V>,
        layout: &Layout,
    ) -> Result<SealedPages<M, V>, SchemeError> {
        if self.filled {
            prefill_slots(&pages, layout).map_err(SchemeError::Fill)?;
        }
        Ok(pages)
    }

    /// Fills the areas of DetWoORAM and its variants, if requested: a round of the holding area refreshes each main
    /// slot.
    fn fill(&self, oram: &mut impl Oram<Error = PageError>) -> Result<(), SchemeError> {
        let writes = if self.filled { self.areas().holding } else { 0 };
        prefill_by_writes(oram, writes).map_err(SchemeError::FillByWrites)
    }

    /// Passes the fault path over a scheme to the platform.
    pub(crate) fn end<M, O, P>(
        &self,
        trusted_bytes: usize,
        oram: O,
        platform: P,
    ) -> Result<P::Built, SchemeError>
    where
        O: Oram<Error = PageError> + Send + 'static,
        P: Platform<M>,
    {
        Ok(platform.take(FaultPath::new(oram, self.resident, self.policy)?, trusted_bytes))
    }
}
