use super::*;
use crate::config::Config;
use ameles_core::schemes::ring::RingParameters;
use std::path::Path;

fn settings(text: &str) -> (Settings, VaultConfig) {
    let config = Config::parse(text, Path::new("ameles.toml")).unwrap();
    let requested = config.vault.clone();
    (Settings::resolve(config).unwrap(), requested)
}

fn check(existing: &str, requested: &str) -> Result<(), String> {
    let existing = vault_parameters(&settings(existing).0).unwrap();
    let (settings, requested) = settings(requested);
    refuse_contradictions(&settings, &requested, &existing).map_err(|error| error.to_string())
}

/// Checks a configuration against the Ring ORAM that it plans, changed.
fn check_of_ring(requested: &str, change: impl FnOnce(&mut RingParameters)) -> Result<(), String> {
    let (settings, requested) = settings(requested);
    let mut existing = vault_parameters(&settings).unwrap();
    let SchemeParameters::Ring(ring) = &mut existing.scheme else { panic!("another scheme") };
    change(ring);
    refuse_contradictions(&settings, &requested, &existing).map_err(|error| error.to_string())
}

#[test]
fn a_setting_that_is_not_given_contradicts_nothing() {
    let existing = "[vault]\ncapacity = \"16MiB\"\nblock_size = \"4KiB\"\na = 8\nmax_batch = 4\ntree_top = \"1MiB\"\n\
        cipher = \"aegis-256\"";
    for requested in [
        "",
        "[vault]\ncapacity = 16777219",
        "[vault]\nblock_size = \"4KiB\"",
        "[vault]\na = 8",
        "[vault]\ntree_top = \"1MiB\"",
        "[vault]\ncipher = \"aegis-256\"\nscheme = \"ring\"",
        existing,
    ] {
        assert_eq!(check(existing, requested), Ok(()), "{requested}");
    }
}

#[test]
fn a_share_is_of_the_capacity_of_the_vault() {
    let existing = "[vault]\ncapacity = \"128MiB\"\ntree_top = \"25%\"";
    assert_eq!(check(existing, "[vault]\ntree_top = \"25%\""), Ok(()));
    assert_eq!(check(existing, "[vault]\ntree_top = \"32MiB\""), Ok(()));
    let error = check(existing, "[vault]\ntree_top = \"100%\"").unwrap_err();
    assert!(error.contains("gives another tree top"), "{error}");
}

#[test]
fn a_contradiction_is_named_with_both_values() {
    let existing = "[vault]\ncapacity = \"256MiB\"";
    for (requested, expected) in [
        (
            "[vault]\ncapacity = \"512MiB\"",
            "`vault.capacity` in ameles.toml is 512 MiB, but the vault has 256 MiB",
        ),
        ("[vault]\nscheme = \"path\"", "`vault.scheme` in ameles.toml is path, but the vault has ring"),
        (
            "[vault]\npad_batches = true",
            "`vault.pad_batches` in ameles.toml is true, but the vault has false",
        ),
        (
            "[vault]\ncipher = \"aegis-256\"",
            "`vault.cipher` in ameles.toml is aegis-256, but the vault has another",
        ),
        ("[vault]\ntree_top = \"256MiB\"", "`vault.tree_top` in ameles.toml gives another tree top"),
    ] {
        let error = check(existing, requested).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_ring_vault_that_another_version_planned_is_not_contradicted_by_its_tree_top() {
    let check = |change: fn(&mut RingParameters)| {
        check_of_ring("[vault]\ncapacity = \"256MiB\"\ntree_top = \"16MiB\"", change)
    };
    check(|ring| assert_eq!(ring.stash_bound, 256)).unwrap();
    check(|ring| (ring.top.0, ring.stash_bound) = (ring.top.0 + 1, 200)).unwrap();
    check(|ring| ring.top.0 += 2).unwrap();
    check(|ring| (ring.top.0, ring.stash_bound) = (ring.top.0 + 2, 2000)).unwrap_err();
}

#[test]
fn an_objective_counts_for_a_new_vault_and_contradicts_no_existing_one() {
    let vault = |objective: &str| {
        format!("[vault]\ncapacity = \"256MiB\"\ntree_top = \"32MiB\"\nobjective = \"{objective}\"")
    };
    let ring = |objective: &str| {
        let existing = vault_parameters(&settings(&vault(objective)).0).unwrap();
        let SchemeParameters::Ring(ring) = existing.scheme else { panic!("another scheme") };
        ring
    };
    let (bytes, requests, dollars) = (ring("bytes"), ring("requests"), ring("dollars"));
    assert!(requests.traffic().requests() < bytes.traffic().requests(), "{requests:?}, {bytes:?}");
    assert!(bytes.traffic().slots() < requests.traffic().slots(), "{requests:?}, {bytes:?}");
    assert!(dollars.traffic().slots_read < 1.01 * requests.traffic().slots_read, "{dollars:?}, {requests:?}");
    for (existing, requested) in [("bytes", "requests"), ("requests", "dollars"), ("dollars", "bytes")] {
        assert_eq!(
            check(&vault(existing), &vault(requested)),
            Ok(()),
            "{requested} of a vault for {existing}"
        );
    }
}

#[test]
fn slices_are_16_mib_or_a_bucket_by_default_and_a_bound_of_the_owner_limits_buckets_too() {
    let ring = |more: &str| {
        let text = format!("[vault]\ncapacity = \"100GiB\"\n{more}");
        let SchemeParameters::Ring(ring) = vault_parameters(&settings(&text).0).unwrap().scheme else {
            panic!("another scheme")
        };
        ring
    };
    let (usual, small, whole) =
        (ring(""), ring("eviction_slice = \"4MiB\""), ring("eviction_slice = \"1TiB\""));
    assert_eq!((whole.slices().len(), whole.largest_bucket()), (1, usual.largest_bucket()));
    assert_eq!(usual.largest_slice(), u64::from(usual.largest_bucket()).max(256));
    assert!(usual.largest_slice() < whole.largest_slice(), "{usual:?}");
    assert!(small.largest_slice() <= 64 && small.slots_per_access() > usual.slots_per_access(), "{small:?}");
    let vault = |slice: &str| format!("[vault]\ncapacity = \"100GiB\"\neviction_slice = \"{slice}\"");
    let smaller = check(&vault("8MiB"), &vault("4MiB")).unwrap_err();
    assert!(
        smaller.contains("`vault.eviction_slice` in ameles.toml is 4 MiB, but the vault has"),
        "{smaller}"
    );
    assert_eq!(check(&vault("4MiB"), &vault("8MiB")), Ok(()));
}

#[test]
fn a_ring_vault_whose_tree_top_did_not_suffice_is_not_contradicted_by_it() {
    let checked = check_of_ring("[vault]\ncapacity = \"16MiB\"\ntree_top = \"128KiB\"", |ring| {
        assert!(ring.stash_bound > 2, "{ring:?}");
        // Another version chose other levels.
        (ring.top.0, ring.leaf_level.0) = (ring.top.0 + 3, ring.leaf_level.0 + 3);
    });
    checked.unwrap();
}

#[test]
fn a_path_vault_with_its_own_bucket_size_is_not_contradicted_by_its_tree_top() {
    let path = "[vault]\ncapacity = \"16MiB\"\nscheme = \"path\"\n";
    for z in ["z = 3\n", "z = 4\n", "z = 16\n"] {
        let existing = format!("{path}{z}tree_top = \"2MiB\"");
        for requested in [&existing, "[vault]\ntree_top = \"2MiB\""] {
            assert_eq!(check(&existing, requested), Ok(()), "{existing}\n{requested}");
        }
    }
}

#[test]
fn the_bound_of_a_path_vault_is_planned_for_the_bucket_size_in_use() {
    let path = "[vault]\ncapacity = \"16MiB\"\nscheme = \"path\"\ntree_top = \"2MiB\"\n";
    for z in [3, 4, 5, 8, 64] {
        let existing = vault_parameters(&settings(&format!("{path}z = {z}")).0).unwrap();
        let SchemeParameters::Path(existing) = existing.scheme else { panic!("another scheme") };
        let batches = 2 * existing.max_batch * (existing.path_buckets() as u32 * z + 1);
        assert_eq!(existing.blocks_per_bucket, z);
        assert_eq!(existing.stash_bound, existing.waiting_bound() + batches);
    }
}

#[test]
fn parameters_that_do_not_fit_together_are_named() {
    let (settings, _) = settings("[vault]\nz = 4\na = 40");
    let error = vault_parameters(&settings).unwrap_err().to_string();
    assert!(
        error.starts_with("`vault.z` in ameles.toml, `vault.a` in ameles.toml do not fit together"),
        "{error}"
    );
    assert!(error.contains("lower A to at most 3"), "{error}");
}

#[test]
fn a_write_must_be_in_the_store_unless_the_store_is_a_folder_of_this_machine() {
    let journal = |text: &str| vault_parameters(&settings(text).0).unwrap().journal;
    for bucket in ["s3://b/p", "gs://b", "az://c/p"] {
        assert_eq!(journal(&format!("[store]\nurl = \"{bucket}\"")), JournalPlace::Store);
        let given = format!("[vault]\njournal = \"disk\"\n[store]\nurl = \"{bucket}\"");
        assert_eq!(journal(&given), JournalPlace::Disk);
    }
    for folder in ["", "[store]\nurl = \"file:///srv/untrusted\""] {
        assert_eq!(journal(folder), JournalPlace::Disk);
    }
    assert_eq!(journal("[vault]\njournal = \"store\""), JournalPlace::Store);
    // It ships as seldom as a vault that was created with it.
    let (default, given) = ("[store]\nurl = \"s3://b\"", "[vault]\njournal = \"store\"");
    assert_eq!(
        vault_parameters(&settings(default).0).unwrap(),
        vault_parameters(&settings(given).0).unwrap()
    );
}

/// `/proc` is not a network file system; whichever are mounted here are.
#[test]
fn a_folder_on_a_network_file_system_is_not_of_this_machine() {
    assert_eq!(default_journal(Some("file:///proc")), JournalPlace::Disk);
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    for point in points.filter(|point| is_on_network(Path::new(point))) {
        assert_eq!(default_journal(Some(&format!("file://{point}"))), JournalPlace::Store, "{point}");
    }
}
