//! The notice in the file of a trace: the program, its version, its licence, and the licence of the trace.

use crate::error::RecordError;
use ameles_processor::trace::{self, packed};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// Copies a trace into another file, packed and with a notice.
///
/// # Errors
/// [`RecordError::Trace`], [`RecordError::File`].
pub fn copy(from: &Path, into: &Path, notice: &str) -> Result<(), RecordError> {
    let failed = |why: io::Error| RecordError::File { path: into.to_path_buf(), why };
    let trace = trace::open(from, None)?;
    let file = BufWriter::new(File::create(into).map_err(failed)?);
    let mut writer = packed::Writer::with_notice(file, trace.warm_up(), notice).map_err(failed)?;
    for miss in trace {
        writer.write(miss?).map_err(failed)?;
    }
    writer.finish().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Figures;
    use crate::programs::tables;

    #[test]
    fn a_copy_has_the_notice_and_the_same_records_as_the_stored_trace_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let stored = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/short/gzip.trace"));
        let [bare, copied] = ["bare", "copied"].map(|name| folder.path().join(name));
        let tables = tables().unwrap();
        let gzip = tables.programs.iter().find(|program| program.name == "gzip").unwrap();
        let trace = trace::open(stored, None).unwrap();
        let mut writer = packed::Writer::new(File::create(&bare).unwrap(), trace.warm_up()).unwrap();
        trace.for_each(|miss| writer.write(miss.unwrap()).unwrap());
        writer.finish().unwrap();
        assert_eq!(trace::open(&bare, None).unwrap().notice(), None);
        copy(&bare, &copied, &gzip.notice(&tables.trace_licence)).unwrap();
        assert_eq!(std::fs::read(&copied).unwrap(), std::fs::read(stored).unwrap());
        let digest = |path: &Path| {
            let trace = trace::open(path, None).unwrap();
            Figures::of(trace.warm_up(), trace).unwrap().digest
        };
        assert_eq!(digest(&bare), digest(&copied));
    }
}
