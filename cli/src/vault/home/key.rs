//! The key of a vault: from a file, from the environment, or derived from a passphrase.

use super::Home;
use crate::config::names::{KEY_ENV, KEY_FILE, KEY_SOURCE};
use crate::config::{KeySettings, SettingsError};
use crate::vault::created_files::CreatedFiles;
use ameles_seal::key_file;
use ameles_seal::master_key::MasterKey;
use ameles_seal::passphrase::PassphraseHeader;
use ameles_vault::VaultHeader;
use anyhow::{Context, Result, bail};
use rand_core::{OsRng, TryRngCore};
use zeroize::Zeroizing;

/// A key, and how it came from a passphrase if it did.
pub type NewKey = (MasterKey, Option<PassphraseHeader>);

/// The key that a vault is to have in the place of its own.
pub enum Renewal {
    /// The one that it has.
    Same(MasterKey),
    /// Another; `None` if it is to be made in its file.
    Another(Option<NewKey>),
}

impl Home<'_> {
    /// The key of a vault whose stored header is given.
    ///
    /// # Errors
    /// The key is not where it should be, or is none.
    pub fn key(&self, header: &[u8]) -> Result<MasterKey> {
        let source = self.settings.origins.name(KEY_SOURCE);
        match (&self.settings.key, VaultHeader::passphrase(header)?) {
            (KeySettings::Passphrase(variable), Some(derivation)) => {
                Ok(derivation.master_key(&passphrase(variable, false)?)?)
            }
            (KeySettings::Passphrase(_), None) => {
                Err(SettingsError::Key(format!("this vault has a key and no passphrase: leave out {source}"))
                    .into())
            }
            (_, Some(_)) => {
                Err(SettingsError::Key("this vault has a passphrase: add --passphrase (`key.source`)".into())
                    .into())
            }
            (_, None) => self.given_key(),
        }
    }

    /// The key that is in a file or in the environment.
    fn given_key(&self) -> Result<MasterKey> {
        let origins = &self.settings.origins;
        let (key, name) = match &self.settings.key {
            KeySettings::Env(variable) => (key_file::from_environment(variable), origins.name(KEY_ENV)),
            KeySettings::File(file) if *file == self.settings.data.master_key() => {
                return Ok(key_file::load(file)?);
            }
            KeySettings::File(file) => (key_file::load(file), origins.name(KEY_FILE)),
            KeySettings::Passphrase(_) => {
                return Err(SettingsError::Key("a passphrase needs the vault's header".into()).into());
            }
        };
        key.context(name)
    }

    /// Tells whether the key of a new vault here would be that of the vault with this stored header; a passphrase never
    /// is, for a vault has a salt of its own.
    ///
    /// # Errors
    /// The key is not where it should be, or is none.
    pub fn would_share_key_with(&self, header: &[u8]) -> Result<bool> {
        match &self.settings.key {
            KeySettings::Passphrase(_) => Ok(false),
            KeySettings::File(file) if !file.exists() => Ok(false),
            _ => Ok(VaultHeader::decode(header, &self.given_key()?).is_ok()),
        }
    }

    /// The key of a new vault as far as it can be had without making one.
    pub(super) fn key_for_new(&self) -> Result<Option<NewKey>> {
        match &self.settings.key {
            KeySettings::Passphrase(variable) => Ok(Some(derive_again(&passphrase(variable, true)?)?)),
            // A key that is there already may be the key of other vaults too.
            KeySettings::File(file) if !file.exists() => Ok(None),
            _ => Ok(Some((self.given_key()?, None))),
        }
    }

    /// The key that the vault with this stored header is to have from now on, as far as it can be had without making one. A
    /// passphrase is the same one if it gives the vault's key with the vault's salt.
    ///
    /// # Errors
    /// The key is not where it should be, or is none.
    pub fn renewal(&self, header: &[u8]) -> Result<Renewal> {
        let is_its_own = |master: &MasterKey| VaultHeader::decode(header, master).is_ok();
        if let KeySettings::Passphrase(variable) = &self.settings.key {
            let passphrase = passphrase(variable, true)?;
            if let Some(derivation) = VaultHeader::passphrase(header)? {
                let master = derivation.master_key(&passphrase)?;
                if is_its_own(&master) {
                    return Ok(Renewal::Same(master));
                }
            }
            return Ok(Renewal::Another(Some(derive_again(&passphrase)?)));
        }
        Ok(match self.key_for_new()? {
            Some((master, _)) if is_its_own(&master) => Renewal::Same(master),
            other => Renewal::Another(other),
        })
    }

    /// The key of a renewal: as given, or made in its file.
    ///
    /// # Errors
    /// The key cannot be made.
    pub fn given_or_made_key(&self, given: Option<NewKey>, made: &mut CreatedFiles) -> Result<NewKey> {
        given.map_or_else(|| self.make_key(made), Ok)
    }

    pub(super) fn make_key(&self, made: &mut CreatedFiles) -> Result<NewKey> {
        let KeySettings::File(file) = &self.settings.key else {
            return Ok((self.given_key()?, None));
        };
        made.will_make_file(file);
        Ok((key_file::create(file).with_context(|| self.settings.origins.name(KEY_FILE))?, None))
    }
}

/// The key of a passphrase with a salt that is drawn for it.
fn derive_again(passphrase: &str) -> Result<NewKey> {
    let derivation = PassphraseHeader::draw(&mut OsRng.unwrap_err());
    Ok((derivation.master_key(passphrase)?, Some(derivation)))
}

/// The passphrase, from the environment or from the terminal.
fn passphrase(variable: &str, twice: bool) -> Result<Zeroizing<String>> {
    if let Ok(passphrase) = std::env::var(variable) {
        if passphrase.is_empty() {
            let why = format!("{variable} is empty: set it to the passphrase, or unset it to be asked");
            return Err(SettingsError::Key(why).into());
        }
        return Ok(Zeroizing::new(passphrase));
    }
    let ask = |prompt: &str| {
        rpassword::prompt_password(prompt).map(Zeroizing::new).map_err(|error| {
            SettingsError::Key(format!("no passphrase ({error}): set {variable}, or run this on a terminal"))
        })
    };
    let first = ask(if twice { "New passphrase: " } else { "Passphrase: " })?;
    if first.is_empty() {
        return Err(SettingsError::Key("an empty passphrase protects nothing: type one".into()).into());
    }
    if twice && *ask("The same again: ")? != *first {
        bail!("the two passphrases differ: nothing was made");
    }
    Ok(first)
}
