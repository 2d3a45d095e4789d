//! The registers of the program.

/// The registers of the program while it does not run, as the machine saves and loads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Registers {
    /// x1 to x31; the first place is unused.
    pub general: [u64; 32],
    /// The address of the next instruction.
    pub pc: u64,
    /// f0 to f31.
    pub floating: [u64; 32],
    /// The rounding mode and the flags of floating point.
    pub floating_status: u64,
    /// True if the last two were changed here, so that the processor must load them again.
    pub floating_is_new: bool,
}

/// The indices of general registers with a role.
pub(crate) const RETURN_ADDRESS: usize = 1;
pub(crate) const STACK_POINTER: usize = 2;
/// The first of six arguments, and the result.
pub(crate) const ARGUMENT: usize = 10;
/// The number of a system call.
pub(crate) const NUMBER: usize = 17;
