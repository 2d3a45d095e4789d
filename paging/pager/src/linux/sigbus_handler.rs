//! The faulting thread handles its own fault, in a handler of SIGBUS.
//!
//! All signals are blocked while the handler runs. So no code of the application can run on the thread while it holds
//! the fault path's lock, or needs the lock again. Signals that arrive meanwhile are taken after the access has been
//! repeated. A SIGBUS that is not a region's goes to the earlier handler, with the mask that it requested.
#![allow(unsafe_code, reason = "a signal handler; each block says why it is sound")]

use super::idle_thread::IdleThread;
use super::paging::Paging;
use super::signals::sigbus_is_blocked;
use crate::error::Error;
use libc::{SIG_DFL, SIG_IGN, SIGBUS, c_int, c_void, sigaction, siginfo_t};
use std::hint::spin_loop;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum number of regions with this trap at a time.
const MAX_REGIONS: usize = 64;

/// The parts of a region that the handler needs.
struct Target {
    paging: Arc<Paging>,
    idle: Option<IdleThread>,
}

/// Wakes a thread for the offline work of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfflineWork {
    Nothing,
    Some {
        /// True if the work of one fault is worth waking a thread for it.
        is_worth_waking: bool,
    },
}

/// The addresses of a region that is registered. Empty when `end` is 0.
struct Registration {
    start: AtomicUsize,
    end: AtomicUsize,
    target: AtomicPtr<Target>,
}

static REGISTRATIONS: [Registration; MAX_REGIONS] = [const {
    Registration {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        target: AtomicPtr::new(ptr::null_mut()),
    }
}; MAX_REGIONS];

/// The number of handlers that may be reading a registration. Registrations change only while there is none, or in a
/// way that is harmless to a handler.
static ACTIVE_HANDLERS: AtomicUsize = AtomicUsize::new(0);

/// The lock for registering. The handler never takes it.
static REGISTRATION_LOCK: Mutex<()> = Mutex::new(());

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// The handler before ours: written before `INSTALLED`, and never again while ours is installed.
static PREVIOUS: Previous = Previous(std::cell::UnsafeCell::new(MaybeUninit::zeroed()));

struct Previous(std::cell::UnsafeCell<MaybeUninit<sigaction>>);

// SAFETY: written only under `REGISTRATION_LOCK` while our handler is not installed; read by the handler only.
unsafe impl Sync for Previous {}

/// A region's registration. Dropping it removes the region's address range: absent pages must not be accessed any more.
pub(crate) struct SigbusRegistration {
    registration: &'static Registration,
}

impl SigbusRegistration {
    pub(crate) fn register(
        paging: Arc<Paging>,
        start: usize,
        bytes: usize,
        offline_work: OfflineWork,
    ) -> Result<Self, Error> {
        if sigbus_is_blocked() {
            return Err(Error::SigbusBlocked);
        }
        let idle = match offline_work {
            OfflineWork::Nothing => None,
            OfflineWork::Some { is_worth_waking } => {
                Some(IdleThread::start(Arc::clone(&paging), is_worth_waking)?)
            }
        };
        let _registering = REGISTRATION_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        install()?;
        let free = REGISTRATIONS.iter().find(|registration| registration.end.load(Ordering::Relaxed) == 0);
        let registration = free.ok_or(Error::TooManyRegions(MAX_REGIONS))?;
        registration.target.store(Box::into_raw(Box::new(Target { paging, idle })), Ordering::SeqCst);
        registration.start.store(start, Ordering::SeqCst);
        registration.end.store(start + bytes, Ordering::SeqCst);
        Ok(SigbusRegistration { registration })
    }

    /// Forgets the registration in a child after `fork`. The parent's registration is unchanged.
    pub(crate) fn forget_in_child(self) {
        self.registration.end.store(0, Ordering::SeqCst);
        self.registration.target.store(ptr::null_mut(), Ordering::SeqCst);
        // Other threads' handlers do not exist here.
        ACTIVE_HANDLERS.store(0, Ordering::SeqCst);
        std::mem::forget(self);
    }

    /// Returns whether faults still reach our handler.
    pub(crate) fn is_installed() -> bool {
        current_action().sa_sigaction == our_handler()
    }
}

impl Drop for SigbusRegistration {
    fn drop(&mut self) {
        let _registering = REGISTRATION_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        self.registration.end.store(0, Ordering::SeqCst);
        // Handlers that began before may still see the old range: theirs are other regions' faults, and short.
        while ACTIVE_HANDLERS.load(Ordering::SeqCst) != 0 {
            spin_loop();
        }
        let target = self.registration.target.swap(ptr::null_mut(), Ordering::SeqCst);
        // SAFETY: `register` made it from a box, and no handler can have it now.
        drop(unsafe { Box::from_raw(target) });
        if REGISTRATIONS.iter().all(|registration| registration.end.load(Ordering::Relaxed) == 0)
            && SigbusRegistration::is_installed()
        {
            // SAFETY: it was written before our handler was installed; the earlier one is restored.
            unsafe { libc::sigaction(SIGBUS, (*PREVIOUS.0.get()).as_ptr(), ptr::null_mut()) };
            INSTALLED.store(false, Ordering::SeqCst);
        }
    }
}

fn our_handler() -> usize {
    on_sigbus as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize
}

fn current_action() -> sigaction {
    let mut now = MaybeUninit::zeroed();
    // SAFETY: without a new action the call only fills `now`.
    unsafe {
        libc::sigaction(SIGBUS, ptr::null(), now.as_mut_ptr());
        now.assume_init()
    }
}

fn install() -> Result<(), Error> {
    let now = current_action();
    if INSTALLED.load(Ordering::SeqCst) {
        return if now.sa_sigaction == our_handler() { Ok(()) } else { Err(Error::SigbusReplaced) };
    }
    // SAFETY: our handler is not installed, and `REGISTRATION_LOCK` is held: nothing else reads or writes it.
    unsafe { (*PREVIOUS.0.get()).write(now) };
    // SAFETY: all zeros is a valid action; the mask is filled by `sigfillset`. The handler keeps to what a handler may.
    let refused = unsafe {
        let mut action: sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = our_handler();
        // Not on the alternate stack: the runtime's is too small for a fault path.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigfillset(&raw mut action.sa_mask);
        libc::sigaction(SIGBUS, &raw const action, ptr::null_mut())
    };
    if refused != 0 {
        return Err(Error::System { what: "a handler of SIGBUS", errno: rustix::io::Errno::INVAL });
    }
    INSTALLED.store(true, Ordering::SeqCst);
    Ok(())
}

extern "C" fn on_sigbus(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    ACTIVE_HANDLERS.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the kernel gives a valid `info`; for a signal that a fault caused it has an address.
    let address = unsafe { if (*info).si_code == libc::BUS_ADRERR { (*info).si_addr() as usize } else { 0 } };
    let handled = find(address).map(|target| handle(target, address));
    ACTIVE_HANDLERS.fetch_sub(1, Ordering::SeqCst);
    match handled {
        Some(Handled::Yes) => {}
        Some(Handled::Never) => loop {
            // SAFETY: every signal is blocked, so this never returns; it is allowed in a handler.
            unsafe { libc::pause() };
        },
        // SAFETY: these are the kernel's arguments.
        None => unsafe { forward(signal, info, context) },
    }
}

enum Handled {
    Yes,
    Never,
}

fn find(address: usize) -> Option<&'static Target> {
    let registration = REGISTRATIONS.iter().find(|registration| {
        let end = registration.end.load(Ordering::SeqCst);
        address < end && address >= registration.start.load(Ordering::SeqCst)
    })?;
    // SAFETY: a target is freed only while no handler is `ACTIVE_HANDLERS`, and we are.
    unsafe { registration.target.load(Ordering::SeqCst).as_ref() }
}

fn handle(target: &Target, address: usize) -> Handled {
    if target.paging.handle_own_fault(address).is_err() {
        return Handled::Never;
    }
    if let Some(idle) = &target.idle
        && target.paging.has_pending_steps()
    {
        idle.wake();
    }
    Handled::Yes
}

/// Calls the handler before ours.
///
/// # Safety
/// The arguments are those of a signal handler.
unsafe fn forward(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: written before our handler was installed.
    let previous = unsafe { (*PREVIOUS.0.get()).assume_init_ref() };
    match previous.sa_sigaction {
        SIG_IGN => {}
        SIG_DFL => {
            // The default is to end: a fault is repeated when we return, and a signal that was sent is sent again.
            // SAFETY: allowed in a handler; zeros is the default action.
            unsafe {
                let default: sigaction = MaybeUninit::zeroed().assume_init();
                libc::sigaction(signal, &raw const default, ptr::null_mut());
                if (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            }
        }
        handler => {
            // SAFETY: the mask that the handler requested, on top of that of the code that was interrupted. The two
            // types are those that `sigaction` takes for a handler, by its flag.
            unsafe {
                let interrupted = &(*context.cast::<libc::ucontext_t>()).uc_sigmask;
                libc::pthread_sigmask(libc::SIG_SETMASK, interrupted, ptr::null_mut());
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const previous.sa_mask, ptr::null_mut());
                if previous.sa_flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                        std::mem::transmute(handler);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                    handler(signal);
                }
            }
        }
    }
}
