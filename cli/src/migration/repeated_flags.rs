//! The flags of `ameles migrate` while there is a successor: those that it was made with go on with it, and no others do.

use super::flags::SuccessorFlags;
use super::record::MigrationRecord;
use super::shape::successor_parameters;
use crate::config::{KeySettings, Settings, SettingsError, StoreOptions, StoreSettings, VaultConfig};
use crate::vault::home::Home;
use crate::vault::parameters::contradictions;
use ameles_vault::VaultParameters;
use anyhow::Result;
use std::path::absolute;

/// Refuses flags that name another store or another key than the successor has. What is not given contradicts nothing.
///
/// # Errors
/// [`SettingsError::Successor`], with each flag that differs; there is no current folder.
pub fn refuse_other_place(
    settings: &Settings,
    asked: (&SuccessorFlags, &KeySettings),
    note: &MigrationRecord,
) -> Result<()> {
    let (flags, key) = asked;
    let made = note.to.over(settings);
    let mut differing = Vec::new();
    if let Some(url) = &flags.to {
        let store = StoreSettings {
            url: Some(url.clone()),
            endpoint: flags.to_endpoint.clone().or_else(|| made.store.endpoint.clone()),
            options: StoreOptions(flags.to_option.iter().cloned().collect()),
        };
        let asked = Settings { store, ..settings.clone() };
        if !note.to.is_named_by(&asked) {
            differing.push(format!("--to is {url} and its store is {}", Home::new(&made).store_name()));
        }
    }
    for (name, value) in &flags.to_option {
        // It may be a secret.
        if made.store.options.0.get(name) != Some(value) {
            differing.push(format!("--to-option {name} is another than its own"));
        }
    }
    if flags.has_key() && !is_same_key(key, &made.key)? {
        differing.push("its key comes from another place".into());
    }
    Ok(refuse(&differing)?)
}

/// Refuses flags that say another shape than the successor was made with.
///
/// # Errors
/// [`SettingsError::Successor`], with each flag that differs, and those of a shape that no successor can have.
pub fn refuse_other_shape(
    settings: &Settings,
    asked: &VaultConfig,
    (old, made): (&VaultParameters, &VaultParameters),
) -> Result<(), SettingsError> {
    let (_, shaped) = successor_parameters(asked, settings, old)?;
    refuse(&contradictions(&shaped, asked, (made, "the successor"))?)
}

fn refuse(differing: &[String]) -> Result<(), SettingsError> {
    if differing.is_empty() {
        return Ok(());
    }
    Err(SettingsError::Successor(format!(
        "there is a successor already, and it was made with other flags: {}; `ameles migrate` with its own flags, or without \
         any, goes on with it, and `ameles migrate --cancel` gives it up",
        differing.join(", ")
    )))
}

fn is_same_key(asked: &KeySettings, made: &KeySettings) -> Result<bool> {
    Ok(match (asked, made) {
        (KeySettings::File(asked), KeySettings::File(made)) => absolute(asked)? == absolute(made)?,
        (asked, made) => asked == made,
    })
}
