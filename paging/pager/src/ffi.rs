//! The C interface: `include/ameles_pager.h` documents each function.
#![allow(unsafe_code, reason = "pointers from C; each function says what it must be given")]

use crate::fault::counters::Counters;
use crate::fault::policy::Policy;
use crate::options::{Handler, HandlerProcessor, Options};
use crate::region::Region;
use rustix::fd::{AsFd, AsRawFd};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;

/// `ameles_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AmelesOptions {
    /// The same as [`Options::pages`].
    pub pages: u64,
    /// The same as [`Options::resident`].
    pub resident: u64,
    /// The same as [`Options::untrusted_bytes`].
    pub untrusted_bytes: u64,
    /// The same as [`Options::ratio`].
    pub ratio: u64,
    /// [`Policy::SecondChance`] with this many unmapped pages; [`Policy::Fifo`] for 0.
    pub unmapped: u64,
    /// The same as [`Options::threads`]; 0 means `None`.
    pub threads: u64,
    /// A name; null for the default.
    pub scheme: *const c_char,
    /// A name; null for the default.
    pub cipher: *const c_char,
    /// A name; null for the default.
    pub trap: *const c_char,
    /// The same as [`Options::second_process`]; 0 means no.
    pub second_process: u64,
    /// 0 means [`HandlerProcessor::Any`], any other value [`HandlerProcessor::Together`].
    pub together: u64,
}

/// The defaults.
#[unsafe(no_mangle)]
pub extern "C" fn ameles_options_default(pages: u64) -> AmelesOptions {
    let options = Options::new(pages);
    AmelesOptions {
        pages,
        resident: options.resident as u64,
        untrusted_bytes: options.untrusted_bytes,
        ratio: options.ratio,
        unmapped: 0,
        threads: 0,
        scheme: std::ptr::null(),
        cipher: std::ptr::null(),
        trap: std::ptr::null(),
        second_process: 0,
        together: 0,
    }
}

/// Makes a region, or returns null and writes the reason.
///
/// # Safety
/// `options` points to options whose names are null or C strings; `error` is null or has room for `error_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ameles_region_new(
    options: *const AmelesOptions,
    error: *mut c_char,
    error_bytes: usize,
) -> *mut Region {
    // SAFETY: the caller promises it.
    let options = unsafe { read(&*options) };
    // No panic may reach C: invalid options are reported.
    let make = || options.and_then(|options| Region::new(options).map_err(|error| error.to_string()));
    let made = catch_unwind(AssertUnwindSafe(make));
    match made.unwrap_or_else(|_| Err("a region with these options cannot be created".to_owned())) {
        Ok(region) => Box::into_raw(Box::new(region)),
        Err(why) => {
            if !error.is_null() && error_bytes > 0 {
                let len = why.len().min(error_bytes - 1);
                // SAFETY: the caller promises the room.
                unsafe {
                    error.cast::<u8>().copy_from_nonoverlapping(why.as_ptr(), len);
                    error.add(len).write(0);
                }
            }
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// The names are null or C strings.
unsafe fn read(from: &AmelesOptions) -> Result<Options, String> {
    let defaults = Options::new(from.pages);
    let policy = match from.unmapped {
        0 => Policy::Fifo,
        unmapped => Policy::SecondChance { unmapped: unmapped as usize },
    };
    // SAFETY: the caller promises it.
    let (scheme, cipher, fault_handling) = unsafe {
        (
            named(from.scheme, defaults.scheme)?,
            named(from.cipher, defaults.cipher)?,
            named(from.trap, defaults.fault_handling)?,
        )
    };
    Ok(Options {
        // More than all pages means all pages.
        resident: from.resident.min(from.pages) as usize,
        untrusted_bytes: from.untrusted_bytes,
        ratio: from.ratio,
        policy,
        threads: (from.threads > 0).then_some(from.threads as usize),
        scheme,
        cipher,
        fault_handling,
        second_process: from.second_process != 0,
        handler: Handler {
            processor: match from.together {
                0 => HandlerProcessor::Any,
                _ => HandlerProcessor::Together,
            },
            ..Handler::default()
        },
        ..defaults
    })
}

/// # Safety
/// The name is null or a C string.
unsafe fn named<T: FromStr<Err: ToString>>(name: *const c_char, default: T) -> Result<T, String> {
    if name.is_null() {
        return Ok(default);
    }
    // SAFETY: the caller promises it.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_string_lossy().parse().map_err(|error: T::Err| error.to_string())
}

/// The first address.
///
/// # Safety
/// A region of [`ameles_region_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ameles_region_address(region: *const Region) -> *mut c_void {
    // SAFETY: the caller promises it.
    unsafe { &*region }.as_ptr().cast()
}

/// Returns the length of the region in bytes.
///
/// # Safety
/// A region of [`ameles_region_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ameles_region_bytes(region: *const Region) -> usize {
    // SAFETY: the caller promises it.
    unsafe { &*region }.bytes()
}

/// Discards the contents of pages.
///
/// # Safety
/// A region of [`ameles_region_new`]; no thread uses these pages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ameles_region_discard(region: *const Region, first_page: u64, pages: u64) -> c_int {
    // SAFETY: the caller promises it.
    let region = unsafe { &*region };
    match first_page.checked_add(pages).filter(|end| *end <= region.options().pages) {
        Some(end) => {
            region.discard_shared(first_page..end);
            0
        }
        None => -1,
    }
}

/// The counters so far.
///
/// # Safety
/// A region of [`ameles_region_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ameles_region_counters(region: *const Region) -> Counters {
    // SAFETY: the caller promises it.
    unsafe { &*region }.counters()
}

/// The file with the untrusted memory.
///
/// # Safety
/// A region of [`ameles_region_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ameles_region_untrusted_fd(region: *const Region) -> c_int {
    // SAFETY: the caller promises it.
    unsafe { &*region }.untrusted().as_fd().as_raw_fd()
}

/// Frees a region.
///
/// # Safety
/// Null, or a region of [`ameles_region_new`] that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ameles_region_free(region: *mut Region) {
    if !region.is_null() {
        // SAFETY: it was made from a box.
        drop(unsafe { Box::from_raw(region) });
    }
}
