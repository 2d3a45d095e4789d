//! The three functions that the page calls, and a text that goes both ways.
//!
//! ```text
//! page:    at = ameles_room(bytes of the request);  write the request there
//! page:    bytes = ameles_answer();  at = ameles_text();  read the answer there
//! ```

#![allow(
    unsafe_code,
    reason = "the names of exports must not be taken by anything else; there is no other unsafe code"
)]

use crate::host::Host;
use std::cell::RefCell;

thread_local! {
    static HOST: RefCell<Host> = RefCell::default();
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Allocates a buffer for a request of this many bytes, and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn ameles_room(bytes: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        text.resize(bytes, 0);
        text.as_mut_ptr()
    })
}

/// Answers the request in the buffer, and returns the number of bytes of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn ameles_answer() -> usize {
    let request = TEXT.take();
    let answer = match std::str::from_utf8(&request) {
        Ok(request) => HOST.with_borrow_mut(|host| host.answer(request)),
        Err(error) => format!("{{\"error\":\"the request is not text: {error}\"}}"),
    };
    TEXT.with_borrow_mut(|text| {
        *text = answer.into_bytes();
        text.len()
    })
}

/// The place of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn ameles_text() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}
