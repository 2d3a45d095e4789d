//! Tests that end a process, or change it permanently: this binary starts itself with a role, as a child.
#![allow(unsafe_code, reason = "signals, users and forks; each block says why it is sound")]

use ameles_pager::failure::{FailureAction, OnFailure};
use ameles_pager::fault_handling::FaultHandling;
use ameles_pager::options::{Listeners, Options};
use ameles_pager::page::PAGE_BYTES;
use ameles_pager::region::Region;
use ameles_pager::scheme::Scheme;
use rustix::io::{pread, pwrite};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

const ROLE: &str = "AMELES_PAGER_ROLE";

fn child(role: &str) -> Output {
    let this = std::env::current_exe().unwrap();
    let arguments = ["--exact", "a_child_with_a_role", "--ignored", "--nocapture", "--test-threads", "1"];
    Command::new(this).args(arguments).env(ROLE, role).output().unwrap()
}

/// Runs a child whose role must return.
fn assert_returns(role: &str) {
    let output = child(role);
    assert!(text(&output.stdout).contains("WENT ON"), "{role}: {output:?}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
#[ignore = "started by the other tests of this file, with a role: `cargo test -p ameles-pager --test processes`"]
fn a_child_with_a_role() {
    let role = std::env::var(ROLE).expect("started with a role");
    let words: Vec<&str> = role.split(' ').collect();
    match words[..] {
        ["tamper", scheme, fault_handling] => run_tampered(options(scheme, fault_handling), flip_every_slot),
        ["roll-back", scheme, fault_handling] => {
            run_tampered(options(scheme, fault_handling), |_, old, _| old)
        }
        ["swap", scheme, fault_handling] => run_tampered(options(scheme, fault_handling), swap_neighbours),
        ["callback", fault_handling] => callback(fault_handling),
        ["park", fault_handling] => park(fault_handling),
        ["foreign-sigbus"] => foreign_sigbus(),
        ["default-sigbus"] => default_sigbus(),
        ["blocked-sigbus"] => blocked_sigbus(),
        ["replaced-sigbus"] => replaced_sigbus(),
        ["signals", fault_handling] => signals(fault_handling),
        ["fork", fault_handling] => fork(fault_handling),
        ["leave", fault_handling] => leave_program(fault_handling),
        ["kill-worker", scheme, fault_handling] => kill_worker(scheme, fault_handling),
        ["waits", fault_handling] => waits(fault_handling),
        ["unprivileged"] => unprivileged(),
        _ => panic!("no such role: {role}"),
    }
    // The role returned.
    rustix::io::write(rustix::stdio::stdout(), b"WENT ON\n").unwrap();
}

/// A scheme's name, followed by `+process` if a second process seals its pages.
fn options(scheme: &str, fault_handling: &str) -> Options {
    let (scheme, second_process) = match scheme.strip_suffix("+process") {
        Some(scheme) => (scheme, true),
        None => (scheme, false),
    };
    let (scheme, fault_handling) = (scheme.parse().unwrap(), fault_handling.parse().unwrap());
    Options { resident: 4, scheme, fault_handling, second_process, ..Options::new(32) }
}

fn schemes() -> Vec<String> {
    let with_worker = ["eager+process", "parallel+process", "eager-parallel+process"];
    Scheme::ALL.map(|scheme| scheme.to_string()).into_iter().chain(with_worker.map(String::from)).collect()
}

fn bytes(region: &Region) -> usize {
    let Options { pages, scheme, ratio, cipher, .. } = *region.options();
    scheme.untrusted_bytes(pages, ratio, cipher).unwrap() as usize
}

fn contents(region: &Region) -> Vec<u8> {
    region.settle();
    let mut contents = vec![0; bytes(region)];
    assert_eq!(pread(region.untrusted(), &mut contents, 0), Ok(contents.len()));
    contents
}

/// Fills pages, changes the untrusted memory, and reads everything.
fn run_tampered(options: Options, change: impl FnOnce(usize, Vec<u8>, Vec<u8>) -> Vec<u8>) {
    let mut region = Region::new(options).unwrap();
    let slots = region.options().scheme.layout(32, region.options().ratio).unwrap().slots() as usize;
    let stride = bytes(&region) / slots;
    region.as_mut_slice().fill(1);
    let old = contents(&region);
    for round in 2..9 {
        region.as_mut_slice().fill(round);
    }
    let new = contents(&region);
    let forged = change(stride, old, new);
    assert_eq!(pwrite(region.untrusted(), &forged, 0), Ok(forged.len()));
    for chunk in region.as_slice().chunks(64) {
        assert!(chunk.iter().all(|byte| *byte == 8), "the process went on with wrong data");
    }
}

fn flip_every_slot(stride: usize, _: Vec<u8>, mut new: Vec<u8>) -> Vec<u8> {
    new.chunks_mut(stride).for_each(|slot| slot[100] ^= 1);
    new
}

fn swap_neighbours(stride: usize, _: Vec<u8>, mut new: Vec<u8>) -> Vec<u8> {
    for pair in new.chunks_exact_mut(2 * stride) {
        let (one, other) = pair.split_at_mut(stride);
        one.swap_with_slice(other);
    }
    new
}

#[test]
fn tampering_rollback_and_swaps_end_the_process_at_the_next_touch_with_one_line() {
    for scheme in schemes() {
        for fault_handling in FaultHandling::ALL {
            for attack in ["tamper", "roll-back", "swap"] {
                let role = format!("{attack} {scheme} {fault_handling}");
                let output = child(&role);
                assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{role}: {output:?}");
                let (out, err) = (text(&output.stdout), text(&output.stderr));
                assert!(!out.contains("WENT ON") && !err.contains("wrong data\""), "{role}: {out}{err}");
                let lines: Vec<&str> =
                    err.lines().filter(|line| line.starts_with("ameles-pager: ")).collect();
                assert!(lines.len() == 1 && lines[0].contains("was forged"), "{role}: {err}");
                assert!(lines[0].contains("slot 0 of bucket "), "{role}: {err}");
            }
        }
    }
}

fn callback(fault_handling: &str) {
    let decide = |failure: &ameles_pager::failure::Failure| {
        assert!(failure.page < 32);
        rustix::io::write(rustix::stdio::stdout(), b"called\n").unwrap();
        // SAFETY: it ends the process, and may be called in a signal handler.
        unsafe { libc::_exit(42) }
    };
    let on_failure = OnFailure::Call(Arc::new(decide));
    let listeners = Listeners { on_failure, ..Listeners::default() };
    run_tampered(Options { listeners, ..options("detworam", fault_handling) }, flip_every_slot);
}

/// Checks that a child of this name ends with this exit code and prints this, under every trap.
fn check_children(name: &str, code: i32, printed: &str) {
    for fault_handling in FaultHandling::ALL {
        let output = child(&format!("{name} {fault_handling}"));
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(text(&output.stdout).contains(printed));
    }
}

#[test]
fn a_callback_is_told_of_a_failure_in_place_of_the_abort() {
    check_children("callback", 42, "called");
}

fn park(fault_handling: &str) {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    static WENT_ON: AtomicBool = AtomicBool::new(false);
    let decide = |_: &ameles_pager::failure::Failure| {
        CALLS.fetch_add(1, Ordering::SeqCst);
        FailureAction::Park
    };
    let on_failure = OnFailure::Call(Arc::new(decide));
    let listeners = Listeners { on_failure, ..Listeners::default() };
    let options = Options { listeners, ..options("detworam", fault_handling) };
    for _ in 0..2 {
        let options = options.clone();
        std::thread::spawn(move || {
            run_tampered(options, flip_every_slot);
            WENT_ON.store(true, Ordering::SeqCst);
        });
    }
    while CALLS.load(Ordering::SeqCst) < 2 {
        std::thread::yield_now();
    }
    assert!(!WENT_ON.load(Ordering::SeqCst));
}

#[test]
fn a_parked_thread_stands_still_while_the_process_goes_on() {
    check_children("park", 0, "WENT ON");
}

static FOREIGN: AtomicUsize = AtomicUsize::new(0);
static FOREIGN_AT: AtomicUsize = AtomicUsize::new(0);

/// Maps the page if a fault caused the signal.
extern "C" fn on_foreign(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel's argument.
    let (code, at) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    FOREIGN.fetch_add(1, Ordering::SeqCst);
    if code == libc::BUS_ADRERR {
        FOREIGN_AT.store(at, Ordering::SeqCst);
        let (page, protection) = (at & !(PAGE_BYTES - 1), libc::PROT_READ | libc::PROT_WRITE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: it replaces the page of the test's own mapping that faulted.
        unsafe { libc::mmap(page as *mut _, PAGE_BYTES, protection, flags, -1, 0) };
    }
}

fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void)) {
    // SAFETY: zeros is a valid action; the handlers of this file do what a handler may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

/// An address beyond the end of a file.
fn beyond_a_file() -> *mut u8 {
    let file = tempfile::tempfile().unwrap();
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let file = std::os::fd::AsRawFd::as_raw_fd(&file);
    // SAFETY: a new mapping.
    let start =
        unsafe { libc::mmap(std::ptr::null_mut(), PAGE_BYTES, protection, libc::MAP_SHARED, file, 0) };
    assert_ne!(start, libc::MAP_FAILED);
    start.cast::<u8>().wrapping_add(123)
}

fn foreign_sigbus() {
    handle(libc::SIGBUS, on_foreign);
    let mut region = Region::new(options("detworam", "in-thread")).unwrap();
    region.as_mut_slice().fill(3);
    // SAFETY: the signal has a handler.
    unsafe { libc::raise(libc::SIGBUS) };
    assert_eq!(FOREIGN.load(Ordering::SeqCst), 1);
    let beyond = beyond_a_file();
    // SAFETY: the handler gives it memory.
    unsafe { beyond.write_volatile(5) };
    assert_eq!((FOREIGN.load(Ordering::SeqCst), FOREIGN_AT.load(Ordering::SeqCst)), (2, beyond as usize));
    assert!(region.as_slice().iter().all(|byte| *byte == 3));
    drop(region);
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action the call only fills `now`.
    let now = unsafe {
        libc::sigaction(libc::SIGBUS, std::ptr::null(), now.as_mut_ptr());
        now.assume_init()
    };
    assert_eq!(now.sa_sigaction, on_foreign as *const () as usize, "the last region restores the handler");
}

fn default_sigbus() {
    // SAFETY: the runtime's own handler is not what is tested.
    unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
    let mut region = Region::new(options("detworam", "in-thread")).unwrap();
    region.as_mut_slice().fill(3);
    // SAFETY: it ends the process.
    unsafe { beyond_a_file().write_volatile(5) };
}

fn blocked_sigbus() {
    // SAFETY: the calls fill and read the set.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigaddset(&mut set, libc::SIGBUS);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
    let refused = Region::new(options("detworam", "in-thread")).unwrap_err().to_string();
    assert!(refused.contains("blocks SIGBUS") && refused.contains("handler thread"), "{refused}");
    let mut region = Region::new(options("detworam", "handler-thread")).unwrap();
    region.as_mut_slice().fill(3);
}

fn replaced_sigbus() {
    let region = Region::new(options("detworam", "in-thread")).unwrap();
    handle(libc::SIGBUS, on_foreign);
    let refused = Region::new(options("detworam", "in-thread")).unwrap_err().to_string();
    assert!(refused.contains("replaced the pager's SIGBUS handler"), "{refused}");
    std::panic::set_hook(Box::new(|_| ()));
    let panicked =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| region.as_slice().len())).is_err();
    assert!(panicked, "a slice whose faults are not handled");
}

#[test]
fn sigbus_outside_of_the_region_reaches_the_earlier_handler_under_the_in_thread_trap() {
    for role in ["foreign-sigbus", "blocked-sigbus", "replaced-sigbus"] {
        let output = child(role);
        assert!(text(&output.stdout).contains("WENT ON"), "{role}: {output:?}");
        assert_eq!(output.status.code(), Some(0), "{role}");
    }
    let output = child("default-sigbus");
    assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{output:?}");
}

static TOUCHED: AtomicUsize = AtomicUsize::new(0);
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// Counts in a page of the region that is usually absent.
extern "C" fn on_user(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let count = HANDLED.load(Ordering::SeqCst);
    let at = TOUCHED.load(Ordering::SeqCst) + 31 * PAGE_BYTES;
    let counter = at as *mut u64;
    // SAFETY: the last page of the region, which the interrupted code does not use.
    unsafe { counter.write_volatile(counter.read_volatile() + 1) };
    HANDLED.store(count + 1, Ordering::SeqCst);
}

fn signals(fault_handling: &str) {
    let mut region = Region::new(options("detworam", fault_handling)).unwrap();
    TOUCHED.store(region.as_ptr() as usize, Ordering::SeqCst);
    handle(libc::SIGUSR1, on_user);
    // SAFETY: it names this thread.
    let this = unsafe { libc::pthread_self() } as usize;
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::SeqCst) {
                let before = HANDLED.load(Ordering::SeqCst);
                // SAFETY: the thread lives until the scope ends; the signal has a handler.
                unsafe { libc::pthread_kill(this as libc::pthread_t, libc::SIGUSR1) };
                while HANDLED.load(Ordering::SeqCst) == before && !ended.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
            }
        });
        let mut round = 0u8;
        while HANDLED.load(Ordering::SeqCst) < 2000 {
            round = round.wrapping_add(1);
            for page in 0..31 {
                region.as_mut_slice()[page * PAGE_BYTES] = round;
            }
            for page in 0..31 {
                assert_eq!(region.as_slice()[page * PAGE_BYTES], round);
            }
        }
        ended.store(true, Ordering::SeqCst);
    });
    let counter = region.as_slice()[31 * PAGE_BYTES..][..8].try_into().unwrap();
    assert_eq!(u64::from_ne_bytes(counter), HANDLED.load(Ordering::SeqCst));
}

#[test]
fn signal_handlers_that_run_between_faults_and_touch_the_region_find_it_whole() {
    for fault_handling in FaultHandling::ALL {
        assert_returns(&format!("signals {fault_handling}"));
    }
}

fn fork(fault_handling: &str) {
    let mut region = Region::new(options("detworam", fault_handling)).unwrap();
    region.as_mut_slice().fill(3);
    let resident = region.as_ptr().wrapping_add(31 * PAGE_BYTES);
    // SAFETY: the child touches one address, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: it faults; the child has the default action, and else ends by itself.
        unsafe {
            libc::signal(libc::SIGSEGV, libc::SIG_DFL);
            resident.read_volatile();
            libc::_exit(0);
        }
    }
    let mut status = 0;
    // SAFETY: it waits for our child.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(libc::WTERMSIG(status), libc::SIGSEGV);
    assert!(region.as_slice().iter().all(|byte| *byte == 3));
}

#[test]
fn a_forked_child_does_not_have_the_region_and_the_parent_keeps_it() {
    for fault_handling in FaultHandling::ALL {
        let output = child(&format!("fork {fault_handling}"));
        assert!(text(&output.stdout).contains("WENT ON"), "{fault_handling}: {output:?}");
    }
}

fn unprivileged() {
    // SAFETY: the process gives up its rights permanently.
    let dropped = unsafe { libc::setresuid(65534, 65534, 65534) } == 0;
    let allowed = std::fs::read_to_string("/proc/sys/vm/unprivileged_userfaultfd").unwrap().trim() == "1"
        || std::fs::File::open("/dev/userfaultfd").is_ok();
    match Region::new(options("detworam", "handler-thread")) {
        Ok(_) => assert!(allowed || !dropped),
        Err(error) => {
            assert!(!allowed, "{error}");
            assert!(error.to_string().contains("vm.unprivileged_userfaultfd=1"), "{error}");
        }
    }
    let mut region = Region::new(options("detworam", "in-thread")).unwrap();
    region.as_mut_slice().fill(3);
    assert!(region.as_slice().iter().all(|byte| *byte == 3));
}

#[test]
fn without_privileges_the_handler_thread_is_refused_with_the_sysctl_and_the_in_thread_trap_works() {
    let output = child("unprivileged");
    assert!(text(&output.stdout).contains("WENT ON"), "{output:?}");
}

/// Processes whose parent is this one.
fn children() -> Vec<libc::pid_t> {
    let of_thread = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children")).unwrap();
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks
        .map(|task| of_thread(task.unwrap()))
        .flat_map(|list| list.split_whitespace().map(|process| process.parse().unwrap()).collect::<Vec<_>>())
        .collect()
}

fn kill_worker(scheme: &str, fault_handling: &str) {
    let mut region = Region::new(options(scheme, fault_handling)).unwrap();
    let worker = children();
    assert_eq!(worker.len(), 1, "{worker:?}");
    for round in 1..40u8 {
        if round == 20 {
            // SAFETY: it is the region's process, and our child.
            assert_eq!(unsafe { libc::kill(worker[0], libc::SIGKILL) }, 0);
        }
        region.as_mut_slice().fill(round);
        assert!(region.as_slice().iter().all(|byte| *byte == round), "{round}");
    }
    drop(region);
    assert_eq!(children(), []);
}

#[test]
fn a_region_outlives_its_worker_process_and_none_is_left_behind() {
    for scheme in ["eager+process", "parallel+process", "eager-parallel+process"] {
        for fault_handling in FaultHandling::ALL {
            assert_returns(&format!("kill-worker {scheme} {fault_handling}"));
        }
    }
}

fn leave_program(fault_handling: &str) {
    let mut region = Region::new(options("eager+process", fault_handling)).unwrap();
    region.as_mut_slice().fill(1);
    let line = format!("worker {}\n", children()[0]);
    rustix::io::write(rustix::stdio::stdout(), line.as_bytes()).unwrap();
    std::process::exit(0);
}

#[test]
fn the_worker_process_holds_nothing_open_and_ends_with_the_program() {
    for fault_handling in FaultHandling::ALL {
        // This returns when the last descriptor of its output is closed.
        let output = text(&child(&format!("leave {fault_handling}")).stdout);
        let worker = output.split("worker ").nth(1).and_then(|rest| rest.lines().next());
        let worker = worker.expect("the role has begun");
        while std::path::Path::new(&format!("/proc/{worker}")).exists() {
            std::thread::yield_now();
        }
    }
}

fn waits(fault_handling: &str) {
    let mut region = Region::new(options("eager+process", fault_handling)).unwrap();
    region.as_mut_slice().fill(1);
    // SAFETY: nothing is written; there is no child that `wait` answers with.
    let waited = unsafe { libc::wait(std::ptr::null_mut()) };
    assert_eq!((waited, std::io::Error::last_os_error().raw_os_error()), (-1, Some(libc::ECHILD)));
}

#[test]
fn a_program_that_waits_for_its_children_does_not_see_the_worker_process() {
    for fault_handling in FaultHandling::ALL {
        assert_returns(&format!("waits {fault_handling}"));
    }
}
