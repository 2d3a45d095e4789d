//! Changes of a configuration by `KEY=VALUE`.

use ameles_core::schemes::freecursive::TrustedHits;
use ameles_simulator::configuration::Configuration;
use ameles_simulator::early_write_back::EarlyLine;
use ameles_simulator::fork_path::{Choice, ForkPathConfiguration};
use ameles_simulator::small_tree::{Admission, SmallTreeConfiguration};
use ameles_simulator::tree_scheme::{Headers, TreeScheme};
use std::str::FromStr;

/// A change of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The sizes of buckets by level, such as 10-15:1,16-18:2.
    Sizes(Vec<(u32, u32, u32)>),
    /// The handling of blocks that are found on the trusted side.
    Hits(TrustedHits),
    /// A number.
    Number(Key, u64),
}

/// The name of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Levels on the trusted side.
    Top,
    /// Ways of the tree top's index.
    TopWays,
    /// Blocks of the stash.
    Stash,
    /// Blocks of the PLB.
    Plb,
    /// Ways of the PLB.
    PlbWays,
    /// Positions in a PosMap block.
    Labels,
    /// The maximum of positions on the trusted side.
    Positions,
    /// Levels of a subtree of the layout; 0 for the plain one.
    Subtree,
    /// Lines of the user's memory.
    Lines,
    /// Instructions of the reorder buffer.
    Rob,
    /// Bytes of the last-level cache.
    Llc,
    /// Bytes of a block.
    Block,
    /// Blocks of a bucket.
    Bucket,
    /// A, accesses for each eviction of RAW and Ring ORAM.
    EvictionRate,
    /// 1 for headers of RAW ORAM in memory.
    RawHeaders,
    /// S, reads of a bucket of Ring ORAM.
    RingReads,
    /// Slots of Ring ORAM.
    RingSlots,
    /// 1 for its metadata in memory.
    RingMetadata,
    /// 1 for lines that are written back instead of dummies.
    Dwb,
    /// 1 for the line that was written last, instead of the next victim.
    DwbLast,
    /// 1 for delayed remapping.
    LlcD,
    /// 1 for paths that are read while the previous path is written.
    Overlap,
    /// Levels of the small tree, if there is one.
    RhoLevels,
    /// Blocks of its buckets.
    RhoZ,
    /// The levels of the small tree on the trusted side.
    RhoTop,
    /// Paths of it for one of the main tree; 0 for as many as are needed.
    RhoPaths,
    /// Sets of its tags.
    RhoSets,
    /// Tags of a set.
    RhoWays,
    /// 1 for blocks that come when the cache evicts them.
    RhoOnEviction,
    /// Leaves in Fork Path's queue.
    ForkQueue,
    /// Paths for which a leaf waits there.
    ForkAge,
    /// 1 for leaves that enter and leave the queue one by one, dummies included.
    ForkOneByOne,
    /// The first level that Fork Path caches.
    ForkFirst,
    /// The last level that the cache of Fork Path has.
    ForkLast,
}

/// The names of the numbers, with their minimum and maximum.
const KEYS: [(&str, Key, u64, u64); 34] = [
    ("top", Key::Top, 0, 31),
    ("top-ways", Key::TopWays, 1, 64),
    ("stash", Key::Stash, 1, 1 << 20),
    ("plb", Key::Plb, 1, 1 << 20),
    ("plb-ways", Key::PlbWays, 1, 1 << 20),
    ("labels", Key::Labels, 2, 1 << 20),
    ("positions", Key::Positions, 1, u32::MAX as u64),
    ("subtree", Key::Subtree, 0, 32),
    ("lines", Key::Lines, 1, u32::MAX as u64),
    ("rob", Key::Rob, 1, 1 << 16),
    ("llc", Key::Llc, 64, 1 << 30),
    ("block", Key::Block, 64, 4096),
    ("bucket", Key::Bucket, 1, 64),
    ("eviction-rate", Key::EvictionRate, 1, 127),
    ("raw-headers", Key::RawHeaders, 0, 1),
    ("ring-reads", Key::RingReads, 2, 255),
    ("ring-slots", Key::RingSlots, 1, 255),
    ("ring-metadata", Key::RingMetadata, 0, 1),
    ("dwb", Key::Dwb, 0, 1),
    ("dwb-last", Key::DwbLast, 0, 1),
    ("llc-d", Key::LlcD, 0, 1),
    ("overlap", Key::Overlap, 0, 1),
    ("rho-levels", Key::RhoLevels, 2, 32),
    ("rho-z", Key::RhoZ, 1, 64),
    ("rho-top", Key::RhoTop, 0, 31),
    ("rho-paths", Key::RhoPaths, 0, 1000),
    ("rho-sets", Key::RhoSets, 1, 1 << 24),
    ("rho-ways", Key::RhoWays, 1, 64),
    ("rho-on-eviction", Key::RhoOnEviction, 0, 1),
    ("fork-queue", Key::ForkQueue, 1, 1024),
    ("fork-age", Key::ForkAge, 1, 1_000_000),
    ("fork-one-by-one", Key::ForkOneByOne, 0, 1),
    ("fork-first", Key::ForkFirst, 0, 31),
    ("fork-last", Key::ForkLast, 0, 31),
];

/// The names of the uses of hits.
const HITS: [(&str, TrustedHits); 4] = [
    ("read-the-path", TrustedHits::ReadThePath),
    ("stash-answers", TrustedHits::StashAnswers),
    ("save-the-path", TrustedHits::SaveThePath),
    ("answer-at-once", TrustedHits::AnswerAtOnce),
];

fn names<T>(table: &[(&str, T)]) -> String {
    table.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, String> {
        let (key, value) = given
            .split_once('=')
            .ok_or_else(|| format!("{given} is not a setting: write KEY=VALUE, such as top=12"))?;
        match key {
            "z" => sizes(value).map(Setting::Sizes),
            "hits" => match HITS.iter().find(|(name, _)| *name == value) {
                Some((_, hits)) => Ok(Setting::Hits(*hits)),
                None => Err(format!("hits={value} is unknown: choose {}", names(&HITS))),
            },
            _ => {
                let Some((_, known, min, max)) = KEYS.iter().find(|(name, ..)| *name == key) else {
                    let names = KEYS.map(|(name, ..)| name).join(", ");
                    return Err(format!("{key}={value} is not a setting: choose z, hits, {names}"));
                };
                let number = value.parse().map_err(|_| format!("{key}={value} is not a whole number"))?;
                if !(*min..=*max).contains(&number) {
                    return Err(format!("{key}={value} is out of range: choose {min} to {max}"));
                }
                if *known == Key::Block && !number.is_power_of_two() {
                    return Err(format!(
                        "{key}={value} is not a power of two: choose 64, 128, 256 and so on"
                    ));
                }
                Ok(Setting::Number(*known, number))
            }
        }
    }
}

/// Reads such as 10-15:1,16-18:2,19:3.
fn sizes(value: &str) -> Result<Vec<(u32, u32, u32)>, String> {
    let wrong =
        || format!("z={value} is not a list of levels and sizes: write for example 10-15:1,16-18:2,19:3");
    let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
    let range = |text: &str| {
        let (levels, size) = text.split_once(':').ok_or_else(wrong)?;
        let (first, last) = levels.split_once('-').unwrap_or((levels, levels));
        Ok((number(first)?, number(last)?, number(size)?))
    };
    value.split(',').filter(|text| !text.is_empty()).map(range).collect()
}

impl Setting {
    /// The lines of the user's memory, if it sets them.
    pub(super) fn lines(&self) -> Option<u64> {
        match self {
            Setting::Number(Key::Lines, lines) => Some(*lines),
            _ => None,
        }
    }

    /// Returns true if blocks of the trusted side are found without a path.
    pub(super) fn saves_paths(&self) -> bool {
        matches!(self, Setting::Hits(hits) if *hits != TrustedHits::ReadThePath)
    }

    /// Returns the setting's name and the only kind of scheme that it changes, if the configuration is of another kind.
    pub(super) fn unused_by(&self, configuration: &Configuration) -> Option<(&'static str, &'static str)> {
        let Setting::Number(key, _) = self else { return None };
        let scheme = configuration.oram.scheme;
        let is_ring = matches!(scheme, TreeScheme::Ring { .. });
        let (is_used, kind) = match key {
            Key::EvictionRate => (scheme != TreeScheme::Path, "RAW or Ring ORAM"),
            Key::RawHeaders => (matches!(scheme, TreeScheme::Raw { .. }), "RAW ORAM"),
            Key::RingReads | Key::RingSlots | Key::RingMetadata => (is_ring, "Ring ORAM"),
            Key::DwbLast => {
                (configuration.early_write_backs && !configuration.delayed_remapping, "IR-DWB without LLC-D")
            }
            Key::TopWays => (configuration.oram.hits == TrustedHits::AnswerAtOnce, "IR-Stash"),
            Key::RhoLevels
            | Key::RhoZ
            | Key::RhoTop
            | Key::RhoPaths
            | Key::RhoSets
            | Key::RhoWays
            | Key::RhoOnEviction => (configuration.small_tree.is_some(), "rho"),
            Key::ForkQueue | Key::ForkAge | Key::ForkOneByOne | Key::ForkFirst | Key::ForkLast => {
                (configuration.variant.fork_path().is_some(), "Fork Path")
            }
            _ => (true, ""),
        };
        let (name, ..) = KEYS.iter().find(|(_, known, ..)| known == key)?;
        (!is_used).then_some((*name, kind))
    }

    /// Applies all settings in their order. The block size comes first, because the other settings change the tree
    /// that it makes. The last of several block sizes counts.
    pub(super) fn apply_all(all: &[Self], mut configuration: Configuration) -> Configuration {
        let block = all.iter().rev().find_map(|setting| match setting {
            Setting::Number(Key::Block, bytes) => Some(bytes / 64),
            _ => None,
        });
        if let Some(lines) = block {
            configuration = configuration.with_block_lines(lines);
        }
        for setting in all {
            setting.apply(&mut configuration);
            // Subtrees of the default size must fit a super-row.
            let resizes = [Key::Bucket, Key::RawHeaders, Key::RingSlots, Key::RingMetadata];
            if matches!(setting, Setting::Number(key, _) if resizes.contains(key)) {
                configuration = configuration.with_fitting_subtrees();
            }
        }
        configuration
    }

    /// Changes a configuration.
    fn apply(&self, configuration: &mut Configuration) {
        let oram = &mut configuration.oram;
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        match self {
            Setting::Sizes(sizes) => oram.sizes.clone_from(sizes),
            Setting::Hits(hits) => oram.hits = *hits,
            Setting::Number(key, number) => match key {
                Key::Top => oram.top_levels = small(*number),
                Key::TopWays => oram.top_ways = small(*number),
                Key::Stash => oram.stash = small(*number),
                Key::Plb => oram.look_aside = small(*number),
                Key::PlbWays => oram.look_aside_ways = small(*number),
                Key::Labels => oram.labels = small(*number),
                Key::Positions => oram.trusted_positions = *number,
                Key::Lines => oram.user_blocks = number.div_ceil(configuration.block_lines),
                Key::Subtree => configuration.subtree_levels = (*number > 0).then_some(*number as usize),
                Key::Block => {}
                Key::Rob => configuration.processor.reorder_buffer = (*number).max(1) as usize,
                Key::Llc => configuration.cache_bytes = *number,
                Key::Dwb => configuration.early_write_backs = *number > 0,
                Key::DwbLast => {
                    configuration.early_line =
                        if *number > 0 { EarlyLine::LastWritten } else { EarlyLine::NextVictim };
                }
                Key::Overlap => configuration.overlapped_writes = *number > 0,
                Key::LlcD => configuration.delayed_remapping = *number > 0,
                Key::Bucket => oram.blocks_per_bucket = small(*number),
                Key::EvictionRate | Key::RawHeaders | Key::RingReads | Key::RingSlots | Key::RingMetadata => {
                    set_scheme_number(*key, small(*number), &mut oram.scheme);
                }
                Key::ForkQueue | Key::ForkAge | Key::ForkOneByOne | Key::ForkFirst | Key::ForkLast => {
                    let fork_path = configuration.variant.fork_path_mut().into_iter();
                    fork_path.for_each(|fork_path| set_fork_number(*key, small(*number), fork_path));
                }
                Key::RhoOnEviction => {
                    let admission = if *number > 0 { Admission::OnEviction } else { Admission::OnAccess };
                    configuration.small_tree.iter_mut().for_each(|tree| tree.admission = admission);
                }
                _ => {
                    let of_small =
                        configuration.small_tree.as_mut().and_then(|tree| small_tree_field(*key, tree));
                    of_small.into_iter().for_each(|field| *field = small(*number));
                }
            },
        }
    }
}

/// Changes a RAW or a Ring ORAM.
fn set_scheme_number(key: Key, number: u32, scheme: &mut TreeScheme) {
    match (key, scheme) {
        (
            Key::EvictionRate,
            TreeScheme::Raw { eviction_rate, .. } | TreeScheme::Ring { eviction_rate, .. },
        ) => {
            *eviction_rate = number;
        }
        (Key::RawHeaders, TreeScheme::Raw { headers, .. }) => {
            *headers = header_place(number);
        }
        (Key::RingReads, TreeScheme::Ring { reads, .. }) => *reads = number,
        (Key::RingSlots, TreeScheme::Ring { slots, .. }) => *slots = number,
        (Key::RingMetadata, TreeScheme::Ring { metadata, .. }) => *metadata = header_place(number),
        _ => {}
    }
}

/// Changes Fork Path. A new end of the cached levels keeps the other end. If there are no cached levels yet, both ends
/// become this level.
fn set_fork_number(key: Key, number: u32, fork_path: &mut ForkPathConfiguration) {
    match (key, fork_path.cached_levels) {
        (Key::ForkQueue, _) => fork_path.queue = number,
        (Key::ForkAge, _) => fork_path.max_age = number,
        (Key::ForkOneByOne, _) => {
            fork_path.choice = if number > 0 { Choice::OneByOne } else { Choice::RequestsFirst };
        }
        (Key::ForkFirst, levels) => {
            fork_path.cached_levels = Some((number, levels.map_or(number, |(_, last)| last)));
        }
        (_, levels) => fork_path.cached_levels = Some((levels.map_or(number, |(first, _)| first), number)),
    }
}

fn header_place(number: u32) -> Headers {
    if number > 0 { Headers::InMemory } else { Headers::OnChip }
}

/// The field of a small tree that a key changes.
fn small_tree_field(key: Key, tree: &mut SmallTreeConfiguration) -> Option<&mut u32> {
    match key {
        Key::RhoLevels => Some(&mut tree.levels),
        Key::RhoZ => Some(&mut tree.blocks_per_bucket),
        Key::RhoTop => Some(&mut tree.top_levels),
        Key::RhoPaths => Some(&mut tree.paths),
        Key::RhoSets => Some(&mut tree.sets),
        Key::RhoWays => Some(&mut tree.ways),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_simulator::configuration::Scheme;
    use ameles_simulator::path_variant::PathVariant;

    #[test]
    fn settings_are_read_or_refused_with_what_can_be_written() {
        assert_eq!("z=10-15:1,16:2".parse(), Ok(Setting::Sizes(vec![(10, 15, 1), (16, 16, 2)])));
        assert_eq!("hits=read-the-path".parse(), Ok(Setting::Hits(TrustedHits::ReadThePath)));
        assert_eq!("top=12".parse(), Ok(Setting::Number(Key::Top, 12)));
        let refused = |given: &str| given.parse::<Setting>().unwrap_err();
        for (given, why) in [
            ("top", "write KEY=VALUE"),
            ("roof=1", "choose z, hits, top"),
            ("top=high", "not a whole number"),
            ("rob=18446744073709551615", "choose 1 to 65536"),
            ("labels=1", "choose 2 to"),
            ("block=100", "choose 64, 128"),
            ("z=10-15", "for example 10-15:1"),
            ("z=10-x:1", "for example 10-15:1"),
            ("hits=none", "choose read-the-path"),
        ] {
            assert!(refused(given).contains(why), "{given}: {}", refused(given));
        }
    }

    #[test]
    fn every_number_changes_the_configuration() {
        for (name, key, ..) in KEYS {
            let scheme = match name {
                "raw-headers" => Scheme::Raw,
                name if name.starts_with("fork-") => Scheme::Baseline,
                "eviction-rate" | "ring-reads" | "ring-slots" | "ring-metadata" => Scheme::Ring,
                _ => Scheme::Rho,
            };
            let mut before = Configuration::baseline(25).with_scheme(scheme);
            before.variant = PathVariant::ForkPath(ForkPathConfiguration::MERGING);
            let number = match key {
                Key::Block => 256,
                Key::RawHeaders | Key::RingMetadata => 0,
                _ => 3,
            };
            let after = Setting::apply_all(&[Setting::Number(key, number)], before.clone());
            assert_ne!(after, before, "{name}");
        }
    }

    #[test]
    fn the_size_of_a_block_comes_before_settings_of_its_tree_and_the_last_size_counts() {
        let applied = |settings: &[(Key, u64)]| {
            let all: Vec<_> = settings.iter().map(|(key, number)| Setting::Number(*key, *number)).collect();
            Setting::apply_all(&all, Configuration::baseline(25))
        };
        let (top, small, large) = ((Key::Top, 12), (Key::Block, 128), (Key::Block, 1024));
        assert_eq!(applied(&[top, small]), applied(&[large, small, top]));
        assert_eq!(applied(&[top, small]).oram.top_levels, 12);
        assert_eq!(applied(&[small]).oram.top_levels, 9);
        assert_eq!(applied(&[(Key::Bucket, 16), (Key::Subtree, 7)]).subtree_levels, Some(7));
        assert_eq!(applied(&[(Key::Subtree, 7), (Key::Bucket, 16)]).subtree_levels, Some(5));
    }
}
