//! The short traces of the repository, which are in the program itself.

use ameles_processor::trace::TraceError;
use ameles_processor::trace::packed::{self, Packed};

macro_rules! traces {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_bytes!(concat!("../short/", $name, ".trace")))),*]
    };
}

/// The traces, by the names of their programs.
const TRACES: [(&str, &[u8]); 16] = traces![
    "cc1",
    "sqlite3-insert",
    "gzip",
    "recommender",
    "bunzip2",
    "picosat",
    "lbm",
    "xz",
    "python3-copy",
    "bzip2",
    "perl-hash",
    "lbm-fill",
    "python3-encode",
    "python3-range",
    "python3-bytes",
    "python3-zeros",
];

/// The names of the traces, in the order of the table of programs.
pub fn names() -> impl Iterator<Item = &'static str> {
    TRACES.iter().map(|(name, _)| *name)
}

/// Opens a trace; none if no program has that name.
pub fn open(name: &str) -> Option<Result<Packed<&'static [u8]>, TraceError>> {
    TRACES.iter().find(|(known, _)| *known == name).map(|(_, bytes)| packed::read(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digests::Digests;
    use crate::measure::Figures;
    use crate::programs::{Class, tables};

    #[test]
    fn each_program_of_the_table_has_its_stored_short_trace_and_class() {
        let stored = Digests::read(include_str!("../digests.toml")).unwrap();
        let tables = tables().unwrap();
        assert!(names().eq(tables.programs.iter().map(|program| program.name.as_str())));
        for program in &tables.programs {
            let trace = open(&program.name).unwrap().unwrap();
            let figures = Figures::of(trace.warm_up(), trace).unwrap();
            assert_eq!(Some(&figures.digest), stored.short.get(&program.name), "{}", program.name);
            let [loads, stores] = [figures.loads, figures.stores].map(|misses| figures.per_kilo(misses));
            assert_eq!(Class::of(loads, stores), program.class, "{}: {loads}, {stores}", program.name);
        }
    }

    #[test]
    fn each_trace_says_its_program_and_version_and_both_licences() {
        let tables = tables().unwrap();
        for program in &tables.programs {
            let words = [&program.version, &program.licence, &tables.trace_licence];
            assert!(words.iter().all(|word| !word.trim().is_empty()), "{}", program.name);
            let trace = open(&program.name).unwrap().unwrap();
            let notice = trace.notice().unwrap_or_default();
            assert_eq!(notice, program.notice(&tables.trace_licence), "{}", program.name);
            assert!(
                words.iter().all(|word| notice.contains(word.as_str())) && notice.starts_with(&program.name)
            );
        }
    }

    #[test]
    fn the_traces_take_less_than_4_megabytes() {
        let bytes: usize = TRACES.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(bytes < 4_000_000, "{bytes}");
    }
}
