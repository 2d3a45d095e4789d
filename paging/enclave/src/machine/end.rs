//! The end of a run: writes the record, and turns the machine off.

use super::untrusted::write_word;
use alloc::format;
use alloc::string::String;
use ameles_enclave_boundary::exit::{Ending, ExitRecord, Failure};
use ameles_enclave_boundary::map::{EXIT_LENGTH_OFFSET, EXIT_OFFSET};
use core::fmt::{Arguments, Write};
use core::sync::atomic::{AtomicBool, Ordering};

static ENDING: AtomicBool = AtomicBool::new(false);

/// Writes the record and ends.
pub(super) fn end_with(record: &ExitRecord) -> ! {
    ENDING.store(true, Ordering::Relaxed);
    let bytes = record.encode();
    super::untrusted::write(EXIT_OFFSET, &bytes);
    write_word(EXIT_LENGTH_OFFSET, bytes.len() as u64);
    off()
}

/// Ends by a failure of the runtime. A second one meanwhile, or one before there is a heap, writes no record.
pub(super) fn fail_runtime(text: &Arguments<'_>) -> ! {
    if ENDING.swap(true, Ordering::Relaxed) || !super::heap::is_there() {
        end_without_record(text);
    }
    end_with(&ExitRecord::of(Ending::Failed { kind: Failure::Runtime, text: format!("{text}") }))
}

/// The ending of a run that could not begin.
pub(super) fn launch_failed(text: String) -> Ending {
    Ending::Failed { kind: Failure::Launch, text }
}

/// Ends without a record: with the firmware's console only.
pub(super) fn end_without_record(text: &Arguments<'_>) -> ! {
    // It cannot fail.
    let _ = writeln!(Console, "ameles-enclave: {text}");
    off()
}

/// The console of the firmware.
struct Console;

impl Write for Console {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        #[allow(deprecated, reason = "Debian's firmware has no other console")]
        text.bytes().for_each(|byte| {
            sbi_rt::legacy::console_putchar(byte.into());
        });
        Ok(())
    }
}

fn off() -> ! {
    sbi_rt::system_reset(sbi_rt::Shutdown, sbi_rt::NoReason);
    loop {
        core::hint::spin_loop();
    }
}
