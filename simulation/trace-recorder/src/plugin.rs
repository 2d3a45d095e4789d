//! The plugin interface of QEMU, version 1, as in QEMU 7.2.
//!
//! QEMU calls [`qemu_plugin_install`] when it loads the plugin. This registers the callbacks for each block of
//! instructions that QEMU translates, for each access of memory, and for the exit.
#![allow(unsafe_code, reason = "a plugin is loaded by a C program and called by it")]

use crate::recorder::{Progress, Recorder};
use crate::settings::Settings;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The version of the interface that the plugin was built for. QEMU reads it before anything else.
// SAFETY: the name is QEMU's, and no other symbol has it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is QEMU's")]
pub static qemu_plugin_version: c_int = 1;

/// The instructions that were executed, including all of the current block.
static EXECUTED: AtomicU64 = AtomicU64::new(0);
static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);

type Id = u64;
type Block = c_void;
type Instruction = c_void;
/// The operation that adds a number to a counter.
const ADD: c_int = 0;
/// A callback that reads no registers.
const NO_REGISTERS: c_int = 0;
/// A callback for loads and for stores.
const LOADS_AND_STORES: c_int = 3;

unsafe extern "C" {
    fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, callback: extern "C" fn(Id, *mut Block));
    fn qemu_plugin_register_atexit_cb(id: Id, callback: extern "C" fn(Id, *mut c_void), data: *mut c_void);
    fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    fn qemu_plugin_tb_get_insn(block: *const Block, nth: usize) -> *mut Instruction;
    fn qemu_plugin_register_vcpu_tb_exec_inline(
        block: *mut Block,
        operation: c_int,
        counter: *mut c_void,
        number: u64,
    );
    fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut Instruction,
        callback: extern "C" fn(c_uint, u32, u64, *mut c_void),
        flags: c_int,
        kind: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_mem_size_shift(access: u32) -> c_uint;
    fn qemu_plugin_mem_is_store(access: u32) -> bool;
}

/// Begins the recording. QEMU continues only if the answer is 0.
///
/// # Safety
/// QEMU hands over `count` C strings.
// SAFETY: the name is QEMU's, and no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    _machine: *const c_void,
    count: c_int,
    words: *const *const c_char,
) -> c_int {
    let words: Vec<String> = (0..usize::try_from(count).unwrap_or(0))
        // SAFETY: QEMU's `words` has `count` pointers to strings that end with 0, and they stay valid during the
        // call.
        .map(|nth| unsafe { CStr::from_ptr(*words.add(nth)) }.to_string_lossy().into_owned())
        .collect();
    let started = Settings::parse(words.iter().map(String::as_str))
        .map_err(|error| error.to_string())
        .and_then(|settings| {
            let name = settings.out.display().to_string();
            Recorder::new(settings).map_err(|error| format!("{name} cannot be written: {error}"))
        });
    match started {
        Ok(recorder) => *RECORDER.lock().unwrap_or_else(PoisonError::into_inner) = Some(recorder),
        Err(why) => {
            report_error(&why);
            return 1;
        }
    }
    // SAFETY: the callbacks have the types that QEMU declares, and live as long as the plugin.
    unsafe {
        qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
        qemu_plugin_register_atexit_cb(id, on_exit, std::ptr::null_mut());
    }
    0
}

/// A block of instructions was translated: registers callbacks for its count and for its accesses.
extern "C" fn on_translation(_: Id, block: *mut Block) {
    // SAFETY: QEMU hands over a block that is valid during the call; numbers of instructions are below its count.
    unsafe {
        let count = qemu_plugin_tb_n_insns(block);
        qemu_plugin_register_vcpu_tb_exec_inline(block, ADD, EXECUTED.as_ptr().cast(), count as u64);
        for nth in 0..count {
            let instruction = qemu_plugin_tb_get_insn(block, nth);
            // The instructions of the block that come after it, itself included: they are counted already.
            let left = std::ptr::without_provenance_mut(count - nth);
            qemu_plugin_register_vcpu_mem_cb(instruction, on_access, NO_REGISTERS, LOADS_AND_STORES, left);
        }
    }
}

/// An instruction accessed memory.
extern "C" fn on_access(_: c_uint, access: u32, address: u64, left: *mut c_void) {
    let nth = EXECUTED.load(Ordering::Relaxed).saturating_sub(left.addr() as u64);
    // SAFETY: QEMU hands over a description of the access.
    let (bytes, writes) =
        unsafe { (1 << qemu_plugin_mem_size_shift(access), qemu_plugin_mem_is_store(access)) };
    let mut recorder = RECORDER.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(recording) = recorder.as_mut() else { return };
    let progress = recording.access(nth, address, bytes, writes);
    if matches!(progress, Ok(Progress::Continues)) {
        return;
    }
    // QEMU calls this before `exit` returns, and `on_exit` takes the lock.
    *recorder = None;
    drop(recorder);
    match progress {
        Ok(_) => exit(0),
        Err(error) => {
            report_error(&error.to_string());
            exit(1)
        }
    }
}

/// The program has ended.
extern "C" fn on_exit(_: Id, _: *mut c_void) {
    let mut recorder = RECORDER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Err(error)) = recorder.take().map(|mut recording| recording.finish()) {
        report_error(&error.to_string());
    }
}

#[allow(clippy::print_stderr, reason = "a plugin has no other way to speak")]
fn report_error(why: &str) {
    eprintln!("ameles trace recorder: {why}");
}
