//! The key of a vault, from a file, from the environment, or derived from a passphrase.

use super::Home;
use crate::config::names::{KEY_ENV, KEY_FILE, KEY_SOURCE};
use crate::config::{KeySettings, SettingsError};
use crate::vault::created_files::CreatedFiles;
use ameles_seal::key_file;
use ameles_seal::master_key::MasterKey;
use ameles_seal::passphrase::PassphraseHeader;
use ameles_vault::{VaultError, VaultHeader};
use anyhow::{Context, Result, bail};
use rand_core::{OsRng, TryRngCore};
use zeroize::Zeroizing;

/// A key, with the derivation if it comes from a passphrase.
pub type NewKey = (MasterKey, Option<PassphraseHeader>);

/// The key that will replace the key of a vault.
pub enum Renewal {
    /// The current key of the vault.
    Same(MasterKey),
    /// The vault gets another key; `None` if it must be created in its file.
    Another(Option<NewKey>),
}

impl Home<'_> {
    /// Returns the key of the vault with this stored header.
    ///
    /// # Errors
    /// The key is missing or invalid.
    pub fn key(&self, header: &[u8]) -> Result<MasterKey> {
        let source = self.settings.origins.name(KEY_SOURCE);
        match (&self.settings.key, VaultHeader::passphrase(header)?) {
            (KeySettings::Passphrase(variable), Some(derivation)) => {
                Ok(derivation.master_key(&passphrase(variable, false)?)?)
            }
            (KeySettings::Passphrase(_), None) => {
                Err(SettingsError::Key(format!("this vault has a key, not a passphrase: leave out {source}"))
                    .into())
            }
            (_, Some(_)) => {
                Err(SettingsError::Key("this vault has a passphrase: add --passphrase (`key.source`)".into())
                    .into())
            }
            (_, None) => self.read_key(),
        }
    }

    /// Reads the key from a file or from the environment.
    fn read_key(&self) -> Result<MasterKey> {
        let origins = &self.settings.origins;
        let (key, name) = match &self.settings.key {
            KeySettings::Env(variable) => (key_file::from_environment(variable), origins.name(KEY_ENV)),
            KeySettings::File(file) => (key_file::load(file), origins.name(KEY_FILE)),
            KeySettings::Passphrase(_) => {
                return Err(SettingsError::Key("a passphrase needs the vault's header".into()).into());
            }
        };
        key.context(name)
    }

    /// Returns the error with the key's origin, if the key does not open the vault.
    pub fn name_wrong_key(&self, error: VaultError) -> anyhow::Error {
        let origins = &self.settings.origins;
        let key = match &self.settings.key {
            _ if !matches!(error, VaultError::WrongKey) => return error.into(),
            KeySettings::File(file) => format!("{} is {}", origins.name(KEY_FILE), file.display()),
            KeySettings::Env(variable) => format!("{} is {variable}", origins.name(KEY_ENV)),
            KeySettings::Passphrase(_) => origins.name(KEY_SOURCE),
        };
        anyhow::Error::new(error).context(key)
    }

    /// Returns true if a new vault here would have the key of the vault with this stored header. With a passphrase it
    /// never would, because each vault has its own salt.
    ///
    /// # Errors
    /// The key is missing or invalid.
    pub fn would_share_key_with(&self, header: &[u8]) -> Result<bool> {
        match &self.settings.key {
            KeySettings::Passphrase(_) => Ok(false),
            KeySettings::File(file) if !file.exists() => Ok(false),
            _ => Ok(VaultHeader::decode(header, &self.read_key()?).is_ok()),
        }
    }

    /// Returns the key of a new vault, or `None` if it must be created.
    pub(super) fn key_for_new_vault(&self) -> Result<Option<NewKey>> {
        match &self.settings.key {
            KeySettings::Passphrase(variable) => {
                Ok(Some(derive_with_new_salt(&passphrase(variable, true)?)?))
            }
            // An existing key may be the key of other vaults too.
            KeySettings::File(file) if !file.exists() => Ok(None),
            _ => Ok(Some((self.read_key()?, None))),
        }
    }

    /// Returns the key that will replace the key of the vault with this stored header. A passphrase is the same if it
    /// gives the vault's key with the vault's salt.
    ///
    /// # Errors
    /// The key is missing or invalid.
    pub fn renewal(&self, header: &[u8]) -> Result<Renewal> {
        let opens_header = |master: &MasterKey| VaultHeader::decode(header, master).is_ok();
        if let KeySettings::Passphrase(variable) = &self.settings.key {
            let passphrase = passphrase(variable, true)?;
            if let Some(derivation) = VaultHeader::passphrase(header)? {
                let master = derivation.master_key(&passphrase)?;
                if opens_header(&master) {
                    return Ok(Renewal::Same(master));
                }
            }
            return Ok(Renewal::Another(Some(derive_with_new_salt(&passphrase)?)));
        }
        Ok(match self.key_for_new_vault()? {
            Some((master, _)) if opens_header(&master) => Renewal::Same(master),
            other => Renewal::Another(other),
        })
    }

    /// Returns the given key of a renewal, or creates it in its file.
    ///
    /// # Errors
    /// The key cannot be created.
    pub fn given_or_new_key(&self, given: Option<NewKey>, created: &mut CreatedFiles) -> Result<NewKey> {
        given.map_or_else(|| self.create_key(created), Ok)
    }

    pub(super) fn create_key(&self, created: &mut CreatedFiles) -> Result<NewKey> {
        let KeySettings::File(file) = &self.settings.key else {
            return Ok((self.read_key()?, None));
        };
        created.add_file(file);
        Ok((key_file::create(file).with_context(|| self.settings.origins.name(KEY_FILE))?, None))
    }
}

/// Derives a key from a passphrase with a new salt.
fn derive_with_new_salt(passphrase: &str) -> Result<NewKey> {
    let derivation = PassphraseHeader::draw(&mut OsRng.unwrap_err());
    Ok((derivation.master_key(passphrase)?, Some(derivation)))
}

/// Reads a passphrase from the environment or from the terminal.
fn passphrase(variable: &str, is_new: bool) -> Result<Zeroizing<String>> {
    if let Ok(passphrase) = std::env::var(variable) {
        if passphrase.is_empty() {
            let why =
                format!("{variable} is empty: set it to the passphrase, or unset it to be asked for one");
            return Err(SettingsError::Key(why).into());
        }
        return Ok(Zeroizing::new(passphrase));
    }
    let ask = |prompt: &str| {
        rpassword::prompt_password(prompt).map(Zeroizing::new).map_err(|error| {
            SettingsError::Key(format!(
                "cannot read a passphrase ({error}): set {variable}, or run the command at a terminal"
            ))
        })
    };
    let first = ask(if is_new { "New passphrase: " } else { "Passphrase: " })?;
    if first.is_empty() {
        return Err(SettingsError::Key("the passphrase is empty: enter one".into()).into());
    }
    if is_new && *ask("Repeat the passphrase: ")? != *first {
        bail!("the two passphrases differ: nothing was created");
    }
    Ok(first)
}
