//! A machine with the trusted disks of a vault and its successor, each with a store over a network. When it is killed,
//! both vaults are killed at once.

use crate::support::fragile_disk::{Crash, FragileDisk};
use crate::support::network::{Network, NetworkLink};
use crate::support::rng::TestRng;
use crate::support::{header, setup};
use ameles_seal::master_key::MasterKey;
use ameles_store::VersionedMemory;
use ameles_vault::AnyStore;
use ameles_vault::{Setup, TrustedDisk, Vault, VaultHeader, VaultParameters};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A vault's disk, store and key.
pub struct VaultSide {
    pub header: VaultHeader,
    pub disk: FragileDisk,
    memory: VersionedMemory,
    link: NetworkLink,
    key: u8,
}

impl VaultSide {
    /// A new vault with empty blocks.
    pub async fn new(parameters: VaultParameters, key: u8, slowest: u64, rng: &mut TestRng) -> Self {
        let header = header(parameters, rng.seed());
        let memory = VersionedMemory::new(header.parameters.layout());
        let link = NetworkLink::new(slowest, rng.fork());
        let side = VaultSide { header, disk: FragileDisk::default(), memory, link, key };
        let disk = side.mount();
        let mut setup = side.setup(&disk, rng);
        Vault::create(&mut setup, &side.header).await.expect("it is made");
        drop((setup, disk));
        side.disk.unplug();
        side
    }

    pub fn mount(&self) -> TrustedDisk {
        self.disk.mount().expect("what a crash leaves can be opened")
    }

    pub fn master(&self) -> MasterKey {
        MasterKey::take(&mut [self.key; 32])
    }

    pub fn setup(&self, disk: &TrustedDisk, rng: &mut TestRng) -> Setup<AnyStore> {
        let network = Network::new(self.memory.clone(), self.link.clone());
        Setup { master: self.master(), ..setup(disk, network, rng.seed()) }
    }

    /// Crashes this side after the process was killed.
    pub fn crash(&self, how: Crash, rng: &mut TestRng) {
        self.link.crash();
        self.disk.crash(how, rng);
    }
}

/// The way in which a process is killed, unless it finishes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// The process is killed after this many waits.
    Waits(u64),
    /// The power fails in the middle of a change of one of the disks.
    PowerOfOld(u64),
    PowerOfNew(u64),
    /// The process is not killed.
    None,
}

/// A process over two disks. `None` if it was killed; both disks are unplugged then, before anything is dropped.
pub struct Process<'a, F> {
    future: Option<Pin<Box<F>>>,
    disks: [&'a FragileDisk; 2],
    waits_left: Option<u64>,
}

impl<'a, F: Future> Process<'a, F> {
    pub fn new(future: F, disks: [&'a FragileDisk; 2], crash_point: CrashPoint) -> Self {
        let waits_left = match crash_point {
            CrashPoint::Waits(waits) => Some(waits),
            CrashPoint::PowerOfOld(changes) => {
                disks[0].fail_after(Some(changes));
                None
            }
            CrashPoint::PowerOfNew(changes) => {
                disks[1].fail_after(Some(changes));
                None
            }
            CrashPoint::None => None,
        };
        Process { future: Some(Box::pin(future)), disks, waits_left }
    }
}

impl<F: Future> Future for Process<'_, F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.future.as_mut().expect("it is not polled after its end");
        let polled = future.as_mut().poll(context);
        let has_failed = self.disks.iter().any(|disk| disk.has_failed());
        let is_over = match (&polled, &mut self.waits_left) {
            (Poll::Pending, Some(0)) => true,
            (Poll::Pending, Some(left)) => {
                *left -= 1;
                false
            }
            _ => false,
        };
        if polled.is_ready() || has_failed || is_over {
            self.disks.iter().for_each(|disk| disk.unplug());
            self.future = None;
        }
        if has_failed || is_over { Poll::Ready(None) } else { polled.map(Some) }
    }
}
