//! The header matches the library: a C program that is compiled against it works.
#![allow(unsafe_code, reason = "calls a function that was compiled from C")]

use ameles_pager::ffi;
use std::ffi::{CStr, CString, c_int, c_void};
use std::process::Command;

#[test]
fn a_c_program_that_is_compiled_against_the_header_pages() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("c_interface.so");
    let here = env!("CARGO_MANIFEST_DIR");
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"])
        .arg(format!("{here}/include"))
        .arg(format!("{here}/tests/c_interface.c"))
        .arg("-o")
        .arg(&library)
        .status()
        .expect("a C compiler, cc, is installed");
    assert!(compiled.success());
    let name = CString::new(library.to_str().unwrap()).unwrap();
    type UseRegion = extern "C" fn(
        *const c_void,
        *const c_void,
        *const c_void,
        *const c_void,
        *const c_void,
        *const c_void,
        *const c_void,
        *const c_void,
    ) -> c_int;
    // SAFETY: the library has no initialisers, and the function the type that its source says.
    let failed_line = unsafe {
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW);
        assert!(!library.is_null());
        let function = libc::dlsym(library, c"use_region".as_ptr());
        assert!(!function.is_null());
        let use_region: UseRegion = std::mem::transmute(function);
        use_region(
            ffi::ameles_options_default as *const c_void,
            ffi::ameles_region_new as *const c_void,
            ffi::ameles_region_address as *const c_void,
            ffi::ameles_region_bytes as *const c_void,
            ffi::ameles_region_discard as *const c_void,
            ffi::ameles_region_counters as *const c_void,
            ffi::ameles_region_untrusted_fd as *const c_void,
            ffi::ameles_region_free as *const c_void,
        )
    };
    assert_eq!(failed_line, 0, "the line of c_interface.c that failed");
}

#[test]
fn options_that_nobody_can_have_are_refused_in_a_sentence_and_never_by_a_panic_into_c() {
    let sound = ffi::ameles_options_default(40);
    let parallel = c"parallel".as_ptr();
    for (options, word) in [
        (ffi::AmelesOptions { pages: u64::MAX, ..sound }, ""),
        (ffi::AmelesOptions { pages: 1 << 20, ..sound }, "untrusted memory"),
        (ffi::AmelesOptions { resident: 0, ..sound }, "resident"),
        (ffi::AmelesOptions { unmapped: u64::MAX, ..sound }, "second chance"),
        (ffi::AmelesOptions { ratio: u64::MAX, ..sound }, ""),
        (ffi::AmelesOptions { threads: u64::MAX, scheme: parallel, ..sound }, "cannot be created"),
    ] {
        let mut error = [0_u8; 300];
        // SAFETY: the names are null or C strings, and the error has that much room.
        let region =
            unsafe { ffi::ameles_region_new(&raw const options, error.as_mut_ptr().cast(), error.len()) };
        if !region.is_null() {
            // SAFETY: it was made just now. A ratio has no upper bound.
            unsafe { ffi::ameles_region_free(region) };
            assert_eq!(options.ratio, u64::MAX);
            continue;
        }
        let why = CStr::from_bytes_until_nul(&error).unwrap().to_str().unwrap();
        assert!(!why.is_empty() && why.contains(word), "{options:?}: {why}");
    }
    let all = ffi::AmelesOptions { resident: u64::MAX, ..sound };
    // SAFETY: as above; no error is requested.
    unsafe {
        let region = ffi::ameles_region_new(&raw const all, std::ptr::null_mut(), 0);
        assert!(!region.is_null());
        assert_eq!((*region).bytes(), 40 * 4096);
        ffi::ameles_region_free(region);
    }
}
