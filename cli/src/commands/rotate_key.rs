//! `ameles rotate-key`

use super::vault_flags::VaultFlags;
use crate::config::{Config, KeySettings, Settings, SettingsError, VaultConfig};
use crate::migration::flags::NEW_KEY_FLAGS;
use crate::migration::record::MigrationRecord;
use crate::report::status_file::Report;
use crate::runtime::exit::Exit;
use crate::runtime::output::print_line;
use crate::vault::created_files::CreatedFiles;
use crate::vault::home::{Home, Renewal};
use ameles_seal::master_key::MasterKey;
use ameles_vault::{
    NewKey, TrustedDisk, VaultError, change_key, change_under_way, complete_change, read_header,
};
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// The environment variable of the new passphrase.
const NEW_PASSPHRASE: &str = "AMELES_NEW_PASSPHRASE";

#[derive(Args)]
#[command(
    after_help = "Stop `ameles serve` first. Afterwards only the new key opens the vault, here and in a restore. The next `ameles \
serve` with the new key reseals the objects in the store while it serves clients; `ameles status` shows the progress. Serve the \
vault until that line is gone. If the command is interrupted, run it again with the same flags: it finishes the change, and \
says if the vault already has the new key. Old objects that the provider has kept stay readable with the old key.

Examples:
  ameles rotate-key --new-key-file new.key
  ameles rotate-key --store s3://my-bucket/ameles --passphrase --new-passphrase"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    new: NewKeyFlags,
    #[command(flatten)]
    vault: VaultFlags,
}

/// The new key of the vault.
#[derive(Args)]
#[command(next_help_heading = "New key")]
#[group(required = true, multiple = false)]
pub(super) struct NewKeyFlags {
    /// The file of the new key, created if it does not exist
    #[arg(long, value_name = "FILE")]
    new_key_file: Option<PathBuf>,
    /// The environment variable that holds the new key
    #[arg(long, value_name = "NAME")]
    new_key_env: Option<String>,
    /// Use a passphrase, from AMELES_NEW_PASSPHRASE or from the terminal
    #[arg(long)]
    new_passphrase: bool,
}

impl NewKeyFlags {
    fn settings(self) -> KeySettings {
        match (self.new_key_file, self.new_key_env) {
            (Some(file), _) => KeySettings::File(file),
            (_, Some(variable)) => KeySettings::Env(variable),
            _ => KeySettings::Passphrase(NEW_PASSPHRASE.into()),
        }
    }
}

impl Arguments {
    pub(super) fn apply_to(self, config: Config) -> (Config, NewKeyFlags) {
        (self.vault.apply_to(config), self.new)
    }
}

pub(super) async fn run(settings: Settings, new: NewKeyFlags) -> Result<Exit> {
    let home = Home::new(&settings);
    let disk = home.disk()?;
    if MigrationRecord::load_successor(&settings)?.is_some() {
        let why = "the vault has a successor: let it take over, or cancel it with `ameles migrate --cancel`, and then change \
                   the key";
        return Err(SettingsError::Successor(why.into()).into());
    }
    let origins = settings.origins.clone().with_flags(NEW_KEY_FLAGS);
    let new_settings = Settings { key: new.settings(), origins, ..settings.clone() };
    let new_home = Home::new(&new_settings);
    let header = home.header_on(&disk)?;
    let new_key = match new_home.renewal(&header)? {
        Renewal::Same(master) => {
            // The last run may have been interrupted before the store had the new header.
            let opening = new_home.find_with(disk.clone(), master.clone(), &VaultConfig::default()).await?;
            complete_change(opening.setup()).await?;
            Report::update_key_change(&settings.data, change_under_way(&disk, &master)?, false);
            print_line!("The vault already has this key. Serve it with\n\n  {}\n", new_home.serve_line());
            return Ok(Exit::Success);
        }
        Renewal::Another(new_key) => new_key,
    };
    let old_key = home.key(&header)?;
    let opening = home.find_with(disk.clone(), old_key.clone(), &VaultConfig::default()).await?;
    let mut created = CreatedFiles::new();
    let (master, passphrase) = new_home.given_or_new_key(new_key, &mut created)?;
    let new = NewKey { master: master.clone(), passphrase };
    if let Err(error) = change_key(opening.into_setup(), new).await {
        if has_old_key(&disk, &old_key, &error) {
            created.remove_all();
        }
        return Err(error.into());
    }
    Report::update_key_change(&settings.data, change_under_way(&disk, &master)?, true);
    print_line!(
        "The vault has the new key. Keep it safe, and serve the vault with\n\n  {}\n\n\
         The old key still opens objects in the store. They are replaced while the vault is served: `ameles status` has a \
         line `key` until the change is complete.",
        new_home.serve_line()
    );
    Ok(Exit::Success)
}

/// Returns true if a vault certainly has its old key after a change of key failed with this error.
///
/// Otherwise the vault may have the new key, whose file must not be removed. A failed disk may have done the write.
fn has_old_key(disk: &TrustedDisk, old_key: &MasterKey, error: &VaultError) -> bool {
    let is_of_disk = matches!(error, VaultError::Disk(_) | VaultError::DiskFull);
    !is_of_disk && read_header(disk, old_key).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_seal::key_file;

    #[tokio::test]
    async fn a_new_key_that_the_vault_may_have_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("data = {:?}\n[vault]\ncapacity = \"1MiB\"\nblock_size = \"4KiB\"", folder.path());
        let settings = Settings::from_toml(&text);
        let home = Home::new(&settings);
        drop(home.create().await.unwrap());
        let old_key = key_file::load(&settings.data.master_key()).unwrap();
        let refused = VaultError::Refused("no".into());
        let is_removed =
            |error: &VaultError| has_old_key(&Home::new(&settings).disk().unwrap(), &old_key, error);
        assert!(is_removed(&refused));
        assert!(!is_removed(&VaultError::DiskFull) && !is_removed(&VaultError::Disk("no".into())));
        let file = Some(folder.path().join("new.key"));
        let new = NewKeyFlags { new_key_file: file, new_key_env: None, new_passphrase: false };
        run(settings.clone(), new).await.unwrap();
        // As if the store had refused the new header.
        assert!(!is_removed(&refused));
    }
}
