//! The schemes of the figures, by name.

use super::error::ProcessorError;
use super::newer_schemes::{self, NewerScheme};
use super::options::Options;
use super::preset::Preset;
use super::settings::Setting;
use ameles_core::schemes::freecursive::TrustedHits;
use ameles_simulator::configuration::{Configuration, Scheme};
use ameles_simulator::configuration_error::ConfigurationError;
use ameles_simulator::early_write_back::EarlyLine;
use ameles_simulator::machine::Machine;
use ameles_simulator::on_chip::OnChipBytes;
use ameles_simulator::pace::Pace;
use ameles_simulator::small_tree::Admission;

/// A scheme of the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LabScheme {
    /// A scheme of the paper.
    Paper(Scheme),
    /// The sizes of Figure 12 by number, 2 or 3. (1 and 4 are those of IR-ORAM and of IR-Alloc.)
    Sizes(u32),
    /// A scheme with delayed remapping.
    Delayed(Scheme),
    /// A scheme in which every path is read, so it is oblivious.
    Sound(Scheme),
    /// An oblivious scheme with delayed remapping, in which every path is read.
    SoundDelayed(Scheme),
    /// A scheme that is newer than the figures.
    Newer(NewerScheme),
    /// A newer scheme in which every path is read.
    SoundNewer(NewerScheme),
}

/// The names of the schemes of the figures.
pub(super) const NAMES: [(&str, LabScheme); 25] = [
    ("baseline", LabScheme::Paper(Scheme::Baseline)),
    ("ir-alloc", LabScheme::Paper(Scheme::IrAlloc)),
    ("ir-stash", LabScheme::Paper(Scheme::IrStash)),
    ("ir-dwb", LabScheme::Paper(Scheme::IrDwb)),
    ("ir-oram", LabScheme::Paper(Scheme::IrOram)),
    ("ir-stash-alloc", LabScheme::Paper(Scheme::IrStashAlloc)),
    ("llc-d", LabScheme::Paper(Scheme::LlcD)),
    ("llc-d-stash-alloc", LabScheme::Paper(Scheme::LlcDStashAlloc)),
    ("llc-d-dwb", LabScheme::Paper(Scheme::LlcDDwb)),
    ("llc-d-stash-alloc-dwb", LabScheme::Paper(Scheme::LlcDStashAllocDwb)),
    ("rho", LabScheme::Paper(Scheme::Rho)),
    ("raw", LabScheme::Paper(Scheme::Raw)),
    ("ring", LabScheme::Paper(Scheme::Ring)),
    ("llc-d-raw", LabScheme::Delayed(Scheme::Raw)),
    ("llc-d-ring", LabScheme::Delayed(Scheme::Ring)),
    ("ir-alloc1", LabScheme::Sizes(1)),
    ("ir-alloc2", LabScheme::Sizes(2)),
    ("ir-alloc3", LabScheme::Sizes(3)),
    ("sound-baseline", LabScheme::Sound(Scheme::Baseline)),
    ("sound-alloc", LabScheme::Sound(Scheme::IrAlloc)),
    ("sound-llc-d-alloc", LabScheme::Sound(Scheme::LlcDStashAlloc)),
    ("sound-raw", LabScheme::Sound(Scheme::Raw)),
    ("sound-ring", LabScheme::Sound(Scheme::Ring)),
    ("sound-llc-d", LabScheme::Sound(Scheme::LlcD)),
    ("sound-llc-d-ring", LabScheme::SoundDelayed(Scheme::Ring)),
];

/// The sizes of Figure 12: levels of a tree of 25.
const SIZES: [&[(u32, u32, u32)]; 3] =
    [&[(10, 16, 2), (17, 19, 3)], &[(10, 16, 2), (17, 18, 2)], &[(10, 14, 1), (15, 18, 2)]];

/// A configuration with its names.
#[derive(Clone, Debug)]
pub(super) struct NamedConfiguration {
    pub(super) scheme: String,
    pub(super) configuration: Configuration,
    pub(super) path_blocks: u64,
    pub(super) on_chip: u64,
}

impl NamedConfiguration {
    /// Names a configuration, once it is checked.
    ///
    /// # Errors
    /// [`ProcessorError::Configuration`].
    pub(super) fn new(scheme: String, configuration: Configuration) -> Result<Self, ProcessorError> {
        let failed = |source| configuration_error(&scheme, &configuration, source);
        Machine::check(&configuration).map_err(failed)?;
        let path_blocks = configuration.path_blocks().map_err(failed)?;
        let on_chip = OnChipBytes::of(&configuration).map_err(failed)?.total();
        Ok(NamedConfiguration { scheme, configuration, path_blocks, on_chip })
    }
}

/// The error of a scheme whose machine is impossible.
pub(super) fn configuration_error(
    scheme: &str,
    configuration: &Configuration,
    source: ConfigurationError,
) -> ProcessorError {
    let (pace, tree) = (pace_name(configuration.pace), configuration.oram.scheme);
    ProcessorError::Configuration { scheme: scheme.to_owned(), pace, tree, source: Box::new(source) }
}

/// The names of all schemes, in a sentence.
pub fn names() -> String {
    let newer = newer_schemes::NAMES.iter().map(|(name, _)| *name);
    NAMES.iter().map(|(name, _)| *name).chain(newer).collect::<Vec<_>>().join(", ")
}

/// The scheme of a name.
///
/// # Errors
/// [`ProcessorError::Unknown`].
fn scheme_by_name(name: &str) -> Result<LabScheme, ProcessorError> {
    let newer = newer_schemes::NAMES.iter().find(|(known, _)| *known == name).map(|(_, scheme)| *scheme);
    match (NAMES.iter().find(|(known, _)| *known == name), newer) {
        (Some((_, scheme)), _) => Ok(*scheme),
        (None, Some(scheme)) if name.starts_with("sound-") => Ok(LabScheme::SoundNewer(scheme)),
        (None, Some(scheme)) => Ok(LabScheme::Newer(scheme)),
        (None, None) => {
            Err(ProcessorError::Unknown { what: "scheme", name: name.to_owned(), known: names() })
        }
    }
}

/// The rate as the user writes it, such as end:1000.
pub fn pace_name(pace: Pace) -> String {
    match pace {
        Pace::Free => "free".into(),
        Pace::FromStart(cycles) => format!("start:{cycles}"),
        Pace::FromEnd(cycles) => format!("end:{cycles}"),
        Pace::Idle(cycles) => format!("idle:{cycles}"),
        Pace::Instructions(instructions) => format!("instructions:{instructions}"),
        Pace::Fetches(instructions) => format!("fetches:{instructions}"),
    }
}

/// Returns the configurations to run. Schemes that need a rate are left out without one.
///
/// # Errors
/// [`ProcessorError`].
pub(super) fn configurations(options: &Options) -> Result<Vec<NamedConfiguration>, ProcessorError> {
    let mut all = Vec::new();
    for pace in &options.paces {
        for name in selected_names(options, *pace) {
            let scheme = scheme_by_name(&name)?;
            let is_sound =
                matches!(scheme, LabScheme::Sound(_) | LabScheme::SoundDelayed(_) | LabScheme::SoundNewer(_));
            if is_sound && options.settings.iter().any(Setting::saves_paths) {
                return Err(ProcessorError::Unsound { scheme: name });
            }
            let configuration = machine(options, scheme, *pace);
            // Without a rate there are no dummies to use. Such a scheme runs at the other rates, or was named by
            // mistake.
            let is_meant = options.paces.len() == 1 && options.schemes.contains(&name);
            if configuration.early_write_backs && !pace.has_dummies() && !is_meant {
                continue;
            }
            all.push(NamedConfiguration::new(name, configuration)?);
        }
    }
    for setting in &options.settings {
        let unused =
            all.iter().map(|named| setting.unused_by(&named.configuration)).collect::<Option<Vec<_>>>();
        if let Some((setting, kind)) = unused.and_then(|unused| unused.first().copied()) {
            return Err(ProcessorError::Unused { setting, kind });
        }
    }
    // Schemes of one tree are adjacent, so that one tree at a time is in memory.
    all.sort_by_key(|named| {
        let oram = &named.configuration.oram;
        (oram.scheme, oram.sizes.clone(), oram.hits == TrustedHits::AnswerAtOnce)
    });
    Ok(all)
}

/// The schemes that run without a rate by default: those of the paper's figures.
const WITHOUT_RATE: [&str; 10] = [
    "baseline",
    "ir-alloc",
    "ir-stash",
    "ir-stash-alloc",
    "rho",
    "llc-d",
    "llc-d-stash-alloc",
    "ir-alloc1",
    "ir-alloc2",
    "ir-alloc3",
];

/// The oblivious schemes that a machine has in addition.
const OF_MACHINE: [&str; 3] = ["sound-baseline", "sound-alloc", "sound-llc-d"];

/// The schemes that run at each rate by default: they show its effect.
const AT_A_RATE: [&str; 3] = ["baseline", "ir-dwb", "ir-oram"];

/// The name that stands for all schemes, and for those that IR-ORAM does not have.
const ALL: &str = "all";

/// The maximum of levels with which Ring ORAM is among [`ALL`]: its tree takes four times as much memory as the
/// others'.
const MAX_LEVELS_OF_RING: u32 = 22;

/// The names of the schemes to run at a rate.
fn selected_names(options: &Options, pace: Pace) -> Vec<String> {
    let of_machine = if options.preset == Preset::Machine { &OF_MACHINE[..] } else { &[] };
    let names: Vec<&str> = match (options.schemes.as_slice(), pace) {
        ([], Pace::Free) => [&WITHOUT_RATE, of_machine].concat(),
        ([], _) => AT_A_RATE.into(),
        ([name], _) if name == ALL => {
            let has_room = options.levels <= MAX_LEVELS_OF_RING;
            let names = NAMES.iter().map(|(name, _)| *name);
            names.filter(|name| has_room || !name.ends_with("ring")).collect()
        }
        (selected_names, _) => return selected_names.to_vec(),
    };
    names.into_iter().map(str::to_owned).collect()
}

/// The machine of the options with a scheme, at a rate.
fn machine(options: &Options, scheme: LabScheme, pace: Pace) -> Configuration {
    let mut configuration = with_scheme(scheme, options.baseline(options.levels));
    configuration.pace = pace;
    if options.preset == Preset::Authors {
        configuration = as_authors(scheme, configuration);
    }
    let mut configuration = Setting::apply_all(&options.settings, configuration);
    configuration.processor.cores = options.traces.cores(options.lines(), configuration.block_lines);
    Machine::with_room(configuration)
}

fn with_scheme(scheme: LabScheme, baseline: Configuration) -> Configuration {
    match scheme {
        LabScheme::Paper(scheme) => baseline.with_scheme(scheme),
        LabScheme::Sizes(nth) => baseline.with_sizes(SIZES[nth as usize - 1]),
        LabScheme::Delayed(scheme) => delayed(baseline.with_scheme(scheme)),
        LabScheme::Sound(scheme) => sound(baseline.with_scheme(scheme)),
        LabScheme::SoundDelayed(scheme) => sound(delayed(baseline.with_scheme(scheme))),
        LabScheme::Newer(scheme) => scheme.configuration(baseline),
        LabScheme::SoundNewer(scheme) => sound(scheme.configuration(baseline)),
    }
}

/// A scheme as the code and the logs of IR-ORAM's authors have it.
fn as_authors(scheme: LabScheme, mut configuration: Configuration) -> Configuration {
    let oram = &mut configuration.oram;
    if oram.hits == TrustedHits::SaveThePath {
        // A block of the tree top is read with its path; those of the stash and of IR-Stash are not.
        oram.hits = TrustedHits::StashAnswers;
    }
    configuration.early_line = EarlyLine::LastWritten;
    if let Some(small) = &mut configuration.small_tree {
        // 19 levels, six of them on chip, next to a main tree of 24. Without a rate the trees take no turns.
        small.levels += 1;
        small.top_levels = 6.min(small.levels - 1);
        small.sets = small.sets.saturating_mul(2).min(16_000);
        small.admission = Admission::OnEviction;
        small.paths = if configuration.pace == Pace::Free { 0 } else { small.paths };
    }
    let is_alloc = scheme == LabScheme::Paper(Scheme::IrAlloc);
    if is_alloc { configuration.with_sizes(&[(11, 14, 1), (15, 18, 2)]) } else { configuration }
}

fn delayed(configuration: Configuration) -> Configuration {
    Configuration { delayed_remapping: true, ..configuration }
}

fn sound(mut configuration: Configuration) -> Configuration {
    configuration.oram.hits = TrustedHits::ReadThePath;
    configuration
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options_of(levels: u32) -> Options {
        Options { levels, ..Options::standard() }
    }

    #[test]
    fn every_scheme_has_a_configuration_under_every_rate() {
        for levels in [18, 25, 26] {
            let options = Options { schemes: vec![ALL.into()], ..options_of(levels) };
            let all = configurations(&options).unwrap();
            let schemes = NAMES.len() - if levels > MAX_LEVELS_OF_RING { 4 } else { 0 };
            assert_eq!(all.len(), options.paces.len() * schemes - 4, "without a rate there is no IR-DWB");
            let free = Options { paces: vec![Pace::Free], ..options };
            assert_eq!(configurations(&free).unwrap().len(), schemes - 4);
            let few = Options { schemes: Vec::new(), ..options_of(levels) };
            assert_eq!(
                configurations(&few).unwrap().len(),
                WITHOUT_RATE.len() + OF_MACHINE.len() + AT_A_RATE.len()
            );
        }
    }

    #[test]
    fn a_newer_scheme_is_a_machine_and_runs_only_if_it_is_named() {
        for levels in [18, 22] {
            let options = Options { levels, paces: vec![Pace::FromEnd(1000)], ..Options::standard() };
            let by_default = configurations(&options).unwrap();
            for (name, _) in newer_schemes::NAMES {
                assert!(by_default.iter().all(|named| named.scheme != name), "{name}");
                let named = Options { schemes: vec![name.to_owned()], ..options.clone() };
                assert_eq!(configurations(&named).unwrap().len(), 1, "{name}");
                assert!(names().contains(name));
            }
        }
        let unsound = Options {
            schemes: vec!["sound-fork".to_owned()],
            settings: vec!["hits=save-the-path".parse().unwrap()],
            ..Options::standard()
        };
        assert!(matches!(configurations(&unsound), Err(ProcessorError::Unsound { .. })));
    }

    /// The room of the tree top and of the stash decides how a tree settles: other schemes of the same run change no
    /// digit.
    #[test]
    fn schemes_share_a_tree_only_if_each_would_draw_it_for_itself() {
        let mut options = Options { paces: vec![Pace::FromEnd(1000)], ..Options::standard() };
        options.schemes = NAMES.map(|(name, _)| name.to_owned()).into();
        let all = configurations(&options).unwrap();
        let oram = |name: &str| {
            let named = all.iter().find(|named| named.scheme == name);
            &named.unwrap_or_else(|| panic!("no {name}")).configuration.oram
        };
        let shares = |one: &str, other: &str| oram(one).has_tree_of(oram(other));
        assert!(
            shares("baseline", "llc-d")
                && shares("baseline", "sound-baseline")
                && shares("ir-alloc", "sound-alloc")
        );
        // The index of IR-Stash leaves blocks in the stash, and so more evictions come.
        assert!(!shares("ir-alloc1", "ir-oram") && !shares("ir-alloc", "llc-d-stash-alloc"));
        assert!(!shares("baseline", "ir-alloc") && !shares("baseline", "raw") && !shares("raw", "ring"));
        let groups = all.chunk_by(|one, other| one.configuration.oram.has_tree_of(&other.configuration.oram));
        assert_eq!(groups.count(), 10, "each tree is drawn once");
    }

    #[test]
    fn a_scheme_that_is_unknown_or_impossible_is_one_clear_error() {
        let message = |options: Options| configurations(&options).unwrap_err().to_string();
        let standard = Options::standard;
        let named = |name: &str| Options { schemes: vec![name.into()], ..standard() };
        let mut unused = Options { paces: vec![Pace::Free], ..named("baseline") };
        unused.set("ring-slots=20").unwrap();
        assert!(message(unused.clone()).contains("--set ring-slots changes none"));
        unused.schemes.push("ring".into());
        assert!(configurations(&unused).is_ok());
        let mut unsound = named("sound-ring");
        unsound.set("hits=save-the-path").unwrap();
        assert!(message(unsound).contains("choose a scheme without sound-"));
        assert!(message(named("oram")).contains("scheme oram is unknown: choose baseline"));
        let mut tight = Options { paces: vec![Pace::FromStart(100)], ..named("baseline") };
        assert!(message(tight.clone()).contains("too fast"));
        for (pace, why) in [
            (Pace::Instructions(0), "a T of 0 instructions lets the processor fetch none"),
            (Pace::Instructions(10_000_001), "a T of 10000001 instructions is too long"),
            (Pace::Idle(10_000_001), "a T of 10000001 cycles is too long"),
        ] {
            tight.paces = vec![pace];
            assert!(message(tight.clone()).contains(why), "{}", message(tight));
        }
        tight.paces = vec![Pace::Free];
        assert!(
            message(Options { schemes: vec!["ir-dwb".into()], ..tight.clone() }).contains("choose a rate")
        );
        let mut small = Options { paces: vec![Pace::Free], ..named("rho") };
        small.set("rho-sets=10000000").unwrap();
        assert!(message(small.clone()).contains("the small tree is impossible"));
        small.set("rho-sets=1000000").unwrap();
        assert!(message(small.clone()).contains("too small"));
        small.set("rho-sets=16000").unwrap();
        small.set("llc-d=1").unwrap();
        assert!(message(small).contains("cannot be combined"));
        tight.set("z=20-24:1").unwrap();
        assert!(message(tight).contains("too small"));
    }

    #[test]
    fn an_impossible_machine_is_refused_by_the_names_of_the_options() {
        for (scheme, settings, why) in [
            ("baseline", &["plb=4", "plb-ways=8"][..], "plb-ways is 8: choose 1 to 4"),
            (
                "baseline",
                &["plb=1000", "plb-ways=3"],
                "plb=1000 makes no sets of plb-ways=3: choose plb-ways that",
            ),
            (
                "baseline",
                &["stash=50"],
                "stash=50 cannot take the blocks of a path: choose stash=101 or more",
            ),
            (
                "baseline",
                &["lines=4294967295"],
                "lines, with the PosMap blocks, is 4581294079: choose 1 to 429",
            ),
            ("baseline", &["lines=200000000"], "choose more --levels, fewer lines, more labels, or larger"),
            ("baseline", &["top=25"], "top=25 of 25 levels: choose top=0 to top=24, or more"),
            (
                "baseline",
                &["z=9-12:2"],
                "z: levels 9 to 12 are not a range of levels in memory: choose 10 ≤ first ≤ last ≤ 24",
            ),
            (
                "baseline",
                &["z=10-99:1"],
                "z: levels 10 to 99 are not a range of levels in memory: choose 10 ≤ first ≤ last ≤ 24",
            ),
            ("baseline", &["z=10-12:5"], "a size of z is 5: choose 1 to 4"),
            ("baseline", &["subtree=12"], "choose another subtree (0 for the plain layout)"),
            ("baseline", &["llc=1000"], "llc=1000 in sets of 8 ways does not make a power of two of sets"),
            ("ir-dwb", &[], "choose a rate, such as --pace end:1000"),
            ("rho", &["rho-top=19"], "rho-top=19 of rho-levels=19: choose"),
            (
                "rho",
                &["rho-sets=2000000", "rho-ways=1", "rho-levels=25"],
                "rho-sets is 2000000: choose 1 to 1048576",
            ),
            ("rho", &["rho-levels=12"], "choose more rho-levels, a larger rho-z or fewer rho-sets"),
            ("rho", &["rho-z=64"], "choose fewer rho-levels or a smaller rho-z"),
            (
                "rho",
                &["lines=500000"],
                "lines=500000 are too few for the 160000 tags of rho-sets times rho-ways",
            ),
            ("rho", &["llc-d=1"], "rho cannot be combined with dwb=1 or llc-d=1"),
        ] {
            assert_error_says(scheme, settings, why);
        }
    }

    #[test]
    fn impossible_buckets_and_schedules_are_refused_by_the_names_of_the_options() {
        for (scheme, settings, why) in [
            (
                "baseline",
                &["bucket=1"][..],
                "bucket=1 fills the stash without end: choose bucket=4 to bucket=64",
            ),
            ("ir-dwb", &["bucket=3"], "bucket=3 fills the stash without end: choose bucket=4 to"),
            ("ir-stash", &["top=1", "top-ways=64"], "top-ways is 64: choose 1 to 4"),
            ("raw", &["bucket=1"], "bucket is 1: choose 2 to 64"),
            ("raw", &["eviction-rate=20"], "eviction-rate is 20: choose 1 to 9"),
            (
                "ring",
                &["bucket=4"],
                "bucket=4 with eviction-rate=8 fills the stash without end: choose bucket=8 to bucket=64, or eviction-rate=1 to \
                 eviction-rate=3",
            ),
            ("ring", &["eviction-rate=127"], "without end: choose eviction-rate=1 to eviction-rate=8"),
            ("ring", &["bucket=2", "eviction-rate=127"], "choose a larger bucket and a lower eviction-rate"),
            ("ring", &["ring-reads=20"], "ring-slots is 12: choose 20 to 28, for bucket=8 and ring-reads=20"),
            ("ring", &["ring-slots=30"], "ring-slots is 30: choose 12 to 20, for"),
            (
                "ring",
                &["top=24", "eviction-rate=32"],
                "leaf buckets of 11 blocks are too small: choose bucket=2",
            ),
            ("ring", &["top=0", "stash=1"], "lacks room for 12 blocks: choose a stash that is larger"),
            ("ring", &["subtree=12"], "smaller buckets (bucket and ring-slots) or fewer --levels"),
            ("raw", &["subtree=12"], "smaller buckets (bucket) or fewer --levels"),
        ] {
            assert_error_says(scheme, settings, why);
        }
    }

    fn assert_error_says(scheme: &str, settings: &[&str], why: &str) {
        let mut options =
            Options { schemes: vec![scheme.into()], paces: vec![Pace::Free], ..Options::standard() };
        settings.iter().for_each(|setting| options.set(setting).unwrap());
        let message = configurations(&options).unwrap_err().to_string();
        assert!(
            message.contains(why) && message.starts_with(&format!("scheme {scheme} with free: ")),
            "{message}"
        );
        assert!(
            !["_", "Z", " S ", " A "].iter().any(|name| message.contains(name)),
            "a name of the core's: {message}"
        );
    }
}
