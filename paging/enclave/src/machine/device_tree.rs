//! The device tree: it tells where the launch package is.

use core::ops::Range;
use hermit_dtb::Dtb;

/// The places where the emulator has put something.
pub(super) struct Places {
    pub(super) package: Range<usize>,
    pub(super) device_tree: Range<usize>,
}

/// Reads the tree.
///
/// # Safety
/// The address is the one from the firmware.
pub(super) unsafe fn read(at: *const u8) -> Option<Places> {
    // SAFETY: the firmware puts a tree there, in private memory.
    let tree = unsafe { Dtb::from_raw(at) }?;
    let address = |name| tree.get_property("/chosen", name).map(number);
    let package = address("linux,initrd-start")?..address("linux,initrd-end")?;
    // SAFETY: its header contains its length after the first four bytes.
    let bytes = number(unsafe { core::slice::from_raw_parts(at.wrapping_add(4), 4) });
    let at = at.expose_provenance();
    Some(Places { package, device_tree: at..at.saturating_add(bytes) })
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |value, byte| value << 8 | usize::from(*byte))
}
