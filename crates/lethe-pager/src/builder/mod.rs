//! A scheme over sealed pages in shared memory, with a fresh key.

mod beside;
mod built;
mod pool;
pub(crate) mod worth;

pub(crate) use built::Built;

use crate::error::Error;
#[cfg(target_env = "gnu")]
use crate::linux::own_stack::OwnStack;
use crate::options::{Meters, Options};
use crate::page::PAGE_BYTES;
use crate::scheme::Scheme;
use crate::shared::SharedMapping;
use crate::size::{path_parameters, plain_parameters};
use beside::carried_beside;
use built::built;
use lethe_core::layout::Layout;
use lethe_core::position_map::flat::{FlatPositionMap, Positions};
use lethe_core::schemes::detworam::{DetWoOram, DetWoParameters};
use lethe_core::schemes::eager::{EagerOram, EagerParameters};
use lethe_core::schemes::opam::{OpamOram, OpamParameters};
use lethe_core::schemes::path::PathOram;
use lethe_core::schemes::plain::Plain;
use lethe_core::words::Bucket;
use lethe_seal::pages::{PageKey, PagePool, ScheduledVersions, SealedPages, TableVersions, Versions};
use pool::pool;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::sync::Arc;

/// Builds the scheme with its key. Its traces on the stack go, so that no child has them.
pub(crate) fn build(options: &Options, shared: &Arc<SharedMapping>) -> Result<Built, Error> {
    #[cfg(target_env = "gnu")]
    {
        let refused = |errno| Error::System { what: "a stack", errno };
        let stack = OwnStack::inherited().map_err(refused)?;
        stack.run(|| build_here(options, Arc::clone(shared)))
    }
    #[cfg(not(target_env = "gnu"))]
    build_here(options, Arc::clone(shared))
}

/// The same on the caller's stack.
fn build_here(options: &Options, shared: Arc<SharedMapping>) -> Result<Built, Error> {
    let scheme = options.scheme;
    let layout = scheme.layout(options.pages, options.ratio)?;
    let buckets = layout.buckets();
    let mut rng = ChaCha20Rng::try_from_os_rng().map_err(|error| Error::Entropy(error.into()))?;
    let areas = DetWoParameters::for_ratio(options.pages, options.ratio, PAGE_BYTES as u32);
    if let Some(manner) = options.manner() {
        return carried_beside(areas, manner, options, shared, &mut rng);
    }
    let key = PageKey::draw(options.cipher, &mut rng);
    let pool = scheme.is_parallel().then(|| pool(options)).transpose()?;
    let threads = pool.as_ref().map_or(1, |pool| pool.threads());
    let sealing = Sealing { shared, layout, key, pool, meters: options.listeners.meters };
    let sealing_bytes = threads * (PAGE_BYTES + options.cipher.tag_bytes());
    let (faults, bytes) = match scheme {
        Scheme::Plain => {
            let plain =
                Plain::new(plain_parameters(options.pages), sealing.over(TableVersions::new(buckets))?)?;
            let bytes = plain.trusted_bytes() as u64 + TableVersions::new(buckets).trusted_bytes();
            built(plain, bytes as usize + sealing_bytes, options)
        }
        Scheme::DetWoOram | Scheme::Parallel => {
            let versions = ScheduledVersions::new(&areas.schedule()?);
            let bytes = versions.trusted_bytes() as usize + sealing_bytes;
            let oram = DetWoOram::new(areas, sealing.over(versions)?)?;
            let bytes = bytes + oram.trusted_bytes();
            built(oram, bytes, options)
        }
        Scheme::Eager | Scheme::EagerParallel => {
            let schedule = areas.schedule()?;
            let versions = ScheduledVersions::new(&schedule);
            let bytes = versions.trusted_bytes() as usize + sealing_bytes;
            let all = schedule.most_refreshes() as u32 + 1;
            let step_pages = options.step_pages.unwrap_or(if scheme.is_parallel() { all } else { 4 });
            let oram = EagerOram::new(EagerParameters { areas, step_pages }, sealing.over(versions)?)?;
            let bytes = bytes + oram.trusted_bytes();
            built(oram, bytes, options)
        }
        Scheme::Path => {
            let versions = TableVersions::new(buckets);
            let bytes = versions.trusted_bytes() as usize + sealing_bytes;
            let positions = FlatPositionMap::new(Positions::new(options.pages));
            let (parameters, store) = (path_parameters(options.pages)?, sealing.over(versions)?);
            let oram = PathOram::new(parameters, Bucket(0), store, positions, rng)?;
            let bytes = bytes + oram.trusted_bytes();
            built(oram, bytes, options)
        }
        Scheme::Opam => {
            let versions = TableVersions::new(buckets);
            let bytes = versions.trusted_bytes() as usize + sealing_bytes;
            let parameters = OpamParameters::for_capacity(options.pages, PAGE_BYTES as u32)?;
            let oram = OpamOram::new(parameters, sealing.over(versions)?, rng)?;
            let bytes = bytes + oram.trusted_bytes();
            built(oram, bytes, options)
        }
    }?;
    Ok(Built { faults, trusted_bytes: bytes, threads })
}

/// The parts of the sealing layer of a region.
struct Sealing {
    shared: Arc<SharedMapping>,
    layout: Layout,
    key: PageKey,
    pool: Option<Arc<PagePool>>,
    meters: Option<Meters>,
}

impl Sealing {
    fn over<V: Versions>(self, versions: V) -> Result<SealedPages<Arc<SharedMapping>, V>, Error> {
        let pages = SealedPages::new(self.shared, &self.layout, self.key, versions)?;
        let pages = match self.meters {
            Some(meters) => pages.with_meter(meters.here),
            None => pages,
        };
        Ok(match self.pool {
            Some(pool) => pages.with_pool(pool),
            None => pages,
        })
    }
}
