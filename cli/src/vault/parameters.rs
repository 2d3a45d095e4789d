//! Planning the parameters of a vault from settings, and the summary of a vault for its owner.

use crate::config::interval::Interval;
use crate::config::names::{
    A, BLOCK_SIZE, CAPACITY, CIPHER, EVICTION_SLICE, JOURNAL, MAX_BATCH, Name, PAD_BATCHES, S, SCHEME,
    TREE_TOP, TREE_TOP_ON, Z,
};
use crate::config::size::Size;
use crate::config::{
    Cipher, Journal, Scheme, SchemeSettings, ServeSettings, Settings, SettingsError, TreeTopOn, VaultConfig,
};
use crate::report::banner::{
    HeartbeatSummary, JournalSummary, MemorySummary, OnDiskSummary, PaceSummary, VaultSummary,
};
use crate::report::full_disk_reads::ReserveSummary;
use crate::report::million_accesses::MillionAccesses;
use crate::runtime::file_system::is_on_network;
use crate::vault::objective::objective;
use crate::vault::process_memory::{max_process_memory, process_memory};
use crate::vault::trusted_memory::TrustedMemory;
use ameles_core::schemes::path::{PathParameters, PathParametersError};
use ameles_core::schemes::ring::RingParameters;
use ameles_core::schemes::trivial::TrivialParameters;
use ameles_seal::cipher;
use ameles_store::{Prices, Usage, folder_of};
use ameles_vault::{
    JournalPlace, Pace, SchemeParameters, TreeTopPlace, VaultParameters, usage_of_heartbeats,
    usage_of_lease_checks, with_default_slices,
};
use clap::ValueEnum;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);
/// The default size of a batch: sixteen clients share every round trip.
const DEFAULT_BATCH: u32 = 16;
/// The default number of blocks in a bucket of Path ORAM.
const DEFAULT_PATH_Z: u32 = 4;
/// The default tree top: this part of the blocks, as a divisor.
const TRUSTED_SHARE: u64 = 16;

/// Returns the parameters of the settings.
///
/// # Errors
/// The error of the scheme, with its settings.
pub fn vault_parameters(settings: &Settings) -> Result<VaultParameters, SettingsError> {
    let (capacity, scheme) = (settings.blocks(), &settings.scheme);
    // The settings limit it to 16 MiB.
    let block_bytes = settings.block_size.0 as u32;
    let batch = scheme.max_batch.unwrap_or(DEFAULT_BATCH);
    let top = scheme
        .tree_top
        .map_or(capacity / TRUSTED_SHARE, |top| top.resolve(settings.capacity).0 / settings.block_size.0);
    let incompatible = |names: &[Name], why: String| {
        // The user can correct what was given. If nothing was, each of them may help.
        let given: Vec<&Name> = names.iter().filter(|name| is_given(**name, scheme)).collect();
        let named = if given.is_empty() { names.iter().collect() } else { given };
        let names = named.into_iter().map(|name| settings.origins.name(*name)).collect();
        SettingsError::Incompatible { names, why }
    };
    let parameters = match scheme.scheme {
        Scheme::Ring => {
            let objective = objective(settings)?;
            let slots = |slice: Size| u32::try_from(slice.0 / settings.block_size.0).unwrap_or(u32::MAX);
            let slices = (batch, scheme.eviction_slice.map_or(u32::MAX, slots));
            let mut ring = RingParameters::for_objective(capacity, block_bytes, top, slices, objective);
            if scheme.a.is_some() || scheme.z.is_some() || scheme.s.is_some() {
                ring = ring.adjusted(scheme.z, scheme.s, scheme.a);
            }
            if scheme.eviction_slice.is_none() {
                ring = with_default_slices(ring);
            }
            ring.validate()
                .map_err(|error| incompatible(&[Z, S, A, TREE_TOP, MAX_BATCH], error.to_string()))?;
            SchemeParameters::Ring(ring)
        }
        Scheme::Path => {
            let check = |error: PathParametersError| {
                incompatible(&[Z, TREE_TOP, MAX_BATCH], with_flag_names(&error.to_string()))
            };
            let z = scheme.z.unwrap_or(DEFAULT_PATH_Z);
            let path = PathParameters::for_buckets_of(z, capacity, block_bytes, top, batch);
            SchemeParameters::Path(path.map_err(check)?)
        }
        Scheme::Trivial => {
            let trivial = TrivialParameters { capacity, block_bytes, chunk_blocks: batch, max_batch: batch };
            trivial.validate().map_err(|error| incompatible(&[CAPACITY, MAX_BATCH], error.to_string()))?;
            SchemeParameters::Trivial(trivial)
        }
    };
    let around = VaultParameters::with_defaults(parameters).with_journal(journal_place(settings));
    Ok(VaultParameters {
        cipher: seal_cipher(scheme.cipher).number(),
        pad_batches: scheme.pad_batches,
        ..if scheme.tree_top_on == TreeTopOn::Disk { around.with_top_on_disk() } else { around }
    })
}

/// Returns whether a parameter of the scheme is given. The capacity always has a value.
fn is_given(name: Name, scheme: &SchemeSettings) -> bool {
    let SchemeSettings { z, s, a, max_batch, tree_top, .. } = scheme;
    match name {
        Z => z.is_some(),
        S => s.is_some(),
        A => a.is_some(),
        MAX_BATCH => max_batch.is_some(),
        TREE_TOP => tree_top.is_some(),
        _ => true,
    }
}

/// Returns the place of the journal of a new vault. What a client puts into a bucket must survive the loss of this
/// machine, so the default is the store. If the store is a folder of this machine, it would be lost too, so the default
/// is the trusted disk.
fn journal_place(settings: &Settings) -> JournalPlace {
    let default = || match &settings.store.etcd {
        Some(_) => JournalPlace::Etcd,
        None => default_journal(settings.store.url.as_deref()),
    };
    settings.scheme.journal.map_or_else(default, JournalPlace::from)
}

/// Returns the default place of the journal for a store at this URL, or in the default folder.
pub fn default_journal(store: Option<&str>) -> JournalPlace {
    let is_on_this_machine =
        store.is_none_or(|url| folder_of(url).is_some_and(|folder| !is_on_network(&folder)));
    if is_on_this_machine { JournalPlace::Disk } else { JournalPlace::Store }
}

fn seal_cipher(requested: Cipher) -> cipher::Cipher {
    match requested {
        Cipher::Aes256Gcm => cipher::Cipher::Aes256Gcm,
        Cipher::Aegis256 => cipher::Cipher::Aegis256,
        Cipher::Aegis128L => cipher::Cipher::Aegis128L,
        Cipher::ChaCha20Poly1305 => cipher::Cipher::ChaCha20Poly1305,
    }
}

/// Replaces the scheme's names of parameters by those of the command line.
fn with_flag_names(text: &str) -> String {
    text.replace("blocks_per_bucket", "Z").replace("max_batch", "the largest batch")
}

/// Refuses settings that contradict an existing vault. Settings that are not given are accepted.
///
/// # Errors
/// [`SettingsError::ShapeMismatch`], with each value that differs.
pub fn refuse_contradictions(
    settings: &Settings,
    requested: &VaultConfig,
    existing: &VaultParameters,
) -> Result<(), SettingsError> {
    let differing = contradictions(settings, requested, (existing, "the vault"))?;
    if differing.is_empty() {
        return Ok(());
    }
    // A successor has blocks of the same size, and at least as many.
    let (block, blocks) = (u64::from(existing.scheme.block_bytes()), existing.scheme.capacity());
    let can_migrate = requested.block_size.is_none_or(|requested| requested.0 == block)
        && requested.capacity.is_none_or(|requested| requested.0 / block >= blocks);
    Err(SettingsError::ShapeMismatch { differing: differing.join(", "), can_migrate })
}

/// Returns the values in `requested` that contradict an existing vault, each with the vault's own value. `subject`
/// names the vault in the messages.
///
/// # Errors
/// The errors of planning a vault.
pub fn contradictions(
    settings: &Settings,
    requested: &VaultConfig,
    (existing, subject): (&VaultParameters, &str),
) -> Result<Vec<String>, SettingsError> {
    fn differ<T: PartialEq + ToString>(
        requested: Option<T>,
        existing: Option<T>,
    ) -> Option<(String, String)> {
        let requested = requested?;
        let made_text = existing.as_ref().map_or_else(|| "none".into(), T::to_string);
        (existing.as_ref() != Some(&requested)).then(|| (requested.to_string(), made_text))
    }
    let scheme = &existing.scheme;
    let block = Size(scheme.block_bytes().into());
    let blocks = |size: Size| Size(size.0 - size.0 % block.0);
    let (kind, z, s, a) = match scheme {
        SchemeParameters::Ring(ring) => (
            Scheme::Ring,
            Some(ring.inner.blocks),
            Some(ring.reads_before_reshuffle()),
            Some(ring.eviction_rate),
        ),
        SchemeParameters::Path(path) => (Scheme::Path, Some(path.blocks_per_bucket), None, None),
        SchemeParameters::Trivial(_) => (Scheme::Trivial, None, None, None),
    };
    let journal = Journal::from(existing.journal);
    let tree_top_on = match existing.tree_top {
        TreeTopPlace::Memory => TreeTopOn::Memory,
        TreeTopPlace::Disk => TreeTopOn::Disk,
    };
    let cipher = cipher::Cipher::from_number(existing.cipher);
    let slice = largest_slice(scheme);
    let differing = [
        (CAPACITY, differ(requested.capacity.map(blocks), Some(Size(scheme.capacity() * block.0)))),
        (BLOCK_SIZE, differ(requested.block_size, Some(block))),
        (SCHEME, differ(requested.scheme.map(choice_name), Some(choice_name(kind)))),
        (Z, differ(requested.z, z)),
        (S, differ(requested.s, s)),
        (A, differ(requested.a, a)),
        (MAX_BATCH, differ(requested.max_batch, Some(scheme.max_batch()))),
        // A plan may have smaller slices than requested.
        (
            EVICTION_SLICE,
            differ(requested.eviction_slice.filter(|slice_cap| *slice_cap < slice), Some(slice)),
        ),
        (PAD_BATCHES, differ(requested.pad_batches, Some(existing.pad_batches))),
        (JOURNAL, differ(requested.journal.map(choice_name), Some(choice_name(journal)))),
        (TREE_TOP_ON, differ(requested.tree_top_on.map(choice_name), Some(choice_name(tree_top_on)))),
        (CIPHER, {
            let differs = requested.cipher.is_some_and(|requested| Some(seal_cipher(requested)) != cipher);
            requested.cipher.filter(|_| differs).map(|requested| (choice_name(requested), "another".into()))
        }),
    ];
    let mut differing: Vec<String> = differing
        .into_iter()
        .filter_map(|(name, texts)| Some((settings.origins.name(name), texts?)))
        .map(|(name, (requested, existing))| format!("{name} is {requested}, but {subject} has {existing}"))
        .collect();
    if differing.is_empty() && requested.tree_top.is_some() && !is_plannable(settings, scheme)? {
        differing.push(format!("{} gives another tree top", settings.origins.name(TREE_TOP)));
    }
    Ok(differing)
}

/// Returns true if a vault with the tree top of these settings could have this scheme. A vault stores its planned
/// parameters, not the requested bytes.
fn is_plannable(settings: &Settings, existing: &SchemeParameters) -> Result<bool, SettingsError> {
    let mut like_existing = settings.clone();
    like_existing.block_size = Size(existing.block_bytes().into());
    like_existing.capacity = Size(existing.capacity() * like_existing.block_size.0);
    (like_existing.scheme.scheme, like_existing.scheme.max_batch) =
        (scheme_of(existing), Some(existing.max_batch()));
    let planned = vault_parameters(&like_existing)?.scheme;
    Ok(match (&planned, existing) {
        // Versions of ameles may plan different stashes.
        (SchemeParameters::Ring(planned), SchemeParameters::Ring(existing)) => {
            let requested = settings
                .scheme
                .tree_top
                .map(|top| top.resolve(like_existing.capacity).0 / like_existing.block_size.0);
            // If so little does not suffice, versions differ in the plan that they use instead.
            let is_more = requested
                .is_some_and(|requested| requested < planned.stash_bound.min(existing.stash_bound).into());
            let (less, more) = (
                planned.stash_bound.min(existing.stash_bound),
                planned.stash_bound.max(existing.stash_bound),
            );
            more <= 2 * less || requested == Some(existing.stash_bound.into()) || is_more
        }
        // The vault's Z still counts if it is not given again.
        (SchemeParameters::Path(planned), SchemeParameters::Path(existing)) => {
            let mut with = |z| {
                like_existing.scheme.z = Some(z);
                vault_parameters(&like_existing)
                    .is_ok_and(|planned| tree_top(&planned.scheme) == Some(existing.top.0))
            };
            planned.top == existing.top || with(existing.blocks_per_bucket)
        }
        (planned, existing) => tree_top(planned) == tree_top(existing),
    })
}

/// Returns the bytes of the largest slice of an eviction; 0 in a scheme without evictions.
fn largest_slice(scheme: &SchemeParameters) -> Size {
    let SchemeParameters::Ring(ring) = scheme else { return Size(0) };
    Size(ring.largest_slice() * u64::from(ring.block_bytes))
}

/// Returns the scheme of these parameters.
pub fn scheme_of(parameters: &SchemeParameters) -> Scheme {
    match parameters {
        SchemeParameters::Ring(_) => Scheme::Ring,
        SchemeParameters::Path(_) => Scheme::Path,
        SchemeParameters::Trivial(_) => Scheme::Trivial,
    }
}

fn tree_top(scheme: &SchemeParameters) -> Option<u32> {
    match scheme {
        SchemeParameters::Ring(ring) => Some(ring.top.0),
        SchemeParameters::Path(path) => Some(path.top.0),
        SchemeParameters::Trivial(_) => None,
    }
}

/// Returns the name of a choice on the command line.
fn choice_name(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Returns the summary of a vault for its owner.
pub fn summary(
    parameters: &VaultParameters,
    store: String,
    fresh: bool,
    prices: Option<&Prices>,
    pace: Option<Pace>,
    serve: &ServeSettings,
) -> VaultSummary {
    let scheme = &parameters.scheme;
    let (block, stored) = (u64::from(scheme.block_bytes()), parameters.stored_bytes());
    let usage = Usage { stored_bytes: stored, ..Usage::default() };
    let trusted = TrustedMemory::of(parameters);
    VaultSummary {
        fresh,
        scheme: scheme.name().into(),
        parameters: parameter_list(scheme),
        capacity: Size(scheme.capacity() * block),
        block_size: Size(block),
        store,
        stored: Size(stored),
        moved_per_byte: scheme.bytes_per_byte(),
        memory: MemorySummary {
            trusted_usual: Size(trusted.usual),
            trusted: Size(trusted.max),
            process: Size(process_memory(parameters)),
            process_max: Size(max_process_memory(parameters, serve)),
            reserve: ReserveSummary::of(parameters),
        },
        on_disk: (parameters.tree_top == TreeTopPlace::Disk).then(|| on_disk_summary(parameters)),
        dollars_per_month: prices.map(|prices| prices.bill(&usage).storage_per_month),
        pace: pace.map(|pace| pace_summary(parameters, pace, prices)),
        journal: parameters.journal.is_in_store().then(|| journal_summary(parameters, prices)),
        million_accesses: MillionAccesses::of(parameters, prices),
        recovery_point: parameters.recovery_point(),
        ship_after: serve.ship_after.as_secs(),
    }
}

/// Returns the space of stash and tree top on the trusted disk.
fn on_disk_summary(parameters: &VaultParameters) -> OnDiskSummary {
    let block = u64::from(parameters.scheme.block_bytes());
    // Blocks of a checkpoint stay until it is in the store, and all of them may be replaced meanwhile.
    let places = 2 * (parameters.scheme.stash_bound() + parameters.resident_blocks());
    OnDiskSummary { room: Size(places * block), resident: Size(parameters.resident_blocks() * block) }
}

/// Returns the objects of a journal in the store by the length of a batch: 1, 2, 4 and so on, up to the maximum.
fn journal_summary(parameters: &VaultParameters, prices: Option<&Prices>) -> JournalSummary {
    let max = u64::from(parameters.scheme.max_batch());
    let doubled = std::iter::successors(Some(1), |length| Some(2 * length));
    let lengths = doubled.take_while(|length| *length < max).chain([max]);
    let is_in_etcd = parameters.journal == JournalPlace::Etcd;
    let has_heartbeats = parameters.journal.has_heartbeats() && !is_in_etcd;
    JournalSummary {
        objects: lengths.map(|length| (length, Size(parameters.journal_object_bytes(length)))).collect(),
        announces: parameters.journal.announces(),
        is_in_etcd,
        heartbeats: has_heartbeats.then(|| heartbeat_summary(prices)),
    }
}

fn heartbeat_summary(prices: Option<&Prices>) -> HeartbeatSummary {
    let day = usage_of_heartbeats(DAY);
    HeartbeatSummary { requests: day.blob_writes, dollars: prices.map(|prices| prices.bill(&day).spent()) }
}

fn pace_summary(parameters: &VaultParameters, pace: Pace, prices: Option<&Prices>) -> PaceSummary {
    let (batch, turn) = (parameters.scheme.max_batch(), pace.turn().as_secs_f64());
    let looks = usage_of_lease_checks(DAY);
    let day = parameters.usage_of(DAY.as_secs_f64() / turn).added_to(&looks);
    let per_second = f64::from(batch) * f64::from(parameters.scheme.block_bytes()) / turn;
    PaceSummary {
        turn: Interval(pace.turn()).to_string(),
        batch,
        per_second: Size(per_second as u64),
        requests: day.requests(),
        bytes: Size(day.bytes_up + day.bytes_down),
        dollars: prices.map(|prices| prices.bill(&day).spent()),
    }
}

fn parameter_list(scheme: &SchemeParameters) -> Vec<(String, String)> {
    let named = |name: &str, value: u64| (name.to_owned(), value.to_string());
    match scheme {
        SchemeParameters::Ring(ring) => vec![
            named("Z", ring.inner.blocks.into()),
            named("leaf Z", ring.leaf.blocks.into()),
            named("S", ring.reads.into()),
            named("A", ring.eviction_rate.into()),
            named("L", ring.leaf_level.0.into()),
            named("tree top", ring.top.0.into()),
            named("batch", ring.max_batch.into()),
            named("slices", ring.slices().len() as u64),
            ("position map".into(), "flat".into()),
        ],
        SchemeParameters::Path(path) => vec![
            named("Z", path.blocks_per_bucket.into()),
            named("L", path.leaf_level.0.into()),
            named("tree top", path.top.0.into()),
            named("batch", path.max_batch.into()),
            ("position map".into(), "flat".into()),
        ],
        SchemeParameters::Trivial(trivial) => {
            vec![named("chunk", trivial.chunk_blocks.into()), named("batch", trivial.max_batch.into())]
        }
    }
}

#[cfg(test)]
mod tests;
