//! The schemes by their names: how much untrusted and trusted memory each takes, and what it hides.

use crate::error::Error;
use crate::fault::path::FaultPath;
use crate::linux::beside::SecondProcess;
use crate::linux::in_thread::OffLine;
use crate::linux::paging::Faults;
use crate::linux::shootdown;
use crate::options::{HandlerProcessor, Meters, Options, PAGE_BYTES};
use crate::shared::SharedMapping;
use core::fmt;
use core::str::FromStr;
use lethe_core::layout::Layout;
use lethe_core::oram::Oram;
use lethe_core::position_map::flat::{FlatPositionMap, Positions};
use lethe_core::schemes::detworam::{DetWoOram, DetWoParameters};
use lethe_core::schemes::eager::{EagerOram, EagerParameters};
use lethe_core::schemes::opam::{OpamOram, OpamParameters};
use lethe_core::schemes::path::{PathOram, PathParameters};
use lethe_core::schemes::plain::{Plain, PlainParameters};
use lethe_core::words::Bucket;
use lethe_fork::Pool;
use lethe_seal::pages::{
    Carrier, Manner, PageCipher, PageError, PageId, PageKey, PagePool, ScheduledVersions, SealedPages,
    TableVersions, Versions, memory_bytes,
};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use rustix::io::Errno;
use std::sync::{Arc, Barrier};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// How pages go to and come from untrusted memory. `Snapshot` sees which slots of it changed between two moments,
/// `Full` sees every read and write.
///
/// | | hides from | trusted memory, beside resident pages (R) and 1 byte a page |
/// |---|---|---|
/// | `Plain` | nobody | 8 bytes a page of versions |
/// | `DetWoOram`, `Parallel` | `Snapshot` | 4 bytes a page of position map, K + 1 pages, counters |
/// | `Eager`, `EagerParallel` | `Snapshot` | the same; the K + 1 pages are the preload buffer |
/// | `Path` | `Snapshot`, `Full` | 4 bytes a page of position map, 8 a bucket of versions, stash, two paths |
/// | `Opam` | nobody (broken, for comparison) | 4 bytes a page, 12 a slot, stash, a path of single slots |
///
/// With a second process `Eager`, `Parallel` and `EagerParallel` have 4(K + 1) pages more, in memory that both share.
///
/// To each come the key, and one sealed page for each thread. [`Region::trusted_bytes`](crate::region::Region) counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Encryption and authentication in place, no ORAM: the baseline.
    Plain,
    /// DetWoORAM.
    #[default]
    DetWoOram,
    /// Its pages are refreshed ahead and unloaded afterwards, between two faults.
    Eager,
    /// Its pages are refreshed side by side on several threads.
    Parallel,
    /// Both.
    EagerParallel,
    /// Path ORAM.
    Path,
    /// OPAM (InvisiPage).
    Opam,
}

/// An unfinished writing's worth of the room that `Path` reckons with on the trusted side: none beyond what it must.
const PATH_TRUSTED_BLOCKS: u64 = 0;

impl Scheme {
    /// Every scheme there is.
    pub const ALL: [Scheme; 7] = [
        Scheme::Plain,
        Scheme::DetWoOram,
        Scheme::Eager,
        Scheme::Parallel,
        Scheme::EagerParallel,
        Scheme::Path,
        Scheme::Opam,
    ];

    /// The name used on command lines and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Plain => "plain",
            Scheme::DetWoOram => "detworam",
            Scheme::Eager => "eager",
            Scheme::Parallel => "parallel",
            Scheme::EagerParallel => "eager-parallel",
            Scheme::Path => "path",
            Scheme::Opam => "opam",
        }
    }

    /// Whether K counts.
    pub fn has_ratio(self) -> bool {
        matches!(self, Scheme::DetWoOram | Scheme::Eager | Scheme::Parallel | Scheme::EagerParallel)
    }

    /// Whether it seals and opens pages on several threads.
    pub fn is_parallel(self) -> bool {
        matches!(self, Scheme::Parallel | Scheme::EagerParallel)
    }

    /// Whether it leaves work to be done between two faults.
    pub fn idles(self) -> bool {
        matches!(self, Scheme::Eager | Scheme::EagerParallel | Scheme::Path)
    }

    /// Untrusted memory that a region of so many pages takes, in bytes.
    ///
    /// # Errors
    /// Parameters that the scheme refuses.
    pub fn untrusted_bytes(self, pages: u64, ratio: u64, cipher: PageCipher) -> Result<u64, Error> {
        Ok(memory_bytes(&self.layout(pages, ratio)?, cipher)? as u64)
    }

    /// The most pages for which so many bytes of untrusted memory are enough. 0 if they are not enough for one.
    pub fn most_pages(self, untrusted_bytes: u64, ratio: u64, cipher: PageCipher) -> u64 {
        let fits =
            |pages| self.untrusted_bytes(pages, ratio, cipher).is_ok_and(|needed| needed <= untrusted_bytes);
        // Every page takes a page at least.
        let (mut fit, mut too_many) = (0, untrusted_bytes / PAGE_BYTES as u64 + 1);
        while too_many - fit > 1 {
            let middle = fit + (too_many - fit) / 2;
            if fits(middle) { fit = middle } else { too_many = middle }
        }
        fit
    }

    /// Slots of untrusted memory that a region of so many pages has.
    ///
    /// # Errors
    /// As [`untrusted_bytes`](Self::untrusted_bytes).
    pub fn layout(self, pages: u64, ratio: u64) -> Result<Layout, Error> {
        let block_bytes = PAGE_BYTES as u32;
        Ok(match self {
            Scheme::Plain => {
                let parameters = plain_parameters(pages);
                parameters.validate()?;
                parameters.layout()
            }
            Scheme::DetWoOram | Scheme::Eager | Scheme::Parallel | Scheme::EagerParallel => {
                let parameters = DetWoParameters::for_ratio(pages, ratio, block_bytes);
                parameters.validate()?;
                parameters.layout()
            }
            Scheme::Path => path_parameters(pages)?.layout(),
            Scheme::Opam => OpamParameters::for_capacity(pages, block_bytes)?.layout(),
        })
    }

    /// Whether its off-line work of one fault is worth waking another thread, which may then interrupt the next.
    pub(crate) fn off_line(self, options: &Options) -> Result<OffLine, Error> {
        Ok(match self {
            _ if self.manner(options).is_some() => OffLine::Nothing,
            Scheme::Eager | Scheme::EagerParallel => {
                OffLine::Some { pays: write_work(options)? > 2 * shootdown::cost()? }
            }
            Scheme::Path => OffLine::Some { pays: false },
            _ => OffLine::Nothing,
        })
    }

    /// How its pages are carried by a second process, if they are.
    pub(crate) fn manner(self, options: &Options) -> Option<Manner> {
        match self {
            _ if !options.second_process => None,
            Scheme::Parallel => Some(Manner::Together),
            Scheme::Eager => Some(Manner::Behind),
            Scheme::EagerParallel => Some(Manner::BehindTogether),
            Scheme::Plain | Scheme::DetWoOram | Scheme::Path | Scheme::Opam => None,
        }
    }

    /// The scheme over sealed pages in shared memory, with a fresh key.
    pub(crate) fn build(self, options: &Options, shared: Arc<SharedMapping>) -> Result<Built, Error> {
        let layout = self.layout(options.pages, options.ratio)?;
        let buckets = layout.buckets();
        let mut rng = ChaCha20Rng::try_from_os_rng().map_err(|error| Error::Entropy(error.into()))?;
        let areas = DetWoParameters::for_ratio(options.pages, options.ratio, PAGE_BYTES as u32);
        if let Some(manner) = self.manner(options) {
            return carried_beside(areas, manner, options, shared, &mut rng);
        }
        let key = PageKey::draw(options.cipher, &mut rng);
        let pool = self.is_parallel().then(|| pool(options)).transpose()?;
        let threads = pool.as_ref().map_or(1, |pool| pool.threads());
        let sealing = Sealing { shared, layout, key, pool, meters: options.meters };
        let sealing_bytes = threads * (PAGE_BYTES + options.cipher.tag_bytes());
        let (faults, bytes) = match self {
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
                let step_pages = options.step_pages.unwrap_or(if self.is_parallel() { all } else { 4 });
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
}

/// DetWoORAM whose pages a second process carries: eager, parallel, or both by the manner in which it does.
fn carried_beside(
    areas: DetWoParameters,
    manner: Manner,
    options: &Options,
    shared: Arc<SharedMapping>,
    rng: &mut ChaCha20Rng,
) -> Result<Built, Error> {
    let (layout, schedule) = (areas.layout(), areas.schedule()?);
    let [key, key_beside] = PageKey::draw_shared(options.cipher, rng);
    let mut carrier = Carrier::new(shared.view(), &layout, key_beside)?;
    if let Some(meters) = options.meters {
        carrier = carrier.with_meter(meters.beside);
    }
    // As many turns may be under way as one write takes with those that are read ahead for the next one.
    let room = 4 * (schedule.most_refreshes() as usize + 1);
    let not_on = match options.handler_processor {
        HandlerProcessor::Bound(processor) => Some(processor),
        HandlerProcessor::Together | HandlerProcessor::Any => None,
    };
    let beside = SecondProcess::start(room, carrier, not_on)?;
    let versions = ScheduledVersions::new(&schedule);
    let bytes = versions.trusted_bytes() as usize + beside.bytes() + PAGE_BYTES + options.cipher.tag_bytes();
    let mut pages = SealedPages::new(shared, &layout, key, versions)?.with_beside(Box::new(beside), manner);
    if let Some(meters) = options.meters {
        pages = pages.with_meter(meters.here);
    }
    let oram = DetWoOram::new(areas, pages)?;
    let bytes = bytes + oram.trusted_bytes();
    let (faults, trusted_bytes) = built(oram, bytes, options)?;
    Ok(Built { faults, trusted_bytes, threads: 2 })
}

/// A fault path, and the trusted memory of its scheme and of sealing, in bytes.
pub(crate) struct Built {
    pub(crate) faults: Box<dyn Faults>,
    pub(crate) trusted_bytes: usize,
    /// That share the work of a fault.
    pub(crate) threads: usize,
}

fn built<O: Oram<Error = PageError> + Send + 'static>(
    oram: O,
    trusted_bytes: usize,
    options: &Options,
) -> Result<(Box<dyn Faults>, usize), Error> {
    Ok((Box::new(FaultPath::new(oram, options.resident, options.policy)?), trusted_bytes))
}

/// What the sealing layer of a region is made of.
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

fn plain_parameters(pages: u64) -> PlainParameters {
    PlainParameters { capacity: pages, block_bytes: PAGE_BYTES as u32, max_batch: 1 }
}

fn path_parameters(pages: u64) -> Result<PathParameters, Error> {
    Ok(PathParameters::for_capacity(pages, PAGE_BYTES as u32, PATH_TRUSTED_BLOCKS, 1)?)
}

fn pool(options: &Options) -> Result<Arc<PagePool>, Error> {
    let threads = match options.threads {
        Some(0) => {
            return Err(Error::System {
                what: "a pool of 0 threads; choose at least 1",
                errno: Errno::INVAL,
            });
        }
        Some(threads) => threads,
        None => threads_that_pay(options)?,
    };
    // The pool's threads inherit the mask: no signal handler of the application runs on them.
    let _blocked = crate::linux::signals::Blocked::all();
    // A thread allocates when it begins: not while faults are being served.
    let begun = Arc::new(Barrier::new(threads));
    let begins = Arc::clone(&begun);
    let start = move |_| {
        begins.wait();
    };
    let pool = Pool::with_start(threads, PagePool::PATIENCE, start).map_err(Error::Thread)?;
    begun.wait();
    Ok(Arc::new(PagePool::over(pool)))
}

/// As many as there is work for, if the time that they save at each fault is more than what they cost at its two moves.
fn threads_that_pay(options: &Options) -> Result<usize, Error> {
    let processors = available_parallelism().map_or(1, |processors| processors.get() as u64);
    let threads = processors.min(options.ratio.saturating_add(1));
    if threads == 1 {
        return Ok(1);
    }
    let saved = write_work(options)?.mul_f64(1.0 - 1.0 / threads as f64);
    let pays = saved > 2 * shootdown::cost()?;
    Ok(if pays { threads as usize } else { 1 })
}

/// To open and to seal what one write moves.
fn write_work(options: &Options) -> Result<Duration, Error> {
    let pages = u32::try_from(options.ratio.min(options.pages)).unwrap_or(u32::MAX).saturating_add(1);
    Ok(page_work(options.cipher)?.saturating_mul(pages))
}

/// To open and to seal a page, the least of a few.
fn page_work(cipher: PageCipher) -> Result<Duration, Error> {
    let mut rng = ChaCha20Rng::try_from_os_rng().map_err(|error| Error::Entropy(error.into()))?;
    let key = PageKey::draw(cipher, &mut rng);
    let (mut page, mut tag) = (vec![0; PAGE_BYTES], vec![0; cipher.tag_bytes()]);
    let trials = (1..10).map(|version| {
        let id = PageId { slot: 0, version };
        let begin = Instant::now();
        key.seal(id, &mut page, &mut tag);
        key.open(id, &mut page, &tag).map(|()| begin.elapsed())
    });
    Ok(trials.flatten().min().unwrap_or_default())
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A scheme was named that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no such scheme; choose plain, detworam, eager, parallel, eager-parallel, path or opam")]
pub struct UnknownScheme;

impl FromStr for Scheme {
    type Err = UnknownScheme;

    fn from_str(name: &str) -> Result<Self, UnknownScheme> {
        Scheme::ALL.into_iter().find(|scheme| scheme.name().eq_ignore_ascii_case(name)).ok_or(UnknownScheme)
    }
}
