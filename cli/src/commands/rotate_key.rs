//! `ameles rotate-key`

use super::vault_flags::VaultFlags;
use crate::config::{Config, KeySettings, Settings, SettingsError, VaultConfig};
use crate::migration::record::MigrationRecord;
use crate::report::status_file::Report;
use crate::runtime::exit::Exit;
use crate::runtime::output::say;
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
    after_help = "Stop `ameles serve` first. Afterwards the new key alone opens the vault, here and in a restore. The next `ameles \
serve`, with the new key, seals anew what is in the store, beside its clients, and `ameles status` tells how far it is: \
serve the vault until that line is gone. Cut off, run it again with the same flags: it ends what is left, and \
says if the vault has the new key already. What the provider has kept of before stays readable with the old key.

Examples:
  ameles rotate-key --new-key-file new.key
  ameles rotate-key --store s3://my-bucket/ameles --passphrase --new-passphrase"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    new: NewKeyFlags,
    #[command(flatten)]
    found: VaultFlags,
}

/// The key that the vault is to have.
#[derive(Args)]
#[command(next_help_heading = "New key")]
#[group(required = true, multiple = false)]
pub(super) struct NewKeyFlags {
    /// Its file, made if it is not there
    #[arg(long, value_name = "FILE")]
    new_key_file: Option<PathBuf>,
    /// The environment variable that holds it
    #[arg(long, value_name = "NAME")]
    new_key_env: Option<String>,
    /// Take a passphrase, from AMELES_NEW_PASSPHRASE or from the terminal
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
    pub(super) fn over(self, config: Config) -> (Config, NewKeyFlags) {
        (self.found.over(config), self.new)
    }
}

pub(super) async fn run(settings: Settings, new: NewKeyFlags) -> Result<Exit> {
    let home = Home::new(&settings);
    let disk = home.disk()?;
    if MigrationRecord::of_successor(&settings)?.is_some() {
        let why = "the vault has a successor, which has a key of its own: have that take over, or give it up with \
                   `ameles migrate --cancel`, and then change the key";
        return Err(SettingsError::Successor(why.into()).into());
    }
    let renewed = Settings { key: new.settings(), ..settings.clone() };
    let new_home = Home::new(&renewed);
    let header = home.header_on(&disk)?;
    let given = match new_home.renewal(&header)? {
        Renewal::Same(master) => {
            // The last run may have been cut off before the store had the new header.
            let opening = new_home.find_with(disk.clone(), master.clone(), &VaultConfig::default()).await?;
            complete_change(opening.setup()).await?;
            Report::note_key_change(&settings.data, change_under_way(&disk, &master)?, false);
            say!("The vault has this key already. Serve it with\n\n  {}\n", new_home.serve_line());
            return Ok(Exit::Success);
        }
        Renewal::Another(given) => given,
    };
    let before = home.key(&header)?;
    let opening = home.find_with(disk.clone(), before.clone(), &VaultConfig::default()).await?;
    let mut made = CreatedFiles::new();
    let (master, passphrase) = new_home.given_or_made_key(given, &mut made)?;
    let new = NewKey { master: master.clone(), passphrase };
    if let Err(error) = change_key(opening.into_setup(), new).await {
        if ensure_previous_key(&disk, &before, &error) {
            made.take_back();
        }
        return Err(error.into());
    }
    Report::note_key_change(&settings.data, change_under_way(&disk, &master)?, true);
    say!(
        "The vault has the new key. Keep it safe, and serve the vault with\n\n  {}\n\n\
         Objects in the store are left that the old key opens. They go while the vault is served: `ameles status` has a line \
         `key` until none is left.",
        new_home.serve_line()
    );
    Ok(Exit::Success)
}

/// Tells whether a vault whose change of key has failed so surely has its earlier key: a file with the new one, which it
/// may have, is never removed. A disk that has failed may have done what it was asked for.
fn ensure_previous_key(disk: &TrustedDisk, before: &MasterKey, failed: &VaultError) -> bool {
    let is_of_disk = matches!(failed, VaultError::Disk(_) | VaultError::DiskFull);
    !is_of_disk && read_header(disk, before).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_seal::key_file;
    use std::path::Path;

    #[tokio::test]
    async fn a_new_key_that_the_vault_may_have_is_not_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("data = {:?}\n[vault]\ncapacity = \"1MiB\"\nblock_size = \"4KiB\"", folder.path());
        let settings = Settings::resolve(Config::parse(&text, Path::new("ameles.toml")).unwrap()).unwrap();
        let home = Home::new(&settings);
        drop(home.make().await.unwrap());
        let before = key_file::load(&settings.data.master_key()).unwrap();
        let refused = VaultError::Refused("no".into());
        let is_taken_back =
            |failed: &VaultError| ensure_previous_key(&Home::new(&settings).disk().unwrap(), &before, failed);
        assert!(is_taken_back(&refused));
        assert!(!is_taken_back(&VaultError::DiskFull) && !is_taken_back(&VaultError::Disk("no".into())));
        let file = Some(folder.path().join("new.key"));
        let new = NewKeyFlags { new_key_file: file, new_key_env: None, new_passphrase: false };
        run(settings.clone(), new).await.unwrap();
        // As if the store had refused the new header.
        assert!(!is_taken_back(&refused));
    }
}
