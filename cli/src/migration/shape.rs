//! The shape of a successor: the shape of its vault, changed by flags.

use crate::config::names::{BLOCK_SIZE, CAPACITY};
use crate::config::size::Size;
use crate::config::{
    Config, Journal, Scheme, SchemeSettings, Settings, SettingsError, TreeTopOn, VaultConfig,
};
use crate::vault::parameters::{scheme_of, vault_parameters};
use ameles_vault::{TreeTopPlace, VaultParameters};

/// Returns the parameters of the successor of a vault with parameters `old`, and the settings with them.
///
/// # Errors
/// [`SettingsError::Successor`] if it would be smaller or have blocks of another size; the errors of
/// [`vault_parameters`].
pub fn successor_parameters(
    requested: &VaultConfig,
    settings: &Settings,
    old: &VaultParameters,
) -> Result<(VaultParameters, Settings), SettingsError> {
    let block = Size(old.scheme.block_bytes().into());
    let capacity = Size(old.scheme.capacity() * block.0);
    let name = |name| Settings::resolve(Config::default()).map(|flags| flags.origins.name(name));
    if let Some(requested) = requested.block_size
        && requested != block
    {
        return Err(SettingsError::Successor(format!(
            "{} is {requested}, but the vault has {block}: a successor must have the same block size",
            name(BLOCK_SIZE)?
        )));
    }
    if let Some(requested) = requested.capacity
        && requested < capacity
    {
        return Err(SettingsError::Successor(format!(
            "{} is {requested}, but the vault has {capacity}: a successor must be at least as large",
            name(CAPACITY)?
        )));
    }
    let journal = requested.journal.unwrap_or(old.journal.into());
    if journal == Journal::Etcd {
        let why = "a successor with its journal in etcd is not implemented: convert the vault with `ameles convert --journal store` \
                   first, and its successor back afterwards";
        return Err(SettingsError::Successor(why.into()));
    }
    let vault = VaultConfig {
        capacity: Some(requested.capacity.unwrap_or(capacity)),
        block_size: Some(block),
        scheme: Some(requested.scheme.unwrap_or_else(|| scheme_of(&old.scheme))),
        max_batch: Some(requested.max_batch.unwrap_or_else(|| old.scheme.max_batch())),
        pad_batches: Some(requested.pad_batches.unwrap_or(old.pad_batches)),
        journal: Some(journal),
        tree_top_on: requested.tree_top_on.or(match old.tree_top {
            // The scheme `trivial` has no tree top.
            TreeTopPlace::Disk if requested.scheme != Some(Scheme::Trivial) => Some(TreeTopOn::Disk),
            _ => None,
        }),
        ..requested.clone()
    };
    let resolved = Settings::resolve(Config { vault, ..Config::default() })?;
    let resolved = Settings { prices: settings.prices.clone(), ..resolved };
    // The permission for a network disk does not change the shape.
    let shape = VaultConfig { allow_network_disk: None, ..requested.clone() };
    let parameters = if shape == VaultConfig::default() {
        old.clone()
    } else {
        let planned = vault_parameters(&resolved)?;
        VaultParameters {
            cipher: if requested.cipher.is_some() { planned.cipher } else { old.cipher },
            rows_bytes: planned.rows_bytes.max(old.rows_bytes),
            ..planned
        }
    };
    let Settings { capacity, block_size, scheme, .. } = resolved;
    let scheme = SchemeSettings { allows_network_disk: settings.scheme.allows_network_disk, ..scheme };
    Ok((parameters, Settings { capacity, block_size, scheme, ..settings.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_vault::JournalPlace;
    use std::path::Path;

    fn existing(text: &str) -> VaultParameters {
        let config = Config::parse(text, Path::new("ameles.toml")).unwrap();
        vault_parameters(&Settings::resolve(config).unwrap()).unwrap()
    }

    fn requested(text: &str, old: &VaultParameters) -> Result<VaultParameters, String> {
        let requested = Config::parse(text, Path::new("ameles.toml")).unwrap().vault;
        let settings = Settings::resolve(Config::default()).unwrap();
        let resolved = successor_parameters(&requested, &settings, old);
        resolved.map(|(parameters, _)| parameters).map_err(|error| error.to_string())
    }

    #[test]
    fn a_parameter_that_is_not_requested_stays() {
        let old = existing(
            "[vault]\ncapacity = \"16MiB\"\nscheme = \"path\"\nz = 6\nmax_batch = 8\ncipher = \"aegis-256\"",
        );
        assert_eq!(requested("", &old).as_ref(), Ok(&old));
        let grown = requested("[vault]\ncapacity = \"64MiB\"", &old).unwrap();
        assert_eq!(grown.scheme.capacity(), 4 * old.scheme.capacity());
        assert_eq!(grown.scheme.name(), old.scheme.name());
        assert_eq!((grown.scheme.max_batch(), grown.cipher), (8, old.cipher));
        assert!(grown.rows_bytes >= old.rows_bytes);
        let on_disk = VaultParameters { tree_top: TreeTopPlace::Disk, ..old.clone() };
        for more in ["", "[vault]\ncapacity = \"64MiB\"", "[vault]\nallow_network_disk = true"] {
            assert_eq!(requested(more, &on_disk).unwrap().tree_top, TreeTopPlace::Disk);
        }
        let moved = requested("[vault]\ntree_top_on = \"memory\"", &on_disk).unwrap();
        assert_eq!(moved.tree_top, TreeTopPlace::Memory);
        let in_store = VaultParameters { journal: JournalPlace::Store, ..old.clone() };
        let grown_in_store = requested("[vault]\ncapacity = \"64MiB\"", &in_store).unwrap();
        assert_eq!(grown_in_store.journal, JournalPlace::Store);
        assert!(grown_in_store.ship_every >= grown.ship_every);
        let other = requested("[vault]\nscheme = \"ring\"", &old).unwrap();
        assert_eq!(other.scheme.capacity(), old.scheme.capacity());
        assert_ne!(other.scheme.name(), old.scheme.name());
    }

    #[test]
    fn a_smaller_successor_or_one_of_other_blocks_is_refused() {
        let old = existing("[vault]\ncapacity = \"16MiB\"");
        let error = requested("[vault]\ncapacity = \"8MiB\"", &old).unwrap_err();
        assert!(error.contains("--capacity is 8 MiB, but the vault has 16 MiB"), "{error}");
        let error = requested("[vault]\nblock_size = \"4KiB\"", &old).unwrap_err();
        assert!(error.contains("--block-size is 4 KiB, but the vault has 64 KiB"), "{error}");
    }
}
