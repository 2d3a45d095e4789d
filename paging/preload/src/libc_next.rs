//! The functions of the C library that this library wraps.

use std::ffi::CStr;

/// The call that the program would have made without this library.
pub(crate) fn libc_next<F: Copy>(name: &CStr) -> Option<F> {
    assert_eq!(size_of::<F>(), size_of::<*mut libc::c_void>());
    // SAFETY: the name ends with zero; a function's pointer is as large as a pointer.
    unsafe {
        let found = libc::dlsym(libc::RTLD_NEXT, name.as_ptr());
        (!found.is_null()).then(|| std::mem::transmute_copy(&found))
    }
}
