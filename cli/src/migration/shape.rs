//! The shape of a successor: that of its vault, but for what the flags say.

use crate::config::names::{BLOCK_SIZE, CAPACITY};
use crate::config::size::Size;
use crate::config::{Config, Scheme, SchemeSettings, Settings, SettingsError, TreeTopOn, VaultConfig};
use crate::vault::parameters::{scheme_of, vault_parameters};
use ameles_vault::{TreeTopPlace, VaultParameters};

/// The parameters of a successor of a vault with the parameters `old`, and settings that say the same.
///
/// # Errors
/// [`SettingsError::Successor`] if it would be smaller or have blocks of another size; those of [`vault_parameters`].
pub fn successor_parameters(
    asked: &VaultConfig,
    settings: &Settings,
    old: &VaultParameters,
) -> Result<(VaultParameters, Settings), SettingsError> {
    let block = Size(old.scheme.block_bytes().into());
    let capacity = Size(old.scheme.capacity() * block.0);
    let name = |name| Settings::resolve(Config::default()).map(|flags| flags.origins.name(name));
    if let Some(asked) = asked.block_size
        && asked != block
    {
        return Err(SettingsError::Successor(format!(
            "{} is {asked} and the vault has {block}: a successor has blocks of the same size",
            name(BLOCK_SIZE)?
        )));
    }
    if let Some(asked) = asked.capacity
        && asked < capacity
    {
        return Err(SettingsError::Successor(format!(
            "{} is {asked} and the vault has {capacity}: a successor has room for as much at least",
            name(CAPACITY)?
        )));
    }
    let vault = VaultConfig {
        capacity: Some(asked.capacity.unwrap_or(capacity)),
        block_size: Some(block),
        scheme: Some(asked.scheme.unwrap_or_else(|| scheme_of(&old.scheme))),
        max_batch: Some(asked.max_batch.unwrap_or_else(|| old.scheme.max_batch())),
        pad_batches: Some(asked.pad_batches.unwrap_or(old.pad_batches)),
        tree_top_on: asked.tree_top_on.or(match old.tree_top {
            // A scheme that has no tree top is asked for as such.
            TreeTopPlace::Disk if asked.scheme != Some(Scheme::Trivial) => Some(TreeTopOn::Disk),
            _ => None,
        }),
        ..asked.clone()
    };
    let shaped = Settings::resolve(Config { vault, ..Config::default() })?;
    let shaped = Settings { prices: settings.prices.clone(), ..shaped };
    // Who may watch the disk says nothing of the shape.
    let shape = VaultConfig { allow_network_disk: None, ..asked.clone() };
    let parameters = if shape == VaultConfig::default() {
        old.clone()
    } else {
        let planned = vault_parameters(&shaped)?;
        VaultParameters {
            cipher: if asked.cipher.is_some() { planned.cipher } else { old.cipher },
            rows_bytes: planned.rows_bytes.max(old.rows_bytes),
            journal: if asked.journal.is_some() { planned.journal } else { old.journal },
            ..planned
        }
    };
    let Settings { capacity, block_size, scheme, .. } = shaped;
    let scheme = SchemeSettings { allows_network_disk: settings.scheme.allows_network_disk, ..scheme };
    Ok((parameters, Settings { capacity, block_size, scheme, ..settings.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn made(text: &str) -> VaultParameters {
        let config = Config::parse(text, Path::new("ameles.toml")).unwrap();
        vault_parameters(&Settings::resolve(config).unwrap()).unwrap()
    }

    fn asked(text: &str, old: &VaultParameters) -> Result<VaultParameters, String> {
        let asked = Config::parse(text, Path::new("ameles.toml")).unwrap().vault;
        let settings = Settings::resolve(Config::default()).unwrap();
        let shaped = successor_parameters(&asked, &settings, old);
        shaped.map(|(parameters, _)| parameters).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_asked_for_is_as_before() {
        let old = made(
            "[vault]\ncapacity = \"16MiB\"\nscheme = \"path\"\nz = 6\nmax_batch = 8\ncipher = \"aegis-256\"",
        );
        assert_eq!(asked("", &old).as_ref(), Ok(&old));
        let grown = asked("[vault]\ncapacity = \"64MiB\"", &old).unwrap();
        assert_eq!(grown.scheme.capacity(), 4 * old.scheme.capacity());
        assert_eq!(grown.scheme.name(), old.scheme.name());
        assert_eq!((grown.scheme.max_batch(), grown.cipher), (8, old.cipher));
        assert!(grown.rows_bytes >= old.rows_bytes);
        let on_disk = VaultParameters { tree_top: TreeTopPlace::Disk, ..old.clone() };
        for more in ["", "[vault]\ncapacity = \"64MiB\"", "[vault]\nallow_network_disk = true"] {
            assert_eq!(asked(more, &on_disk).unwrap().tree_top, TreeTopPlace::Disk);
        }
        let moved = asked("[vault]\ntree_top_on = \"memory\"", &on_disk).unwrap();
        assert_eq!(moved.tree_top, TreeTopPlace::Memory);
        let other = asked("[vault]\nscheme = \"ring\"", &old).unwrap();
        assert_eq!(other.scheme.capacity(), old.scheme.capacity());
        assert_ne!(other.scheme.name(), old.scheme.name());
    }

    #[test]
    fn a_smaller_successor_or_one_of_other_blocks_is_refused() {
        let old = made("[vault]\ncapacity = \"16MiB\"");
        let error = asked("[vault]\ncapacity = \"8MiB\"", &old).unwrap_err();
        assert!(error.contains("--capacity is 8 MiB and the vault has 16 MiB"), "{error}");
        let error = asked("[vault]\nblock_size = \"4KiB\"", &old).unwrap_err();
        assert!(error.contains("--block-size is 4 KiB and the vault has 64 KiB"), "{error}");
    }
}
