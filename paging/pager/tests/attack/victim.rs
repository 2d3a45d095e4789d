//! The program with a secret, and the transcript of its untrusted memory.

use ameles_core::testing::oblivious::programs::pseudocode_1;
use ameles_pager::after_fault::AfterFault;
use ameles_pager::fault::counters::Counters;
use ameles_pager::fault::policy::Policy;
use ameles_pager::fault_handling::FaultHandling;
use ameles_pager::options::{Listeners, Options};
use ameles_pager::page::PAGE_BYTES;
use ameles_pager::region::Region;
use ameles_pager::scheme::Scheme;
use ameles_seal::pages::SharedMemory;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::pread;
use std::sync::{Arc, Mutex};

const PAGES: u64 = 16;

/// The number of passes of the program over its pages.
const ROUNDS: usize = 4;

/// The accesses before the secret is used: page 1 often, page 2 never. So the two secrets are not symmetric.
const HISTORY: [u64; 16] = [1, 4, 5, 6, 1, 4, 5, 6, 1, 4, 5, 6, 1, 4, 5, 6];

/// The number of faults of the history. Public.
pub(crate) const HISTORY_FAULTS: usize = HISTORY.len();

/// The setup of a victim's paging. Three pages are resident, as in the paper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PagingSetup {
    pub(crate) scheme: Scheme,
    pub(crate) second_process: bool,
    pub(crate) policy: Policy,
    pub(crate) fault_handling: FaultHandling,
}

/// The slots that changed at each fault.
pub(crate) type Transcript = Vec<Vec<u64>>;

/// Snapshots of the whole untrusted memory, compared byte by byte.
#[derive(Default)]
struct Snapshots {
    memory: Option<OwnedFd>,
    stride: usize,
    last: Vec<u8>,
    transcript: Transcript,
}

impl Snapshots {
    fn take(&mut self) {
        let memory = self.memory.as_ref().expect("the region exists before it faults");
        let mut now = vec![0; self.last.len()];
        assert_eq!(pread(memory, &mut now, 0), Ok(now.len()));
        let slots = (0..).zip(now.chunks(self.stride).zip(self.last.chunks(self.stride)));
        self.transcript.push(slots.filter(|(_, (now, last))| now != last).map(|(slot, _)| slot).collect());
        self.last = now;
    }
}

impl PagingSetup {
    /// Runs the program of Pseudocode 1 once, in a region of its own.
    pub(crate) fn run(self, secret: u64) -> Transcript {
        let PagingSetup { scheme, second_process, policy, fault_handling } = self;
        let snapshots = Arc::new(Mutex::new(Snapshots::default()));
        let watched = Arc::clone(&snapshots);
        let look = move |_: &Counters| watched.lock().unwrap().take();
        let mut region = Region::new(Options {
            resident: 3,
            scheme,
            second_process,
            policy,
            fault_handling,
            threads: Some(2),
            listeners: Listeners {
                after_fault: AfterFault::CallWhenQuiescent(Arc::new(look)),
                ..Listeners::default()
            },
            ..Options::new(PAGES)
        })
        .unwrap();
        {
            let mut snapshots = snapshots.lock().unwrap();
            let bytes = region.untrusted().bytes();
            snapshots.memory = Some(region.untrusted().as_fd().try_clone_to_owned().unwrap());
            snapshots.stride = bytes / scheme.layout(PAGES, region.options().ratio).unwrap().slots() as usize;
            snapshots.last = vec![0; bytes];
        }
        for page in HISTORY.into_iter().chain(pseudocode_1(secret, ROUNDS)) {
            region.as_mut_slice()[page as usize * PAGE_BYTES..][..PAGE_BYTES].fill(0);
        }
        drop(region);
        std::mem::take(&mut snapshots.lock().unwrap().transcript)
    }
}
