//! The socket between the paged process and its watcher, both ends. Numbers are eight bytes each, little-endian.

use super::memory::WatchedMemory;
use crate::error::Error;
use crate::fault::counters::Counters;
use crate::options::Options;
use crate::region::Region;
use ameles_seal::pages::SharedMemory;
use rustix::cmsg_space;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, FdFlags, IoSlice, IoSliceMut, fcntl_setfd, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, send, sendmsg, socketpair,
};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

/// The watcher's answers to a fault.
const RESUME: u8 = 1;
const STOP: u8 = 0;

/// The layout of the slots in untrusted memory. Public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The number of slots, each of which holds one sealed page (a whole bucket, under Path ORAM).
    pub slots: u64,
    /// The number of bytes from one slot to the next.
    pub stride: u64,
    /// N and M, slots of the main and of the holding area, under DetWoORAM and its variants.
    pub areas: Option<(u64, u64)>,
}

impl Geometry {
    /// The geometry of a region.
    fn of(region: &Region) -> Result<Self, Error> {
        let Options { pages, scheme, ratio, .. } = *region.options();
        let slots = scheme.layout(pages, ratio)?.slots();
        let areas = scheme.has_ratio().then(|| (pages, slots - pages));
        Ok(Geometry { slots, stride: region.untrusted().bytes() as u64 / slots, areas })
    }

    fn numbers(&self) -> [u64; 4] {
        let (main, holding) = self.areas.unwrap_or_default();
        [self.slots, self.stride, main, holding]
    }

    /// The geometry with these numbers, if they are consistent and fit a memory of this size.
    fn checked([slots, stride, main, holding]: [u64; 4], bytes: usize) -> Result<Self, WatchError> {
        let areas = (main > 0).then_some((main, holding));
        let fits = slots.checked_mul(stride).is_some_and(|needed| needed <= bytes as u64);
        let adds_up = areas.is_none_or(|_| main.checked_add(holding) == Some(slots) && holding > 0);
        if !fits || !adds_up || stride < 64 || !stride.is_multiple_of(8) {
            return Err(WatchError::Message);
        }
        Ok(Geometry { slots, stride, areas })
    }
}

/// The counts after a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultCounts {
    /// The number of faults so far, including this one.
    pub faults: u64,
    /// The number of evictions so far.
    pub evictions: u64,
}

/// The reason why a process cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The socket, or the memory.
    #[error("the system refused {what}: {errno}")]
    System {
        /// The thing that was requested.
        what: &'static str,
        /// The reason that the system gave.
        errno: Errno,
    },
    /// A message that no paged process sends.
    #[error("the paged program, or another program in its place, sent an invalid message")]
    Message,
    /// The region's layout.
    #[error(transparent)]
    Region(#[from] Error),
}

fn refused(what: &'static str) -> impl Fn(Errno) -> WatchError {
    move |errno| WatchError::System { what, errno }
}

/// The end in the paged process.
#[derive(Debug)]
pub struct FaultReporter {
    socket: OwnedFd,
    on: AtomicBool,
}

impl FaultReporter {
    /// A reporter over the end that the watcher passed on.
    pub fn new(socket: OwnedFd) -> Self {
        FaultReporter { socket, on: AtomicBool::new(true) }
    }

    /// Sends the untrusted memory of a region that was not accessed yet.
    ///
    /// # Errors
    /// [`WatchError`].
    pub fn on_region_ready(&self, region: &Region) -> Result<(), WatchError> {
        let numbers = Geometry::of(region)?.numbers().map(u64::to_le_bytes);
        let files = [region.untrusted().as_fd()];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&files));
        sendmsg(&self.socket, &[IoSlice::new(numbers.as_flattened())], &mut ancillary, SendFlags::NOSIGNAL)
            .map_err(refused("the watcher its memory"))?;
        Ok(())
    }

    /// Reports a fault and waits for the watcher. Allocates nothing. It does nothing once the watcher has gone or has
    /// stopped watching.
    pub fn report(&self, counters: &Counters) {
        if self.on.load(Ordering::Relaxed) && !self.is_answered(counters) {
            self.on.store(false, Ordering::Relaxed);
        }
    }

    fn is_answered(&self, counters: &Counters) -> bool {
        let numbers = [counters.faults, counters.evictions].map(u64::to_le_bytes);
        let mut answer = [STOP];
        let sent = retry_on_intr(|| send(&self.socket, numbers.as_flattened(), SendFlags::NOSIGNAL));
        sent.is_ok()
            && retry_on_intr(|| recv(&self.socket, &mut answer, RecvFlags::empty())).is_ok()
            && answer == [RESUME]
    }
}

/// The watcher's end.
#[derive(Debug)]
pub struct Watcher {
    socket: OwnedFd,
}

impl Watcher {
    /// A watcher, and the end for the process to be watched, which processes inherit. Close it here after that process
    /// has been started: otherwise its end is not noticed.
    ///
    /// # Errors
    /// [`WatchError`].
    pub fn new() -> Result<(Self, OwnedFd), WatchError> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::empty(), None)
                .map_err(refused("a pair of sockets"))?;
        fcntl_setfd(&ours, FdFlags::CLOEXEC).map_err(refused("a pair of sockets"))?;
        Ok((Watcher { socket: ours }, theirs))
    }

    /// Waits for the untrusted memory. `None` if the process ends before it has a region.
    ///
    /// # Errors
    /// [`WatchError`].
    pub fn memory(&self) -> Result<Option<(WatchedMemory, Geometry)>, WatchError> {
        let mut numbers = [[0; 8]; 4];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = retry_on_intr(|| {
            let mut into = [IoSliceMut::new(numbers.as_flattened_mut())];
            recvmsg(&self.socket, &mut into, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        });
        let bytes = match received {
            Ok(received) => received.bytes,
            Err(Errno::CONNRESET) => 0,
            Err(errno) => return Err(refused("the memory to be watched")(errno)),
        };
        if bytes == 0 {
            return Ok(None);
        }
        let file = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        let file = file.filter(|_| bytes == numbers.as_flattened().len()).ok_or(WatchError::Message)?;
        let memory = WatchedMemory::map(file).map_err(refused("the memory to be watched"))?;
        let geometry = Geometry::checked(numbers.map(u64::from_le_bytes), memory.bytes())?;
        Ok(Some((memory, geometry)))
    }

    /// Waits for the next fault; from then on the memory does not change, until [`resume`](Self::resume) or
    /// [`stop_watching`](Self::stop_watching). `None` if the process has ended.
    ///
    /// # Errors
    /// [`WatchError`].
    pub fn fault(&self) -> Result<Option<FaultCounts>, WatchError> {
        let mut numbers = [[0; 8]; 2];
        let bytes = match retry_on_intr(|| recv(&self.socket, numbers.as_flattened_mut(), RecvFlags::empty()))
        {
            Ok((_, bytes)) => bytes,
            // It ended, or closed its end, before it got its answer.
            Err(Errno::CONNRESET) => 0,
            Err(errno) => return Err(refused("the next fault")(errno)),
        };
        let [faults, evictions] = numbers.map(u64::from_le_bytes);
        match bytes {
            0 => Ok(None),
            16 => Ok(Some(FaultCounts { faults, evictions })),
            _ => Err(WatchError::Message),
        }
    }

    /// Lets the process run to its next fault.
    pub fn resume(&self) {
        self.answer(RESUME);
    }

    /// Lets the process run without reporting faults any more.
    pub fn stop_watching(&self) {
        self.answer(STOP);
    }

    fn answer(&self, answer: u8) {
        // The end of the process is noticed at the next wait.
        let _ = send(&self.socket, &[answer], SendFlags::NOSIGNAL);
    }
}
