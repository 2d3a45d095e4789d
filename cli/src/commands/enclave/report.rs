//! The figures of a run, and its end, in words.

use super::launch::{LaunchFlags, Program};
use crate::config::size::Size;
use crate::enclave::RunResult;
use crate::runtime::exit::Exit;
use crate::runtime::output::complain;
use ameles_enclave_boundary::exit::{Ending, ExitRecord, Failure, Instructions};
use anyhow::{Result, anyhow};

/// Tells what paging took.
pub(super) fn report(launching: &LaunchFlags, ended: &RunResult, counted: bool) {
    let Some(ExitRecord { faults, instructions, memory, refused, host_calls, system_calls, .. }) =
        &ended.record
    else {
        return;
    };
    if faults.faults == 0 && *system_calls == 0 {
        // It was never begun, and the error says why.
        return;
    }
    complain!();
    complain!(
        "ameles enclave: {}, {}, {} pages resident, {} of untrusted memory for {} pages, {:.1} MiB trusted",
        launching.scheme_with_ratio(),
        launching.cipher,
        launching.resident,
        launching.untrusted,
        memory.pages,
        memory.trusted_bytes as f64 / (1 << 20) as f64
    );
    complain!(
        "  {} faults with {} evictions, beside {} faults that loaded it; the program had {} at most",
        faults.faults,
        faults.evictions,
        faults.loading,
        Size(memory.max_held_pages * 4096)
    );
    if counted {
        spent(instructions, faults.faults);
        if launching.harts() > 1 {
            spread(instructions, faults.faults, launching.harts());
        }
    }
    complain!("  {system_calls} system calls, {host_calls} of them passed to the host");
    for call in refused {
        complain!("  refused: {} ({} times)", call.name, call.times);
    }
    complain!("  {:.3} s in the emulator", ended.took.as_secs_f64());
}

/// Tells where instructions went.
fn spent(instructions: &Instructions, faults: u64) {
    let Instructions { total, faults: in_faults, ciphers, copies, .. } = *instructions;
    complain!(
        "  {total} instructions, {:.0} % of them in faults",
        100.0 * in_faults as f64 / total.max(1) as f64
    );
    let each = |part| each(part, faults);
    complain!(
        "  {:.0} instructions a fault: {:.0} in ciphers, {:.0} in copies, {:.0} in all else",
        each(in_faults),
        each(ciphers),
        each(copies),
        each(in_faults.saturating_sub(ciphers + copies))
    );
}

/// Tells what was spread over harts, and what a fault takes when they do it side by side.
fn spread(instructions: &Instructions, faults: u64, harts: u32) {
    let Instructions { faults: in_faults, shared, longest, handing_over, .. } = *instructions;
    let each = |part| each(part, faults);
    complain!(
        "  over {harts} harts, a fault: {:.0} shared, of which the longest shares are {:.0}; {:.0} to hand over",
        each(shared),
        each(longest),
        each(handing_over)
    );
    complain!(
        "  {:.0} instructions a fault when harts work side by side: here they took turns, to be counted",
        each((in_faults + longest).saturating_sub(shared))
    );
}

fn each(part: u64, faults: u64) -> f64 {
    part as f64 / faults.max(1) as f64
}

/// Tells how much more instructions it took than with plain encrypted paging.
pub(super) fn comparison(ended: &RunResult, plain: &RunResult) {
    let (Some(record), Some(plain_record)) = (&ended.record, &plain.record) else { return };
    let (Instructions { total, .. }, of_plain) = (record.instructions, plain_record.instructions.total);
    if record.ending != plain_record.ending {
        complain!(
            "ameles enclave: warning: with plain encrypted paging it ended in another way: it does not do the same"
        );
    }
    complain!(
        "  against {of_plain} instructions with plain encrypted paging: {:.2} times ({:.3} s there)",
        total as f64 / of_plain.max(1) as f64,
        plain.took.as_secs_f64()
    );
}

/// The exit code of a program that ended by itself or by a signal.
///
/// # Errors
/// The runtime could not go on.
pub(super) fn ending(ended: &RunResult, program: &Program) -> Result<i32> {
    match ended.record.as_ref().map(|record| &record.ending) {
        None | Some(Ending::WindowEnded) => Ok(Exit::Success as i32),
        Some(Ending::Exited(code)) => Ok(i32::from(*code)),
        Some(Ending::Signalled { signal, reason }) => {
            complain!("ameles enclave: the program was ended by signal {signal}: {reason}");
            Ok(128 + i32::from(*signal))
        }
        Some(Ending::Failed { kind: Failure::Forged | Failure::Host, text }) => {
            complain!("error: the untrusted side has tampered: {text}");
            Ok(Exit::Tampering as i32)
        }
        Some(Ending::Failed { kind: Failure::Launch, text }) => {
            Err(anyhow!("{} was not begun: {text}", program.name().display()))
        }
        Some(Ending::Failed { text, .. }) => Err(anyhow!("{text}")),
    }
}
