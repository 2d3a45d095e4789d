//! The kernel's word that this virtual machine was resumed from a snapshot: the driver `vmgenid` sends an event when the
//! hypervisor has given the machine another generation.

pub use system::Resumptions;

/// The key and value with which the driver tells it.
const NEW_GENERATION: &[u8] = b"NEW_VMGENID=1";

/// Tells whether an event of the kernel, as it stands in its datagram, says that the machine has another generation.
fn is_new_generation(event: &[u8]) -> bool {
    // The first field is the event's headline. The others are keys and values.
    event.split(|byte| *byte == 0).skip(1).any(|field| field == NEW_GENERATION)
}

#[cfg(target_os = "linux")]
mod system {
    use super::is_new_generation;
    use rustix::io::Errno;
    use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
    use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recvfrom, socket_with};
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use tokio::io::unix::AsyncFd;

    /// The driver, where the machine has the device.
    const DRIVER: &str = "/sys/bus/platform/drivers/vmgenid";
    /// The kernel's events, and not those that udev sends on.
    const FROM_KERNEL: u32 = 1;
    /// The kernel's own address.
    const KERNEL: u32 = 0;
    /// More than an event ever has: the kernel bounds its fields by 2 KiB.
    const MOST_BYTES: usize = 8192;

    /// The events of the kernel, listened to from now on.
    pub struct Resumptions(AsyncFd<OwnedFd>);

    impl Resumptions {
        /// Listens, where the machine tells of it.
        pub fn listen() -> Option<Self> {
            if !Path::new(DRIVER).exists() {
                tracing::debug!("this machine does not tell when it is resumed from a snapshot");
                return None;
            }
            Self::of_kernel()
                .inspect_err(|error| tracing::debug!(%error, "the kernel's events cannot be had"))
                .ok()
        }

        pub(super) fn of_kernel() -> std::io::Result<Self> {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(KOBJECT_UEVENT))?;
            bind(&socket, &SocketAddrNetlink::new(0, FROM_KERNEL))?;
            Ok(Resumptions(AsyncFd::register(socket)?))
        }

        /// Waits until the machine is resumed from a snapshot; forever if events cannot be read any more.
        pub async fn next(&mut self) {
            loop {
                match self.event().await {
                    Ok(event) if is_new_generation(&event) => return,
                    Ok(_) => {}
                    // Events were lost, and this may have been among them: with a device so rarely used, hardly.
                    Err(error) if Errno::from_io_error(&error) == Some(Errno::NOBUFS) => {}
                    Err(error) => {
                        tracing::debug!(%error, "the kernel's events cannot be read");
                        return std::future::pending().await;
                    }
                }
            }
        }

        pub(super) async fn event(&mut self) -> std::io::Result<Vec<u8>> {
            loop {
                let mut ready = self.0.readable().await?;
                let mut event = vec![0; MOST_BYTES];
                let received =
                    ready.try_io(|socket| Ok(recvfrom(socket, event.as_mut_slice(), RecvFlags::empty())?));
                let Ok(received) = received else { continue };
                let (bytes, _, sender) = received?;
                let sender = sender.and_then(|sender| SocketAddrNetlink::try_from(sender).ok());
                if sender.is_some_and(|sender| sender.pid() == KERNEL) {
                    event.truncate(bytes);
                    return Ok(event);
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    /// No event: other systems tell nothing.
    pub struct Resumptions;

    impl Resumptions {
        /// There is nothing to listen to.
        pub fn listen() -> Option<Self> {
            None
        }

        /// Waits forever.
        pub async fn next(&mut self) {
            std::future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events that a kernel 6.18 sent for a word written to `/sys/…/uevent`, which it marks as synthetic.
    const RECORDED: [&[u8]; 2] = [
        b"change@/devices/virtual/mem/null\0ACTION=change\0DEVPATH=/devices/virtual/mem/null\0SUBSYSTEM=mem\0\
          SYNTH_UUID=01234567-89ab-cdef-0123-456789abcdef\0SYNTH_ARG_NEWVMGENID=1\0MAJOR=1\0MINOR=3\0DEVNAME=null\0\
          DEVMODE=0666\0SEQNUM=815\0",
        b"change@/devices/platform/pcspkr\0ACTION=change\0DEVPATH=/devices/platform/pcspkr\0SUBSYSTEM=platform\0\
          SYNTH_UUID=01234567-89ab-cdef-0123-456789abcdef\0SYNTH_ARG_NEWVMGENID=1\0MODALIAS=platform:pcspkr\0\
          SEQNUM=816\0",
    ];

    /// The same event as the driver sends it: its field stands where the kernel puts a driver's own.
    fn of_driver(recorded: &[u8]) -> Vec<u8> {
        let text = std::str::from_utf8(recorded).expect("text");
        let synthetic = "SYNTH_UUID=01234567-89ab-cdef-0123-456789abcdef\0SYNTH_ARG_NEWVMGENID=1";
        assert!(text.contains(synthetic));
        text.replace(synthetic, "NEW_VMGENID=1").into_bytes()
    }

    #[test]
    fn an_event_of_the_driver_is_told_from_every_other() {
        for recorded in RECORDED {
            assert!(!is_new_generation(recorded), "whoever may write to a device's file is no hypervisor");
            assert!(is_new_generation(&of_driver(recorded)));
        }
        for other in
            [&b""[..], b"NEW_VMGENID=1", b"change@/x\0NEW_VMGENID=10\0", b"change@/x\0OLD_NEW_VMGENID=1\0"]
        {
            assert!(!is_new_generation(other), "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn whatever_a_datagram_holds_is_read_without_a_panic() {
        bolero::check!().for_each(|bytes: &[u8]| {
            is_new_generation(bytes);
        });
    }

    /// The kernel sends an event for a word in the file of a device. Only root may write there.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn events_of_the_kernel_arrive() {
        let Ok(mut events) = system::Resumptions::of_kernel() else { return };
        let word = "change 01234567-89ab-cdef-0123-456789abcdef";
        if std::fs::write("/sys/devices/virtual/mem/null/uevent", word).is_err() {
            return;
        }
        let mine = async {
            while !events
                .event()
                .await
                .expect("an event")
                .windows(36)
                .any(|part| part == &word.as_bytes()[7..])
            {}
        };
        // In a network of its own a process hears nothing.
        let _ = tokio::time::timeout(std::time::Duration::from_secs(2), mine).await;
    }
}
