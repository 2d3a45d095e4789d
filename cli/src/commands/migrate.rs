//! `ameles migrate`

use super::vault_flags::ShapeFlags;
use crate::config::folders::DATABASE;
use crate::config::size::Size;
use crate::config::{Config, KeySettings, Settings, SettingsError, StoreOptions, StoreSettings, VaultConfig};
use crate::migration::flags::{SuccessorFlags, with_successor_origins};
use crate::migration::record::{MigrationRecord, VaultLocation, refuse_same_store};
use crate::migration::repeated_flags::{refuse_other_place, refuse_other_shape};
use crate::migration::shape::successor_parameters;
use crate::migration::switch;
use crate::report::status_file::{Continued, Report, requests_line};
use crate::runtime::exit::Exit;
use crate::runtime::interrupt::{Interrupted, Interrupts};
use crate::runtime::output::print_line;
use crate::runtime::progress;
use crate::runtime::remove_folder::remove_folder;
use crate::vault::created_files::CreatedFiles;
use crate::vault::home::{Home, Opening, url_of};
use crate::vault::open_vault::{ReplacedVault, SUCCESSOR, take_over};
use crate::vault::parameters::summary;
use ameles_vault::{
    CopyProgress, ExistsIn, MigrationStage, MirroredVaults, Vault, VaultError, VaultParameters,
    migration_stage, raw_header, read_header,
};
use anyhow::{Context, Result};
use clap::Args;
use std::path::{Path, PathBuf};

/// The next step after a successor is created.
const HOW_TO_FILL: &str = "`ameles serve` fills it while it serves, `ameles migrate` fills it now.";

/// The environment variable of the successor's passphrase.
const NEW_PASSPHRASE: &str = "AMELES_NEW_PASSPHRASE";

#[derive(Args)]
#[command(
    after_help = "A successor is a second vault that replaces the first. It may be larger, have another key, or be at another \
provider. The command creates the successor, copies every block, and then the successor takes over. With --prepare the command \
only creates it; `ameles serve` fills it while it serves, and after the next restart it takes over. If `ameles migrate` is \
interrupted, run it again with the same flags or without any. Capacity, scheme, batch, cipher, journal and the place of the \
tree top are those of the vault unless given. If one of them is given, --z, --s, --a, the size of the tree top and the \
objective are planned again unless given too.

Examples:
  ameles migrate --capacity 10GiB
  ameles migrate --new-key-file new.key --prepare
  ameles migrate --store s3://old/ameles --to s3://new/ameles --to-option region=eu-north-1
  ameles migrate --cancel"
)]
pub(super) struct Arguments {
    /// Only create the successor: `ameles serve` fills it while it serves
    #[arg(long)]
    prepare: bool,
    /// Cancel the migration; the vault stays as it is
    #[arg(long, conflicts_with_all = ["prepare", "to", "new_key"])]
    cancel: bool,
    #[command(flatten)]
    successor: SuccessorFlags,
    #[command(flatten)]
    shape_flags: ShapeFlags,
}

/// The task of the command. The settings describe the existing vault.
pub(super) struct MigrateTask {
    prepare: bool,
    cancel: bool,
    successor: SuccessorFlags,
    shape: VaultConfig,
}

impl Arguments {
    /// Returns the configuration of the existing vault, and the task.
    pub(super) fn apply_to(self, config: Config) -> (Config, MigrateTask) {
        let Arguments { prepare, cancel, successor, shape_flags } = self;
        let ShapeFlags { shape, vault } = shape_flags;
        (vault.apply_to(config), MigrateTask { prepare, cancel, successor, shape })
    }
}

impl MigrateTask {
    /// Returns true if no flag describes the successor.
    fn is_empty(&self) -> bool {
        self.successor.is_empty() && self.shape == VaultConfig::default()
    }
}

pub(super) async fn run(settings: Settings, task: MigrateTask) -> Result<Exit> {
    if let Some(predecessor) = switch::finish(&settings.data)? {
        print_line!(
            "The successor was complete and has taken over. The old trusted disk is in {}.",
            predecessor.display()
        );
        return Ok(Exit::Success);
    }
    let record = MigrationRecord::load_successor(&settings)?;
    match record {
        None if task.cancel => cancel_preparation(&settings, &task),
        Some(record) if task.cancel => cancel(&settings, &task, &record),
        Some(record) => {
            let key = successor_key(&settings, &task.successor);
            refuse_other_place(&settings, (&task.successor, &key), &record)?;
            if task.prepare {
                find_both(&settings, &record, &task.shape).await?;
                print_line!("The successor already exists. {HOW_TO_FILL}");
                return Ok(Exit::Success);
            }
            fill(&settings, &record, &task.shape, Interrupts::listen).await
        }
        None => {
            let (record, interrupts) = prepare(&settings, &task).await?;
            if task.prepare {
                print_line!("{HOW_TO_FILL}");
                return Ok(Exit::Success);
            }
            fill(&settings, &record, &task.shape, || Ok(interrupts)).await
        }
    }
}

/// Finds the vault and its successor, which must have the requested shape.
async fn find_both(
    settings: &Settings,
    record: &MigrationRecord,
    shape: &VaultConfig,
) -> Result<(Opening, Opening)> {
    let (old_settings, new_settings) = record.settings_of_both(settings);
    let old = Home::new(&old_settings).find(&VaultConfig::default()).await?;
    let new = Home::new(&new_settings).find(&VaultConfig::default()).await.context(SUCCESSOR)?;
    refuse_other_shape(settings, shape, (&old.header.parameters, &new.header.parameters))?;
    Ok((old, new))
}

/// Creates an empty successor.
async fn prepare(settings: &Settings, task: &MigrateTask) -> Result<(MigrationRecord, Interrupts)> {
    let old = Home::new(settings);
    let (disk, master) = old.disk_and_key()?;
    let header = read_header(&disk, &master)?;
    let unfinished = MigrationRecord::load_unfinished(&settings.data)?;
    if task.is_empty() {
        return Err(nothing_requested(unfinished.as_ref()).into());
    }
    let (parameters, shape_settings) = successor_parameters(&task.shape, settings, &header.parameters)?;
    let (store, folder) = successor_store(settings, &task.successor, unfinished.as_ref())?;
    let key = successor_key(settings, &task.successor);
    let new = Settings { store, key, data: settings.data.successor(), ..shape_settings };
    let new = with_successor_origins(new, task.successor.has_key());
    refuse_same_store(settings, &new, "--to")?;
    let home = Home::new(&new);
    if task.successor.has_key() && home.would_share_key_with(&raw_header(&disk)?)? {
        let why = "the new key is the key of the vault: name another file or variable, or leave the flag out to keep the key";
        return Err(SettingsError::Successor(why.into()).into());
    }
    let cancelled = MigrationRecord::load_cancelled(&settings.data)?.filter(|_| unfinished.is_none());
    if cancelled.is_some() {
        // The cancellation may have been interrupted.
        remove_folder(&new.data.trusted())?;
    }
    if home.has_vault()? {
        return Err(SettingsError::Successor(format!(
            "{} holds a successor without a record of its store: \
             remove it with `ameles migrate --cancel`",
            new.data.trusted().display()
        ))
        .into());
    }
    let (from, to) = (VaultLocation::of(settings)?, VaultLocation::of(&new)?);
    let record = MigrationRecord { from, to };
    let mut created = CreatedFiles::new();
    record.save_unfinished(&settings.data, &mut created)?;
    if let Some(folder) = &folder {
        created.add_filled_folder(folder);
        std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    let (opening, interrupts) = match home.create_with(parameters).await {
        Ok(created) => created,
        Err(error) => {
            return Err(undo_prepare(error, settings, &new, (&record, cancelled.as_ref()), created)?);
        }
    };
    let parameters = &opening.header.parameters;
    print_line!(
        "A successor\n{}",
        summary(parameters, home.store_name(), true, None, None, &settings.serve).render()
    );
    print_line!(
        "Filling it takes {} of the old store, and {} of the new one.",
        copy_cost(&header.parameters, &header.parameters),
        copy_cost(parameters, &header.parameters)
    );
    if let KeySettings::File(file) = &new.key
        && task.successor.has_key()
    {
        print_line!(
            "Keep its key, {}: without it, the data cannot be read once the successor has taken over.",
            file.display()
        );
    }
    record.save(&settings.data)?;
    Ok((record, interrupts))
}

/// Removes what was created of a successor after an error, and restores the record of an earlier, `cancelled`
/// successor. Returns the error with advice.
fn undo_prepare(
    error: anyhow::Error,
    settings: &Settings,
    new: &Settings,
    (record, cancelled): (&MigrationRecord, Option<&MigrationRecord>),
    created: CreatedFiles,
) -> Result<anyhow::Error> {
    let home = Home::new(new);
    if home.has_vault().unwrap_or(false) {
        // The store may have its header: the next `ameles migrate` continues from here.
        record.save(&settings.data)?;
        return Ok(
            error.context("the successor is created on this machine: run `ameles migrate` again to continue")
        );
    }
    match cancelled {
        Some(cancelled_before) => cancelled_before.save_cancelled(&settings.data)?,
        None => MigrationRecord::remove_records(&settings.data)?,
    }
    created.remove_all();
    let exists_in_store = matches!(error.downcast_ref(), Some(VaultError::AlreadyExists(ExistsIn::Store)));
    if cancelled.is_some_and(|cancelled_before| exists_in_store && cancelled_before.is_for_successor(new)) {
        let why = format!(
            "{} still holds the data of the cancelled successor: empty it, or name another place with --to",
            home.store_name()
        );
        return Ok(SettingsError::Successor(why).into());
    }
    Ok(error.context(SUCCESSOR))
}

/// Returns the error if no flag describes the successor.
fn nothing_requested(unfinished: Option<&MigrationRecord>) -> SettingsError {
    let why = match unfinished {
        Some(_) => {
            "the creation of a successor was interrupted: repeat its flags, give others, or cancel it with \
             `ameles migrate --cancel`"
        }
        None => {
            "say how the successor differs from the vault: --capacity, --to, --new-key-file, --new-key-env or \
             --new-passphrase (see `ameles migrate --help`)"
        }
    };
    SettingsError::Successor(why.into())
}

/// Returns the approximate requests to a vault's store while the blocks of a vault like `old` are copied.
fn copy_cost(parameters: &VaultParameters, old: &VaultParameters) -> String {
    let accesses = old.scheme.capacity() as f64;
    let usage = parameters.usage_of(accesses / f64::from(parameters.scheme.max_batch()));
    format!("about {} requests and {}", usage.requests(), Size(usage.bytes_up + usage.bytes_down))
}

/// Returns the location of the successor's store, and the folder that must be created for it.
fn successor_store(
    settings: &Settings,
    flags: &SuccessorFlags,
    unfinished: Option<&MigrationRecord>,
) -> Result<(StoreSettings, Option<PathBuf>), SettingsError> {
    if let Some(url) = &flags.to {
        if !url.contains("://") {
            return Err(SettingsError::Store { name: "--to".into(), url: url.clone() });
        }
        let options = StoreOptions(flags.to_option.iter().cloned().collect());
        return Ok((
            StoreSettings {
                url: Some(url.clone()),
                endpoint: flags.to_endpoint.clone(),
                options,
                etcd: None,
            },
            None,
        ));
    }
    if settings.store.url.is_some() {
        return Err(SettingsError::Successor(
            "--to is missing: name the successor's store, such as another bucket, or another prefix in the bucket of \
             the vault"
                .into(),
        ));
    }
    let store_at = |folder: &Path| {
        let url = Some(url_of(folder));
        StoreSettings { url, endpoint: None, options: StoreOptions::default(), etcd: None }
    };
    // The folder of an interrupted creation is used again: it holds nothing of a vault yet.
    let is_free = |folder: &Path| {
        let is_noted = |record: &MigrationRecord| {
            record.to.is_named_by(&Settings { store: store_at(folder), ..settings.clone() })
        };
        !folder.exists() || unfinished.is_some_and(is_noted)
    };
    let mut numbers = 2..;
    let free_folder = numbers.find_map(|number: u32| {
        let folder = settings.data.root().join(format!("untrusted-{number}"));
        is_free(&folder).then_some(folder)
    });
    let folder = free_folder.unwrap_or_else(|| settings.data.root().join("untrusted-2"));
    Ok((store_at(&folder), Some(folder)))
}

/// Returns the source of the successor's key.
fn successor_key(settings: &Settings, flags: &SuccessorFlags) -> KeySettings {
    match (&flags.new_key_file, &flags.new_key_env, flags.new_passphrase) {
        (Some(file), _, _) => KeySettings::File(file.clone()),
        (_, Some(variable), _) => KeySettings::Env(variable.clone()),
        (_, _, true) => KeySettings::Passphrase(NEW_PASSPHRASE.into()),
        _ => settings.key.clone(),
    }
}

/// Copies the remaining blocks, then lets the successor take over.
async fn fill(
    settings: &Settings,
    record: &MigrationRecord,
    shape: &VaultConfig,
    interrupts: impl FnOnce() -> Result<Interrupts>,
) -> Result<Exit> {
    let (old_settings, new_settings) = record.settings_of_both(settings);
    let (old_home, new_home) = (Home::new(&old_settings), Home::new(&new_settings));
    let (old, new) = find_both(settings, record, shape).await?;
    let parameters = new.header.parameters.clone();
    // A passphrase is read before Ctrl-C is handled here.
    let mut interrupts = interrupts()?;
    let (old, old_meter) = interrupts.interruptible(old.open()).await?;
    let (new, new_meter) = interrupts.interruptible(new.open()).await.context(SUCCESSOR)?;
    let copied = match migration_stage(old.header(), &new.load_rows().await?)? {
        MigrationStage::CutOver => None,
        MigrationStage::Copied | MigrationStage::Copying(_) => Some(copy(&old, &new, &mut interrupts).await),
    };
    match copied {
        Some(Err(error)) => return Err(error),
        Some(Ok(copied)) if !copied.is_all() => {
            tokio::join!(old.close(), new.close()).1.context(SUCCESSOR)?;
            let CopyProgress { blocks, of } = copied;
            print_line!("Stopped after {blocks} of {of} blocks: run `ameles migrate` again to continue.");
            return Err(Interrupted.into());
        }
        _ => {}
    }
    let rows = old.load_rows().await?;
    old.close().await?;
    let header = old.header().clone();
    take_over(settings, &header, rows, &new).await?;
    let receipt = new.close().await.context(SUCCESSOR)?;
    print_line!("Requests to the old store: {}.", requests_line(&old_meter.usage()));
    print_line!("Requests to the new store: {}.\n", requests_line(&new_meter.usage()));
    let replaced = switch::finish(&settings.data)?.map(|predecessor| ReplacedVault {
        predecessor,
        store: old_home.store_name(),
        line: record.serve_line(settings),
    });
    let summary = summary(&parameters, new_home.store_name(), false, None, None, &settings.serve);
    Report::now(&summary, &new.status(), &new_meter.usage(), &Continued::default(), None)
        .write_or_warn(&settings.data);
    if let Some(replaced) = replaced {
        print_line!("{}", replaced.render());
    }
    print_line!("Receipt of the last checkpoint:\n{receipt}");
    Ok(Exit::Success)
}

/// Copies until the successor has all blocks, or until Ctrl-C.
async fn copy(old: &Vault, new: &Vault, interrupts: &mut Interrupts) -> Result<CopyProgress> {
    let (_, mut copier) = MirroredVaults::new(old.clone(), new.clone()).await?;
    let CopyProgress { blocks, of } = copier.copied();
    if blocks > 0 {
        print_line!("Continuing after {blocks} of {of} blocks.");
    }
    let bar = progress::steps("copying blocks", of);
    while !copier.copied().is_all() {
        bar.set_position(copier.copied().blocks);
        tokio::select! {
            biased;
            () = interrupts.next() => {
                copier.note().await?;
                break;
            }
            copied = copier.step() => drop(copied?),
        }
    }
    bar.finish_and_clear();
    Ok(copier.copied())
}

impl MigrateTask {
    /// Refuses flags of a shape, which `--cancel` does not use.
    fn refuse_shape(&self) -> Result<(), SettingsError> {
        if self.shape == VaultConfig::default() {
            return Ok(());
        }
        Err(SettingsError::Successor(
            "--cancel cannot be combined with flags of a vault's shape: leave them out".into(),
        ))
    }
}

/// Cancels a successor whose creation was interrupted before it had a vault or a record.
fn cancel_preparation(settings: &Settings, task: &MigrateTask) -> Result<Exit> {
    let successor = settings.data.successor().trusted();
    let (unfinished, cancelled_before) =
        (MigrationRecord::load_unfinished(&settings.data)?, MigrationRecord::load_cancelled(&settings.data)?);
    if unfinished.is_none() && cancelled_before.is_none() && !successor.join(DATABASE).exists() {
        let why = "there is no successor to cancel: none was created, or it has already taken over";
        return Err(SettingsError::Successor(why.into()).into());
    }
    task.refuse_shape()?;
    // No other process may use the vault meanwhile.
    let lock = Home::new(settings).disk()?;
    if let Some(record) = &unfinished {
        record.save_cancelled(&settings.data)?;
    }
    remove_folder(&successor)?;
    drop(lock);
    match (unfinished, cancelled_before) {
        (Some(record), _) => print_line!(
            "The successor is cancelled before it was created. The vault is unchanged, and nothing was written to {}.",
            Home::new(&record.to.apply_to(settings)).store_name()
        ),
        // The last run may have been interrupted before it printed this.
        (None, Some(record)) => print_cancelled(settings, &record),
        (None, None) => print_line!(
            "The successor is cancelled, and the vault is unchanged. At the place of its store, the object `vault` is \
             no longer needed."
        ),
    }
    Ok(Exit::Success)
}

/// Cancels the successor.
fn cancel(settings: &Settings, task: &MigrateTask, record: &MigrationRecord) -> Result<Exit> {
    task.refuse_shape()?;
    let (old, new) = record.settings_of_both(settings);
    // Neither vault may be served meanwhile.
    let (lock, successor_lock) = (Home::new(&old).disk()?, Home::new(&new).disk());
    record.save_cancelled(&settings.data)?;
    drop((lock, successor_lock));
    remove_folder(&new.data.trusted())?;
    print_cancelled(settings, record);
    Ok(Exit::Success)
}

fn print_cancelled(settings: &Settings, record: &MigrationRecord) {
    print_line!(
        "The successor is cancelled, and the vault is unchanged. The data below {} is no longer needed and may be \
         removed.",
        Home::new(&record.to.apply_to(settings)).store_name()
    );
}
