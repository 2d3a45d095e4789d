//! The RTL, turned into a library by Verilator: one call is one cycle.
//!
//! This is the only place that calls foreign code. The structs are those of `hardware/tests/ameles_bench.cpp`.

use crate::library::Design;
use libloading::{Library, Symbol};
use std::ffi::c_void;

/// The inputs of a cycle.
#[repr(C)]
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "each is the port of its name")]
pub struct Inputs {
    // Wide: the ports of the bench's top, one for one.
    pub rst_n: u32,
    pub key_valid: u32,
    pub request_valid: u32,
    pub request_op: u32,
    pub request_block: u32,
    pub request_path: u32,
    pub request_leaf: u32,
    pub data_valid: u32,
    pub answer_ready: u32,
    pub random_valid: u32,
    pub random: u32,
    pub spare_valid: u32,
    pub spare: u32,
    pub ar_ready: u32,
    pub r_valid: u32,
    pub r_response: u32,
    pub aw_ready: u32,
    pub w_ready: u32,
    pub b_valid: u32,
    pub b_response: u32,
    pub key: [u32; 4],
    pub data: [u32; 16],
    pub r_data: [u32; 16],
}

/// The outputs of a cycle, as they are before the edge of the clock.
#[repr(C)]
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "each is the port of its name")]
pub struct Outputs {
    // Wide: the ports of the bench's top, one for one.
    pub key_ready: u32,
    pub request_ready: u32,
    pub data_ready: u32,
    pub answer_valid: u32,
    pub answer_last: u32,
    pub random_ready: u32,
    pub spare_ready: u32,
    pub ar_valid: u32,
    pub ar_length: u32,
    pub r_ready: u32,
    pub aw_valid: u32,
    pub aw_length: u32,
    pub w_valid: u32,
    pub w_last: u32,
    pub b_ready: u32,
    pub emergencies: u32,
    pub aes_chunks: u32,
    pub key_reused: u32,
    pub memory_error: u32,
    pub tag_error: u32,
    pub overflow: u32,
    pub memory_stalled: u32,
    pub slot: u32,
    pub slot_dummy: u32,
    pub watch: u32,
    pub ar_address: [u32; 2],
    pub aw_address: [u32; 2],
    pub answer: [u32; 16],
    pub w_data: [u32; 16],
}

/// The reason why there is no RTL to simulate.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be loaded: run `cargo xtask hardware test`, which builds it ({source})")]
pub struct RtlError {
    path: String,
    source: libloading::Error,
}

/// A simulated controller.
pub struct Rtl {
    model: *mut c_void,
    step: unsafe extern "C" fn(*mut c_void, *const Inputs, *mut Outputs),
    free: unsafe extern "C" fn(*mut c_void),
    outputs: Outputs,
    /// Loaded as long as the model lives.
    _library: Library,
}

impl Rtl {
    /// Loads a design.
    ///
    /// # Errors
    /// [`RtlError`].
    pub fn load(design: &Design) -> Result<Self, RtlError> {
        // SAFETY: the libraries are built by `cargo xtask hardware` from this repository; their initialisers do
        // nothing, and the functions have these types there.
        let loaded = unsafe {
            Library::new(&design.library).and_then(|library| {
                let new: Symbol<unsafe extern "C" fn(u32) -> *mut c_void> = library.get(b"ameles_new\0")?;
                let step: Symbol<unsafe extern "C" fn(*mut c_void, *const Inputs, *mut Outputs)> =
                    library.get(b"ameles_step\0")?;
                let free: Symbol<unsafe extern "C" fn(*mut c_void)> = library.get(b"ameles_free\0")?;
                let (model, step, free) = (new(design.fault), *step, *free);
                Ok(Rtl { model, step, free, outputs: Outputs::default(), _library: library })
            })
        };
        loaded.map_err(|source| RtlError { path: design.library.display().to_string(), source })
    }

    /// Does a cycle.
    pub fn step(&mut self, inputs: &Inputs) -> &Outputs {
        // SAFETY: the model lives until `self` is dropped, and both structs are those that the function expects.
        unsafe { (self.step)(self.model, inputs, &raw mut self.outputs) };
        &self.outputs
    }
}

impl Drop for Rtl {
    fn drop(&mut self) {
        // SAFETY: the model is freed once, and its library is still loaded.
        unsafe { (self.free)(self.model) };
    }
}
