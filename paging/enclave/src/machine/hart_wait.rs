//! A hart that waits for another: it looks out for a while, then sleeps until it is interrupted.
//!
//! Where instructions are counted, harts take turns, and real time may end a turn anywhere. So that the counts are the
//! same in every run, a hart then sleeps each time, and is interrupted each time, whoever is first.

use core::arch::asm;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, Ordering};
use sbi_rt::HartMask;

/// Looks before a hart sleeps: about as long as it takes to fall asleep and be woken.
const SPINS: u32 = 2000;
/// The software interrupt of supervisor mode, in `sie` and `sip`.
pub(super) const SOFTWARE: usize = 2;

/// The state of a hart that may wait. Only this hart waits by it.
#[derive(Default)]
pub(super) struct HartWait {
    asleep: AtomicBool,
}

impl HartWait {
    /// A hart that is interrupted each time, also before it waits.
    pub(super) const fn counted() -> Self {
        HartWait { asleep: AtomicBool::new(true) }
    }

    /// Waits for something that another hart makes true before it looks whether this one [sleeps](Self::is_asleep).
    ///
    /// It looks out first.
    pub(super) fn until(&self, is_true: impl Fn() -> bool) {
        if (0..SPINS).any(|_| poll(&is_true)) {
            return;
        }
        while_interruptible(|| {
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
        });
    }

    /// Waits as [`until`](Self::until) does, by the same instructions whenever the interrupt comes.
    pub(super) fn until_interrupted(&self, is_true: impl Fn() -> bool) {
        // The first time, it may have become true when nobody knew that this hart waits. From then on it always sleeps.
        if !self.asleep.swap(true, Ordering::SeqCst) && is_true() {
            return;
        }
        while_interruptible(|| {
            loop {
                let pending: usize;
                // With an interrupt that is here already, `wfi` ends at once.
                // SAFETY: it waits, and takes back an interrupt that nobody else goes by.
                unsafe {
                    asm!("wfi", "csrrc {}, sip, {}", lateout(reg) pending, in(reg) SOFTWARE, options(nomem, nostack));
                };
                if pending & SOFTWARE != 0 && is_true() {
                    break;
                }
            }
        });
    }

    /// Tells whether the hart is to be interrupted, so that it looks.
    pub(super) fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::SeqCst)
    }
}

/// Waits while a software interrupt ends `wfi`. It traps nobody: sstatus.SIE is off, and the program does not run meanwhile.
fn while_interruptible(wait: impl FnOnce()) {
    // SAFETY: see above.
    unsafe { asm!("csrs sie, {}", in(reg) SOFTWARE, options(nomem, nostack)) };
    wait();
    // SAFETY: as above; none waits for the program's hart then.
    unsafe { asm!("csrc sie, {}", in(reg) SOFTWARE, options(nomem, nostack)) };
}

fn poll(is_true: &impl Fn() -> bool) -> bool {
    spin_loop();
    is_true()
}

/// Interrupts harts of the enclave: bit i of the mask is hart i.
pub(super) fn interrupt(harts: usize) {
    // It cannot fail: they are harts of this domain.
    let _ = sbi_rt::send_ipi(HartMask::from_mask_base(harts, 0));
}
