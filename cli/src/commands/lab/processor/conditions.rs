//! The conditions of a run, for its report.

use crate::commands::lab::command_line::command_line;
use ameles_lab::processor::{Options, Part, pace_name};
use ameles_lab::report::ReportMetadata;

/// Returns the conditions for the report. `settings` are the values of `--set`.
pub(super) fn about(all: &[Options], settings: &[String]) -> ReportMetadata {
    ReportMetadata {
        title: "ORAM controllers of processors".to_owned(),
        introduction: "The figures of \"IR-ORAM: Path Access Type Based Memory Intensity Reduction for Path-ORAM\", repeated by \
                       Ameles with other programs. Outlines are the paper's means. The same command gives the same figures on every \
                       machine."
            .to_owned(),
        command: command_line(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        facts: all.iter().flat_map(|options| facts(options, settings, all.len() > 1)).collect(),
    }
}

/// The seeds, as a range.
fn seeds(options: &Options) -> String {
    let (first, last) = (options.seeds.start, options.seeds.end - 1);
    if first == last { first.to_string() } else { format!("{first} to {last}") }
}

/// Returns the choices that the parts use, each with its name. Of several machines each choice has the machine's name.
fn facts(options: &Options, settings: &[String], is_one_of_several: bool) -> Vec<(String, String)> {
    let parts = options.parts();
    let has_programs = [Part::Figures, Part::OverTime, Part::Plb].iter().any(|part| parts.contains(part));
    let has_several_rates = parts.contains(&Part::Figures) || parts.contains(&Part::OverTime);
    let list = |names: &[String], none: &str| match names {
        [] => none.to_owned(),
        names => names.join(", "),
    };
    let mut facts = vec![("Parts", parts.iter().map(Part::to_string).collect::<Vec<_>>().join(", "))];
    if has_programs {
        let traces: Vec<String> =
            options.traces.paths.iter().map(|path| path.display().to_string()).collect();
        facts.push(match traces.as_slice() {
            [] => ("Programs", list(&options.programs, "all")),
            traces => ("Trace", traces.join(", ")),
        });
        facts.extend(options.traces.cores.map(|cores| ("Cores", cores.to_string())));
        let by_default =
            if has_several_rates { "those of the paper's figures" } else { "baseline, ir-stash" };
        facts.push(("Schemes", list(&options.schemes, by_default)));
    }
    if has_programs || parts.contains(&Part::Scaling) {
        // The search uses one rate.
        let rates = if has_several_rates { options.paces.len() } else { 1 };
        let rates: Vec<String> = options.paces.iter().take(rates).map(|pace| pace_name(*pace)).collect();
        facts.push(("Rates", rates.join(", ")));
        facts.push(("Settings", list(settings, "none")));
    }
    let misses = if options.misses == usize::MAX { "all".to_owned() } else { options.misses.to_string() };
    let frames = if parts == [Part::Plb] { "each order".to_owned() } else { options.frames.to_string() };
    let mut starts: Vec<String> = parts.iter().map(|part| options.start_of(*part).to_string()).collect();
    starts.dedup();
    let channels = options.channels.map_or("of the memory".to_owned(), |channels| channels.to_string());
    facts.extend([
        ("Machine", options.preset.to_string()),
        ("Channels", channels),
        ("Page frames", frames),
        ("Start of the tree", starts.join(", ")),
        ("Levels", options.levels.to_string()),
        ("Misses", misses),
        ("Seeds", seeds(options)),
    ]);
    let named = |(name, value): (&str, String)| match is_one_of_several {
        true => (format!("{name}, as {}", options.preset), value),
        false => (name.to_owned(), value),
    };
    facts.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_lab::processor::TraceOptions;

    fn fact_lines(options: &Options, settings: &[&str]) -> Vec<String> {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let facts = about(std::slice::from_ref(options), &settings).facts;
        facts.into_iter().map(|(name, value)| format!("{name}: {value}")).collect()
    }

    #[test]
    fn a_report_lists_every_choice_that_reproduces_its_figures() {
        let standard = Options::standard();
        let traces = TraceOptions { paths: vec!["a/mine.trace".into()], ..TraceOptions::default() };
        let trace = Options { traces, ..standard.clone() };
        assert_eq!(
            fact_lines(&trace, &["z=10-16:2", "stash=300"]),
            [
                "Parts: figures",
                "Trace: a/mine.trace",
                "Schemes: those of the paper's figures",
                "Rates: end:1000, free",
                "Settings: z=10-16:2, stash=300",
                "Machine: machine",
                "Channels: of the memory",
                "Page frames: random",
                "Start of the tree: settled",
                "Levels: 25",
                "Misses: 100000",
                "Seeds: 1 to 3"
            ]
        );
        let two_programs = Options { programs: vec!["xz".into(), "rand".into()], ..standard.clone() };
        assert!(fact_lines(&two_programs, &[]).contains(&"Programs: xz, rand".to_owned()));
        let search = Options { parts: vec![Part::Scaling], ..standard.clone() };
        assert_eq!(fact_lines(&search, &[])[..3], ["Parts: scaling", "Rates: end:1000", "Settings: none"]);
        let filling = Options { parts: vec![Part::Utilisation], misses: usize::MAX, ..standard };
        let lines = fact_lines(&filling, &[]);
        assert_eq!(lines[0], "Parts: utilisation");
        assert_eq!(lines[5..], ["Levels: 25", "Misses: all", "Seeds: 1 to 3"]);
    }
}
