//! A machine with the trusted disks of a vault and its successor, each with a store at the end of a network; and how it
//! dies: both vaults at once.

use crate::support::chance::Chance;
use crate::support::fragile_disk::{Crash, FragileDisk};
use crate::support::network::{Network, Wire};
use crate::support::{header, setup};
use ameles_seal::master_key::MasterKey;
use ameles_store::VersionedMemory;
use ameles_vault::AnyStore;
use ameles_vault::{Setup, TrustedDisk, Vault, VaultHeader, VaultParameters};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A vault's disk, store and key.
pub struct Side {
    pub header: VaultHeader,
    pub disk: FragileDisk,
    memory: VersionedMemory,
    wire: Wire,
    key: u8,
}

impl Side {
    /// A new vault that holds nothing.
    pub async fn new(parameters: VaultParameters, key: u8, slowest: u64, chance: &mut Chance) -> Self {
        let header = header(parameters, chance.seed());
        let memory = VersionedMemory::new(header.parameters.layout());
        let wire = Wire::new(slowest, chance.fork());
        let side = Side { header, disk: FragileDisk::default(), memory, wire, key };
        let disk = side.mount();
        let mut setup = side.setup(&disk, chance);
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

    pub fn setup(&self, disk: &TrustedDisk, chance: &mut Chance) -> Setup<AnyStore> {
        let network = Network::new(self.memory.clone(), self.wire.clone());
        Setup { master: self.master(), ..setup(disk, network, chance.seed()) }
    }

    /// Crashes the side after the process has died.
    pub fn crash(&self, how: Crash, chance: &mut Chance) {
        self.wire.crash();
        self.disk.crash(how, chance);
    }
}

/// The way in which a process ends, unless it comes to its end before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// The process ends when it has waited so often.
    Waits(u64),
    /// The power fails in the midst of a change of one of the disks.
    PowerOfOld(u64),
    PowerOfNew(u64),
    /// The process does not die.
    None,
}

/// A process over two disks. `None` if it died; both disks are unplugged then, before anything is dropped.
pub struct Process<'a, F> {
    future: Option<Pin<Box<F>>>,
    disks: [&'a FragileDisk; 2],
    waits_left: Option<u64>,
}

impl<'a, F: Future> Process<'a, F> {
    pub fn new(future: F, disks: [&'a FragileDisk; 2], death: Death) -> Self {
        let waits_left = match death {
            Death::Waits(waits) => Some(waits),
            Death::PowerOfOld(changes) => {
                disks[0].fail_after(Some(changes));
                None
            }
            Death::PowerOfNew(changes) => {
                disks[1].fail_after(Some(changes));
                None
            }
            Death::None => None,
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
