//! A hart that waits for another: it polls for a while, then sleeps until it is interrupted.
//!
//! If instructions are counted, harts run one at a time, and the emulator may switch anywhere. So that the counts
//! are the same in every run, a hart then always sleeps, and is always interrupted, whoever is first.

use core::arch::asm;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, Ordering};
use sbi_rt::HartMask;

/// The number of polls before a hart sleeps: about as long as falling asleep and being woken.
const SPINS: u32 = 2000;
/// The software interrupt of supervisor mode, in `sie` and `sip`.
pub(super) const SOFTWARE: usize = 2;

/// The state of a hart that may wait. Only this hart waits with it.
#[derive(Default)]
pub(super) struct HartWait {
    asleep: AtomicBool,
}

impl HartWait {
    /// A hart that is always interrupted, also before it waits.
    pub(super) const fn counted() -> Self {
        HartWait { asleep: AtomicBool::new(true) }
    }

    /// Waits for a condition. The other hart first makes it true, and then checks whether this hart
    /// [sleeps](Self::is_asleep).
    ///
    /// It polls first.
    pub(super) fn until(&self, is_true: impl Fn() -> bool) {
        if (0..SPINS).any(|_| poll(&is_true)) {
            return;
        }
        while_interruptible(|| {
            loop {
                // An interrupt after this is not lost, and one before it came after a change that is seen now.
                // SAFETY: nothing else uses it.
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

    /// Waits like [`until`](Self::until), by the same instructions whenever the interrupt comes.
    pub(super) fn until_interrupted(&self, is_true: impl Fn() -> bool) {
        // The first time, it may have become true before this hart was known to wait. From then on it always sleeps.
        if !self.asleep.swap(true, Ordering::SeqCst) && is_true() {
            return;
        }
        while_interruptible(|| {
            loop {
                let pending: usize;
                // With a pending interrupt, `wfi` ends at once.
                // SAFETY: it waits, and clears an interrupt that nothing else uses.
                unsafe {
                    asm!("wfi", "csrrc {}, sip, {}", lateout(reg) pending, in(reg) SOFTWARE, options(nomem, nostack));
                };
                if pending & SOFTWARE != 0 && is_true() {
                    break;
                }
            }
        });
    }

    /// Returns whether the hart must be interrupted.
    pub(super) fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::SeqCst)
    }
}

/// Waits while a software interrupt ends `wfi`. It does not trap: sstatus.SIE is off, and the program is not running.
fn while_interruptible(wait: impl FnOnce()) {
    // SAFETY: see above.
    unsafe { asm!("csrs sie, {}", in(reg) SOFTWARE, options(nomem, nostack)) };
    wait();
    // SAFETY: as above; no interrupt waits for the program's hart then.
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
