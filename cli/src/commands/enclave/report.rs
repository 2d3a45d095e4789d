//! Messages about the figures and the end of a run.

use super::launch::{LaunchFlags, Program};
use crate::config::size::Size;
use crate::enclave::RunResult;
use crate::runtime::exit::Exit;
use crate::runtime::output::print_error;
use ameles_enclave_boundary::exit::{Ending, ExitRecord, Failure, Instructions};
use anyhow::{Result, anyhow};

/// Prints the cost of paging.
pub(super) fn print_figures(flags: &LaunchFlags, result: &RunResult, counted: bool) {
    let Some(ExitRecord { faults, instructions, memory, refused, host_calls, system_calls, .. }) =
        &result.record
    else {
        return;
    };
    if faults.faults == 0 && *system_calls == 0 {
        // The program did not start, and the error gives the reason.
        return;
    }
    print_error!();
    print_error!(
        "ameles enclave: {}, {}, {} pages resident, {} of untrusted memory for {} pages, {:.1} MiB trusted",
        flags.scheme_with_ratio(),
        flags.cipher,
        flags.resident,
        flags.untrusted,
        memory.pages,
        memory.trusted_bytes as f64 / (1 << 20) as f64
    );
    print_error!(
        "  {} faults with {} evictions, and {} faults to load the program, which held at most {}",
        faults.faults,
        faults.evictions,
        faults.loading,
        Size(memory.max_held_pages * 4096)
    );
    if counted {
        print_instructions(instructions, faults.faults);
        if flags.harts() > 1 {
            print_spread(instructions, faults.faults, flags.harts());
        }
    }
    print_error!("  {system_calls} system calls, {host_calls} of them passed to the host");
    for call in refused {
        print_error!("  refused: {} ({} times)", call.name, call.times);
    }
    print_error!("  {:.3} s in the emulator", result.elapsed.as_secs_f64());
}

/// Prints how the instructions are distributed.
fn print_instructions(instructions: &Instructions, faults: u64) {
    let Instructions { total, faults: in_faults, ciphers, copies, .. } = *instructions;
    print_error!(
        "  {total} instructions, {:.0} % of them in faults",
        100.0 * in_faults as f64 / total.max(1) as f64
    );
    let per_fault = |part| per_fault(part, faults);
    print_error!(
        "  {:.0} instructions per fault: {:.0} in ciphers, {:.0} in copies, {:.0} in all else",
        per_fault(in_faults),
        per_fault(ciphers),
        per_fault(copies),
        per_fault(in_faults.saturating_sub(ciphers + copies))
    );
}

/// Prints the work that is shared by harts, and the cost of a fault when they work in parallel.
fn print_spread(instructions: &Instructions, faults: u64, harts: u32) {
    let Instructions { faults: in_faults, shared, longest, handing_over, .. } = *instructions;
    let per_fault = |part| per_fault(part, faults);
    print_error!(
        "  per fault over {harts} harts: {:.0} shared, of which the longest shares are {:.0}; {:.0} to hand over",
        per_fault(shared),
        per_fault(longest),
        per_fault(handing_over)
    );
    print_error!(
        "  {:.0} instructions per fault when harts work in parallel (for counting, they took turns)",
        per_fault((in_faults + longest).saturating_sub(shared))
    );
}

fn per_fault(part: u64, faults: u64) -> f64 {
    part as f64 / faults.max(1) as f64
}

/// Prints the ratio of instructions to a run with plain encrypted paging.
pub(super) fn print_comparison(result: &RunResult, plain: &RunResult) {
    let (Some(record), Some(plain_record)) = (&result.record, &plain.record) else { return };
    let (Instructions { total, .. }, plain_total) = (record.instructions, plain_record.instructions.total);
    if record.ending != plain_record.ending {
        print_error!(
            "ameles enclave: warning: the program ended differently with plain encrypted paging: the runs cannot be compared"
        );
    }
    print_error!(
        "  against {plain_total} instructions with plain encrypted paging: {:.2} times ({:.3} s there)",
        total as f64 / plain_total.max(1) as f64,
        plain.elapsed.as_secs_f64()
    );
}

/// Returns the exit code of a program that ended by itself or by a signal.
///
/// # Errors
/// The runtime failed.
pub(super) fn exit_code(result: &RunResult, program: &Program) -> Result<i32> {
    match result.record.as_ref().map(|record| &record.ending) {
        None | Some(Ending::WindowEnded) => Ok(Exit::Success as i32),
        Some(Ending::Exited(code)) => Ok(i32::from(*code)),
        Some(Ending::Signalled { signal, reason }) => {
            print_error!("ameles enclave: the program was ended by signal {signal}: {reason}");
            Ok(128 + i32::from(*signal))
        }
        Some(Ending::Failed { kind: Failure::Forged | Failure::Host, text }) => {
            print_error!("error: the untrusted side has tampered: {text}");
            Ok(Exit::Tampering as i32)
        }
        Some(Ending::Failed { kind: Failure::Launch, text }) => {
            Err(anyhow!("{} could not start: {text}", program.name().display()))
        }
        Some(Ending::Failed { text, .. }) => Err(anyhow!("{text}")),
    }
}
