//! `fork`: the child is paged like the program, with its own scheme and key.
//!
//! The work around it is done in handlers of the C library, the first that are registered. So all handlers of the
//! program for the time before `fork` have run when the region is sealed for the child. Those for the time after it run
//! only when the child's region is ready. A program that forks by its own system call, without these functions, gets a
//! child without the region.

use crate::errno::{errno, fail};
use crate::fork_slot::ForkSlot;
use crate::libc_next::libc_next;
use crate::region_pages::{RegionPages, pages};
use crate::stderr::write_line;
use crate::this_thread::this_thread;
use crate::{handler_stack, own_threads, paged_heap, private_heap, report, stdio_files};
use ameles_pager::after_fault::AfterFault;
use ameles_pager::fork::{ChildReady, Fork};
use libc::{c_char, c_int, c_void, pid_t};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

type Handler = Option<unsafe extern "C" fn()>;
type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;

static REGISTERED: AtomicBool = AtomicBool::new(false);

/// The lock of forking. One thread forks at a time.
static FORKING: Mutex<()> = Mutex::new(());

/// The thread that forks, as the C library identifies it in both processes; 0 if none does.
static FORKER: AtomicUsize = AtomicUsize::new(0);

static PREPARED: ForkSlot<Fork> = ForkSlot::new();
static CHILD_READY: ForkSlot<ChildReady> = ForkSlot::new();

/// Registers the handlers, before all others.
pub(crate) fn register() {
    if !REGISTERED.swap(true, Ordering::SeqCst)
        && let Some(register) = libc_next::<Register>(c"__register_atfork")
    {
        // SAFETY: the handlers stay as long as the process: this library is never unloaded.
        unsafe { register(Some(before_fork), Some(in_parent), Some(in_child), std::ptr::null_mut()) };
    }
}

/// Registers handlers of `fork`. `pthread_atfork` calls this.
#[unsafe(no_mangle)]
unsafe extern "C" fn __register_atfork(
    before: Handler,
    in_parent: Handler,
    in_child: Handler,
    object: *mut c_void,
) -> c_int {
    register();
    match libc_next::<Register>(c"__register_atfork") {
        // SAFETY: the program's own call, as it stands.
        Some(register) => unsafe { register(before, in_parent, in_child, object) },
        None => libc::ENOMEM,
    }
}

fn is_forker() -> bool {
    FORKER.load(Ordering::SeqCst) == this_thread()
}

unsafe extern "C" fn before_fork() {
    let Some(pages) = pages().filter(|_| is_forker()) else { return };
    // SAFETY: `fork` comes next, and one of the other handlers after it. Only the forking thread calls this.
    unsafe {
        stdio_files::hide(|at| pages.contains(at));
        paged_heap::lock().retain();
        let mut fork = PREPARED.take().expect("it was made before");
        pages.region().before_fork(&mut fork);
        PREPARED.put(fork);
        // The record that this thread's variables are found by must be present in the child.
        own_threads::is_own();
    }
}

unsafe extern "C" fn in_parent() {
    let Some(pages) = pages().filter(|_| is_forker()) else { return };
    // SAFETY: the calling thread has done what is undone here.
    unsafe {
        let fork = PREPARED.take().expect("it is there until now");
        CHILD_READY.put(pages.region().after_fork_in_parent(fork));
        paged_heap::lock().release();
        stdio_files::show();
    }
}

unsafe extern "C" fn in_child() {
    if pages().is_none() {
        return;
    }
    if !is_forker() {
        end("unsupported entry point: the child exits, because its paged memory is missing");
    }
    // SAFETY: this is the copy of the thread that has done what is undone here, and the only thread.
    unsafe {
        own_threads::treat_all_as_own(true);
        let fork = PREPARED.take().expect("it is there until now");
        if let Err(why) = rebuild_region(pages().expect("it was there"), fork) {
            end(&why);
        }
        own_threads::treat_all_as_own(false);
        report::on_forked();
        paged_heap::lock().release();
        stdio_files::show_in_child();
    }
}

/// # Safety
/// Rebuilds the region in the child, on its only thread.
unsafe fn rebuild_region(pages: &RegionPages, fork: Fork) -> Result<(), String> {
    // SAFETY: the caller's promise.
    let region = unsafe { pages.region_in_child() };
    let (was_locked, threads) = (region.is_locked(), region.threads());
    let change = |options: &mut ameles_pager::options::Options| {
        // The watcher and the meters belong to the program. And threads of a pool would get the program's memory.
        options.listeners.after_fault = AfterFault::Nothing;
        options.listeners.meters = None;
        options.threads = (threads > 1 || options.scheme.is_parallel()).then_some(1);
    };
    // SAFETY: as above; the handlers are in their order.
    unsafe { region.after_fork_in_child(fork, change) }.map_err(|error| error.to_string())?;
    handler_stack::record_stack(region);
    if was_locked {
        // The heap of this library as well, as far as the limit allows.
        let _ = region.lock_all(true, false);
    }
    own_threads::record().map_err(|error| format!("/proc/self/task: {error}"))
}

/// Ends the child; its parent is notified.
fn end(why: &str) -> ! {
    write_line(&["fork: ", why]);
    // SAFETY: ends the process.
    unsafe { libc::syscall(libc::SYS_exit_group, 127) };
    std::process::abort()
}

fn refuse(what: &str, errno: c_int, why: &str) -> pid_t {
    write_line(&[what, " is refused: ", why]);
    fail(errno);
    -1
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> pid_t {
    let Some(fork) = libc_next::<unsafe extern "C" fn() -> pid_t>(c"fork") else {
        return refuse("fork", libc::ENOSYS, "the C library has no `fork`");
    };
    let Some(pages) = pages() else {
        // SAFETY: the program's own call, as it stands.
        return unsafe { fork() };
    };
    if !REGISTERED.load(Ordering::SeqCst) || !stdio_files::find() {
        return refuse("fork", libc::ENOSYS, "this C library is not supported: use glibc");
    }
    if is_forker() || paged_heap::lock().is_held_by_caller() || !private_heap::is_free() {
        return refuse("fork", libc::EAGAIN, "a signal handler called it during an allocation");
    }
    if own_threads::has_other_threads() {
        return refuse(
            "fork",
            libc::ENOSYS,
            "the program has several threads, which is not supported: use posix_spawn",
        );
    }
    let forking = FORKING.lock().unwrap_or_else(PoisonError::into_inner);
    let prepared = match pages.region().prepare_fork() {
        Ok(prepared) => prepared,
        Err(why) => return refuse("fork", libc::ENOMEM, &why.to_string()),
    };
    // SAFETY: the holder of the lock is the only user.
    unsafe { PREPARED.put(prepared) };
    FORKER.store(this_thread(), Ordering::SeqCst);
    // A child inherits its thread's affinity.
    let free = pages.region().unbind_threads();
    // SAFETY: the program's own call; the handlers above are called around it.
    let mut child = unsafe { fork() };
    let mut why = errno();
    drop(free);
    FORKER.store(0, Ordering::SeqCst);
    if child != 0 {
        // SAFETY: as above.
        let child_ready = unsafe { CHILD_READY.take() };
        drop(forking);
        if child > 0
            && let Some(Err(error)) = child_ready.map(|child_ready| child_ready.wait(child))
        {
            (child, why) = (-1, error.raw_os_error());
        }
    }
    fail(why);
    child
}

#[unsafe(no_mangle)]
unsafe extern "C" fn _Fork() -> pid_t {
    match (pages(), libc_next::<unsafe extern "C" fn() -> pid_t>(c"_Fork")) {
        // SAFETY: the program's own call, as it stands.
        (None, Some(fork)) => unsafe { fork() },
        _ => refuse("_Fork", libc::ENOSYS, "it skips the fork handlers that paging needs: use fork"),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn forkpty(
    main: *mut c_int,
    name: *mut c_char,
    terminal: *const libc::termios,
    window: *const libc::winsize,
) -> pid_t {
    let (mut ours, mut theirs) = (-1, -1);
    // SAFETY: the program's own pointers; the descriptors belong to this function.
    unsafe {
        if libc::openpty(&raw mut ours, &raw mut theirs, name, terminal, window) != 0 {
            return -1;
        }
        let child = fork();
        match child {
            0 => {
                libc::close(ours);
                if libc::login_tty(theirs) != 0 {
                    libc::_exit(1);
                }
            }
            -1 => {
                libc::close(ours);
                libc::close(theirs);
            }
            _ => {
                *main = ours;
                libc::close(theirs);
            }
        }
        child
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn daemon(stays_there: c_int, keeps_files: c_int) -> c_int {
    // SAFETY: the calls that make a daemon, in order.
    unsafe {
        match fork() {
            -1 => return -1,
            0 => {}
            _ => libc::_exit(0),
        }
        if libc::setsid() == -1 {
            return -1;
        }
        if stays_there == 0 {
            libc::chdir(c"/".as_ptr());
        }
        if keeps_files == 0 {
            let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            if nothing < 0 {
                return -1;
            }
            for standard in 0..3 {
                libc::dup2(nothing, standard);
            }
            if nothing > 2 {
                libc::close(nothing);
            }
        }
        0
    }
}
