//! A hart that waits for another: it looks out for a while, then sleeps until it is interrupted.

use core::arch::asm;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, Ordering};
use sbi_rt::HartMask;

/// Looks before a hart sleeps: about as long as it takes to fall asleep and be woken.
const LOOKS: u32 = 2000;
/// The software interrupt of supervisor mode, in `sie` and `sip`.
pub(super) const SOFTWARE: usize = 2;

/// The state of a hart that may wait. Only this hart waits by it.
#[derive(Default)]
pub(super) struct Waiting {
    asleep: AtomicBool,
}

impl Waiting {
    /// Waits for something that another hart makes true before it looks whether this one [sleeps](Self::sleeps).
    ///
    /// It sleeps at once unless it `looks_out`: where harts take turns, one that looks holds the others up.
    pub(super) fn until(&self, is_true: impl Fn() -> bool, looks_out: bool) {
        if looks_out && (0..LOOKS).any(|_| look(&is_true)) {
            return;
        }
        // A software interrupt that waits ends `wfi` if it is enabled here. It traps nobody: sstatus.SIE is off, and the
        // program does not run meanwhile.
        // SAFETY: see above.
        unsafe { asm!("csrs sie, {}", in(reg) SOFTWARE, options(nomem, nostack)) };
        loop {
            // An interrupt that comes after this is not lost, and one before it made true what is looked at now.
            // SAFETY: nobody else goes by it.
            unsafe { asm!("csrc sip, {}", in(reg) SOFTWARE, options(nomem, nostack)) };
            self.asleep.store(true, Ordering::SeqCst);
            if is_true() {
                break;
            }
            // SAFETY: it waits, and changes nothing.
            unsafe { asm!("wfi", options(nomem, nostack)) };
        }
        self.asleep.store(false, Ordering::SeqCst);
        // SAFETY: as above; none waits for the program's hart then.
        unsafe { asm!("csrc sie, {}", in(reg) SOFTWARE, options(nomem, nostack)) };
    }

    /// Tells whether the hart is to be interrupted, so that it looks.
    pub(super) fn sleeps(&self) -> bool {
        self.asleep.load(Ordering::SeqCst)
    }
}

fn look(is_true: &impl Fn() -> bool) -> bool {
    spin_loop();
    is_true()
}

/// Interrupts harts of the enclave: bit i of the mask is hart i.
pub(super) fn interrupt(harts: usize) {
    // It cannot fail: they are harts of this domain.
    let _ = sbi_rt::send_ipi(HartMask::from_mask_base(harts, 0));
}
