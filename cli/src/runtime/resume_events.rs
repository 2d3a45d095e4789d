//! Events of a virtual machine that is resumed from a snapshot. The driver `vmgenid` sends one when the hypervisor
//! gives the machine another generation.

pub use system::Resumptions;

/// The key and value of the event.
const NEW_GENERATION: &[u8] = b"NEW_VMGENID=1";

/// Returns true if the datagram of a kernel event says that the machine has another generation.
fn is_new_generation(event: &[u8]) -> bool {
    // The first field is the event's header. The others are keys and values.
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
    use tokio::sync::mpsc;

    /// The folder of the driver, if the machine has the device.
    const DRIVER: &str = "/sys/bus/platform/drivers/vmgenid";
    /// The group of the kernel's own events, without those that udev forwards.
    const FROM_KERNEL: u32 = 1;
    /// The kernel's address.
    const KERNEL: u32 = 0;
    /// The buffer size for an event, whose fields the kernel limits to 2 KiB.
    const MAX_BYTES: usize = 8192;

    /// The resumptions of this machine from now on.
    pub struct Resumptions(mpsc::Receiver<()>);

    impl Resumptions {
        /// Listens, if the machine reports resumptions.
        pub fn listen() -> Option<Self> {
            if !Path::new(DRIVER).exists() {
                tracing::debug!("this machine does not report when it is resumed from a snapshot");
                return None;
            }
            let listening = Events::listen_to_kernel().and_then(|events| {
                let (sender, receiver) = mpsc::channel(1);
                std::thread::Builder::new()
                    .name("ameles-resumed".into())
                    .spawn(move || forward_resumptions(&events, &sender))?;
                Ok(Resumptions(receiver))
            });
            listening.inspect_err(|error| tracing::debug!(%error, "cannot listen to kernel events")).ok()
        }

        /// Waits until the machine is resumed from a snapshot. Waits forever if events can no longer be read.
        pub async fn next(&mut self) {
            if self.0.recv().await.is_none() {
                std::future::pending().await
            }
        }
    }

    /// Forwards resumptions until the receiver is dropped.
    fn forward_resumptions(events: &Events, sender: &mpsc::Sender<()>) {
        loop {
            match events.next() {
                Ok(event) if is_new_generation(&event) => {
                    if sender.blocking_send(()).is_err() {
                        return;
                    }
                }
                // Events may have been lost; later ones still arrive.
                Ok(_) | Err(Errno::NOBUFS | Errno::INTR) => {}
                Err(error) => return tracing::debug!(%error, "cannot read kernel events"),
            }
        }
    }

    /// The events of the kernel.
    pub(super) struct Events(OwnedFd);

    impl Events {
        pub(super) fn listen_to_kernel() -> std::io::Result<Self> {
            let socket = socket_with(
                AddressFamily::NETLINK,
                SocketType::DGRAM,
                SocketFlags::CLOEXEC,
                Some(KOBJECT_UEVENT),
            )?;
            bind(&socket, &SocketAddrNetlink::new(0, FROM_KERNEL))?;
            Ok(Events(socket))
        }

        /// Waits for the next event.
        pub(super) fn next(&self) -> Result<Vec<u8>, Errno> {
            loop {
                let mut event = vec![0; MAX_BYTES];
                let (bytes, _, sender) = recvfrom(&self.0, event.as_mut_slice(), RecvFlags::empty())?;
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
    /// Other systems report no events.
    pub struct Resumptions;

    impl Resumptions {
        /// Returns `None`: there are no events.
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

    /// The events of a kernel 6.18 after a write to `/sys/…/uevent`, which marks them as synthetic.
    const RECORDED: [&[u8]; 2] = [
        b"change@/devices/virtual/mem/null\0ACTION=change\0DEVPATH=/devices/virtual/mem/null\0SUBSYSTEM=mem\0\
          SYNTH_UUID=01234567-89ab-cdef-0123-456789abcdef\0SYNTH_ARG_NEWVMGENID=1\0MAJOR=1\0MINOR=3\0DEVNAME=null\0\
          DEVMODE=0666\0SEQNUM=815\0",
        b"change@/devices/platform/pcspkr\0ACTION=change\0DEVPATH=/devices/platform/pcspkr\0SUBSYSTEM=platform\0\
          SYNTH_UUID=01234567-89ab-cdef-0123-456789abcdef\0SYNTH_ARG_NEWVMGENID=1\0MODALIAS=platform:pcspkr\0\
          SEQNUM=816\0",
    ];

    /// Returns the event as the driver sends it: the kernel puts a driver's field in this place.
    fn driver_event(recorded: &[u8]) -> Vec<u8> {
        let text = std::str::from_utf8(recorded).expect("text");
        let synthetic = "SYNTH_UUID=01234567-89ab-cdef-0123-456789abcdef\0SYNTH_ARG_NEWVMGENID=1";
        assert!(text.contains(synthetic));
        text.replace(synthetic, "NEW_VMGENID=1").into_bytes()
    }

    #[test]
    fn an_event_of_the_driver_is_distinguished_from_every_other() {
        for recorded in RECORDED {
            assert!(!is_new_generation(recorded), "a synthetic event does not come from the hypervisor");
            assert!(is_new_generation(&driver_event(recorded)));
        }
        for other in
            [&b""[..], b"NEW_VMGENID=1", b"change@/x\0NEW_VMGENID=10\0", b"change@/x\0OLD_NEW_VMGENID=1\0"]
        {
            assert!(!is_new_generation(other), "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn any_datagram_is_read_without_a_panic() {
        bolero::check!().for_each(|bytes: &[u8]| {
            is_new_generation(bytes);
        });
    }

    /// The kernel sends an event after a write to the file of a device, by root and not in a separate network
    /// namespace.
    #[cfg(target_os = "linux")]
    #[test]
    fn events_of_the_kernel_arrive() {
        const MARK: &str = "01234567-89ab-cdef-0123-456789abcdef";
        let Ok(events) = system::Events::listen_to_kernel() else { return };
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            while let Ok(event) = events.next() {
                if event.windows(MARK.len()).any(|part| part == MARK.as_bytes()) {
                    return drop(sender.send(event));
                }
            }
        });
        if std::fs::write("/sys/devices/virtual/mem/null/uevent", format!("change {MARK}")).is_err() {
            return;
        }
        if let Ok(event) = receiver.recv_timeout(std::time::Duration::from_secs(5)) {
            assert!(event.starts_with(b"change@/devices/virtual/mem/null\0ACTION=change\0"));
            assert!(!is_new_generation(&event));
        }
    }
}
