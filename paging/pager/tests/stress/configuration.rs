//! Configurations: every scheme with every trap, helper and K. The rest is random.

use ameles_pager::eviction::Eviction;
use ameles_pager::fault::policy::Policy;
use ameles_pager::fault_handling::FaultHandling;
use ameles_pager::options::{Handler, HandlerProcessor, Options};
use ameles_pager::scheme::Scheme;
use ameles_seal::pages::PageCipher;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::fmt;

/// The maximum number of pages that a region has.
pub(crate) const MAX_PAGES: u64 = 40;

pub(crate) struct Configuration {
    pub(crate) options: Options,
    /// The number of threads that touch the region.
    pub(crate) touching: u64,
    /// True if resident pages may be locked. The kernel ignores advice for locked pages.
    pub(crate) may_lock: bool,
    /// True if the worker process is killed.
    pub(crate) kills_worker: bool,
    /// The seed of the victim's own random numbers.
    pub(crate) seed: u64,
}

impl Configuration {
    pub(crate) fn all(seed: u64) -> Vec<Configuration> {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let mut all = Vec::new();
        for fault_handling in FaultHandling::ALL {
            for scheme in Scheme::ALL {
                // With as many as there are pages, every write refreshes all: also the page that is written.
                let ratios: &[u64] = if scheme.has_ratio() { &[1, 5, MAX_PAGES] } else { &[1] };
                for (ratio, helper) in ratios
                    .iter()
                    .flat_map(|ratio| helpers(scheme).iter().map(move |helper| (*ratio, *helper)))
                {
                    all.push(random_configuration(
                        Options { scheme, fault_handling, ratio, ..helper.options() },
                        &mut rng,
                    ));
                }
            }
        }
        all
    }
}

/// The helper that shares the work of a scheme.
#[derive(Clone, Copy)]
enum Helper {
    None,
    Thread,
    Process,
}

fn helpers(scheme: Scheme) -> &'static [Helper] {
    match scheme {
        Scheme::Eager => &[Helper::None, Helper::Process],
        Scheme::Parallel | Scheme::EagerParallel => &[Helper::None, Helper::Thread, Helper::Process],
        _ => &[Helper::None],
    }
}

impl Helper {
    fn options(self) -> Options {
        Options {
            threads: Some(if matches!(self, Helper::Thread) { 2 } else { 1 }),
            second_process: matches!(self, Helper::Process),
            ..Options::new(MAX_PAGES)
        }
    }
}

fn random_configuration(options: Options, rng: &mut ChaCha12Rng) -> Configuration {
    let mut below = |many: u64| rng.next_u64() % many;
    let pages = 8 + below(MAX_PAGES - 7);
    let options = Options {
        pages,
        ratio: options.ratio.min(pages),
        resident: 3 + below(4) as usize,
        cipher: PageCipher::ALL[below(PageCipher::ALL.len() as u64) as usize],
        policy: if below(4) == 0 { Policy::SecondChance { unmapped: 1 } } else { Policy::Fifo },
        eviction: if below(4) == 0 { Eviction::ProtectAndCopy } else { Eviction::Auto },
        handler: Handler {
            processor: if below(2) == 0 { HandlerProcessor::Any } else { HandlerProcessor::Together },
            ..Handler::default()
        },
        ..options
    };
    Configuration {
        touching: 1 + below(3),
        may_lock: below(2) == 0,
        kills_worker: options.second_process && below(4) == 0,
        seed: rng.next_u64(),
        options,
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options {
            scheme, fault_handling, ratio, pages, cipher, resident, policy, eviction, handler, ..
        } = &self.options;
        let helper = match self.options {
            Options { second_process: true, .. } => "process",
            Options { threads: Some(2), .. } => "thread",
            _ => "none",
        };
        write!(
            f,
            "{fault_handling} {scheme}, K {ratio}, helper {helper}, {cipher}, {resident} of {pages}, {policy:?}, "
        )?;
        write!(f, "{eviction:?}, {:?}, {} touching", handler.processor, self.touching)?;
        write!(
            f,
            "{}{}",
            if self.may_lock { ", locked" } else { "" },
            if self.kills_worker { ", killed" } else { "" }
        )
    }
}
