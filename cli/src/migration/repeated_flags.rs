//! The flags of `ameles migrate` while there is a successor: they must be those that it was created with.

use super::flags::SuccessorFlags;
use super::record::MigrationRecord;
use super::shape::successor_parameters;
use crate::config::{KeySettings, Settings, SettingsError, StoreOptions, StoreSettings, VaultConfig};
use crate::vault::home::Home;
use crate::vault::parameters::contradictions;
use ameles_vault::VaultParameters;
use anyhow::Result;
use std::path::absolute;

/// Refuses flags that name another store or key than those of the successor. Missing flags are accepted.
///
/// # Errors
/// [`SettingsError::Successor`], with each flag that differs; there is no current folder.
pub fn refuse_other_place(
    settings: &Settings,
    requested: (&SuccessorFlags, &KeySettings),
    record: &MigrationRecord,
) -> Result<()> {
    let (flags, key) = requested;
    let existing = record.to.apply_to(settings);
    let mut differing = Vec::new();
    if let Some(url) = &flags.to {
        let store = StoreSettings {
            url: Some(url.clone()),
            endpoint: flags.to_endpoint.clone().or_else(|| existing.store.endpoint.clone()),
            options: StoreOptions(flags.to_option.iter().cloned().collect()),
            etcd: None,
        };
        let requested = Settings { store, ..settings.clone() };
        if !record.to.is_named_by(&requested) {
            differing.push(format!("--to is {url}, but its store is {}", Home::new(&existing).store_name()));
        }
    }
    for (name, value) in &flags.to_option {
        // The value may be a secret.
        if existing.store.options.0.get(name) != Some(value) {
            differing.push(format!("--to-option {name} differs"));
        }
    }
    if flags.has_key() && !is_same_key(key, &existing.key)? {
        differing.push("its key has another source".into());
    }
    Ok(refuse(&differing)?)
}

/// Refuses flags of another shape than that of the successor.
///
/// # Errors
/// [`SettingsError::Successor`], with each flag that differs, and the errors of a shape that no successor can have.
pub fn refuse_other_shape(
    settings: &Settings,
    requested: &VaultConfig,
    (old, existing): (&VaultParameters, &VaultParameters),
) -> Result<(), SettingsError> {
    let (_, shaped) = successor_parameters(requested, settings, old)?;
    refuse(&contradictions(&shaped, requested, (existing, "the successor"))?)
}

fn refuse(differing: &[String]) -> Result<(), SettingsError> {
    if differing.is_empty() {
        return Ok(());
    }
    Err(SettingsError::Successor(format!(
        "a successor already exists, with other flags: {}; continue with its flags or without any, or cancel it with \
         `ameles migrate --cancel`",
        differing.join(", ")
    )))
}

fn is_same_key(requested: &KeySettings, existing: &KeySettings) -> Result<bool> {
    Ok(match (requested, existing) {
        (KeySettings::File(requested), KeySettings::File(existing)) => {
            absolute(requested)? == absolute(existing)?
        }
        (requested, existing) => requested == existing,
    })
}
