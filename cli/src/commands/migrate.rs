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
use crate::report::status_file::{Report, requests_line};
use crate::runtime::exit::Exit;
use crate::runtime::interrupt::{Interrupted, Interrupts};
use crate::runtime::output::print_line;
use crate::runtime::progress;
use crate::runtime::remove_folder::remove_folder;
use crate::vault::created_files::CreatedFiles;
use crate::vault::home::{Home, Opening};
use crate::vault::open_vault::{ReplacedVault, SUCCESSOR, take_over};
use crate::vault::parameters::summary;
use ameles_store::Usage;
use ameles_vault::{
    Copied, ExistsIn, Stage, Succession, Vault, VaultError, VaultParameters, raw_header, read_header, stage,
};
use anyhow::{Context, Result};
use clap::Args;
use std::path::{Path, PathBuf};

/// The ways to fill a successor that is made.
const HOW_TO_FILL: &str =
    "`ameles serve`, as before, fills it while it serves; `ameles migrate` fills it at once.";

/// The environment variable of the successor's passphrase.
const NEW_PASSPHRASE: &str = "AMELES_NEW_PASSPHRASE";

#[derive(Args)]
#[command(
    after_help = "A successor is a second vault that takes the place of the first: larger, under another key, at another \
provider, or all of it. It is made, filled with every block, and takes over the names at the end. With --prepare it is \
made only, and `ameles serve` fills it while it serves; a restart then has it take over. Interrupted, `ameles migrate` \
goes on, with the same flags or without any. Capacity, scheme, batch, cipher, journal and the place of the tree top are the vault's unless they \
are said; with any of them said, --z, --s, --a, the tree top's share and the objective are planned anew unless said too.

Examples:
  ameles migrate --capacity 10GiB
  ameles migrate --new-key-file new.key --prepare
  ameles migrate --store s3://old/ameles --to s3://new/ameles --to-option region=eu-north-1
  ameles migrate --cancel"
)]
pub(super) struct Arguments {
    /// Only make the successor: `ameles serve` fills it while it serves
    #[arg(long)]
    prepare: bool,
    /// Give the successor up. The vault stays as it is
    #[arg(long, conflicts_with_all = ["prepare", "to", "new_key"])]
    cancel: bool,
    #[command(flatten)]
    successor: SuccessorFlags,
    #[command(flatten)]
    shape_flags: ShapeFlags,
}

/// The task of the command, beside the settings of the vault as it is.
pub(super) struct MigrateTask {
    prepare: bool,
    cancel: bool,
    successor: SuccessorFlags,
    shape: VaultConfig,
}

impl Arguments {
    /// The configuration of the vault as it is, and what is wanted of its successor.
    pub(super) fn apply_to(self, config: Config) -> (Config, MigrateTask) {
        let Arguments { prepare, cancel, successor, shape_flags } = self;
        let ShapeFlags { vault, found } = shape_flags;
        (found.apply_to(config), MigrateTask { prepare, cancel, successor, shape: vault })
    }
}

impl MigrateTask {
    /// Tells whether nothing is said of what the successor is to be.
    fn is_empty(&self) -> bool {
        self.successor.is_empty() && self.shape == VaultConfig::default()
    }
}

pub(super) async fn run(settings: Settings, task: MigrateTask) -> Result<Exit> {
    if let Some(predecessor) = switch::finish(&settings.data)? {
        print_line!("The successor had everything, and has taken over: {} is left.", predecessor.display());
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
                print_line!("The successor is made already. {HOW_TO_FILL}");
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

/// Finds the vault and its successor, which must have the shape that is asked for.
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

/// Makes the successor, empty.
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
        let why =
            "the new key is the vault's own: name another file or variable, or leave it out to keep the key";
        return Err(SettingsError::Successor(why.into()).into());
    }
    let cancelled = MigrationRecord::load_cancelled(&settings.data)?.filter(|_| unfinished.is_none());
    if cancelled.is_some() {
        // Giving it up may have been cut off.
        remove_folder(&new.data.trusted())?;
    }
    if home.has_vault()? {
        return Err(SettingsError::Successor(format!(
            "{} holds a successor without a note of its store: \
             `ameles migrate --cancel` gives it up",
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
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
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
        "To fill it: {} of the store of now, and {} of its own.",
        copy_cost(&header.parameters, &header.parameters),
        copy_cost(parameters, &header.parameters)
    );
    if let KeySettings::File(file) = &new.key
        && task.successor.has_key()
    {
        print_line!(
            "Keep its key, {}: without it, nothing can be read once it has taken over.",
            file.display()
        );
    }
    record.save(&settings.data)?;
    Ok((record, interrupts))
}

/// Takes back what was begun of a successor that could not be made, and what is known of one that was `cancelled` before stays
/// known. Returns the error, and what follows from it.
fn undo_prepare(
    error: anyhow::Error,
    settings: &Settings,
    new: &Settings,
    (record, cancelled): (&MigrationRecord, Option<&MigrationRecord>),
    created: CreatedFiles,
) -> Result<anyhow::Error> {
    let home = Home::new(new);
    if home.has_vault().unwrap_or(false) {
        // The store may have its header: the next one goes on from here.
        record.save(&settings.data)?;
        return Ok(error.context("the successor is made on this machine, and `ameles migrate` goes on"));
    }
    match cancelled {
        Some(cancelled_before) => cancelled_before.save_cancelled(&settings.data)?,
        None => MigrationRecord::remove_records(&settings.data)?,
    }
    created.remove_all();
    let exists_in_store = matches!(error.downcast_ref(), Some(VaultError::AlreadyExists(ExistsIn::Store)));
    if cancelled.is_some_and(|cancelled_before| exists_in_store && cancelled_before.is_for_successor(new)) {
        let why = format!(
            "{} holds what the successor that was given up has left there: empty it, or name another place with --to",
            home.store_name()
        );
        return Ok(SettingsError::Successor(why).into());
    }
    Ok(error.context(SUCCESSOR))
}

/// The refusal to make a successor of which nothing is said.
fn nothing_requested(unfinished: Option<&MigrationRecord>) -> SettingsError {
    let why = match unfinished {
        Some(_) => {
            "the making of a successor was cut off before there was anything of it: say again what it is to have of its own, \
             with the same flags or others, or give it up with `ameles migrate --cancel`"
        }
        None => {
            "say what the successor is to have of its own: --capacity, --to, --new-key-file, --new-key-env or \
             --new-passphrase (`ameles migrate --help`)"
        }
    };
    SettingsError::Successor(why.into())
}

/// The approximate requests to a vault's store while the blocks of a vault like `old` are copied.
fn copy_cost(parameters: &VaultParameters, old: &VaultParameters) -> String {
    let accesses = old.scheme.capacity() as f64;
    let usage = parameters.usage_of(accesses / f64::from(parameters.scheme.max_batch()));
    format!("about {} requests and {}", usage.requests(), Size(usage.bytes_up + usage.bytes_down))
}

/// The place of the successor's store, and the folder that must be made for it first.
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
            StoreSettings { url: Some(url.clone()), endpoint: flags.to_endpoint.clone(), options },
            None,
        ));
    }
    if settings.store.url.is_some() {
        return Err(SettingsError::Successor(
            "--to is missing: say where the successor's store is to be, such as another bucket or a prefix beside \
             that of the vault"
                .into(),
        ));
    }
    let store_at = |folder: &Path| {
        let url = Some(url_of(folder));
        StoreSettings { url, endpoint: None, options: StoreOptions::default() }
    };
    // The folder of a making that was cut off is taken again: nothing of a vault is in it yet.
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

/// The URL of a folder. Only what would end a path or begin an escape needs an escape.
fn url_of(folder: &Path) -> String {
    let path = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let path = path.display().to_string().replace('%', "%25").replace('?', "%3F").replace('#', "%23");
    format!("file://{path}")
}

/// The source of the successor's key.
fn successor_key(settings: &Settings, flags: &SuccessorFlags) -> KeySettings {
    match (&flags.new_key_file, &flags.new_key_env, flags.new_passphrase) {
        (Some(file), _, _) => KeySettings::File(file.clone()),
        (_, Some(variable), _) => KeySettings::Env(variable.clone()),
        (_, _, true) => KeySettings::Passphrase(NEW_PASSPHRASE.into()),
        _ => settings.key.clone(),
    }
}

/// Copies what is left to copy, and has the successor take over.
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
    // A passphrase is asked for before Ctrl-C is taken over.
    let mut interrupts = interrupts()?;
    let (old, old_meter) = interrupts.interruptible(old.open()).await?;
    let (new, new_meter) = interrupts.interruptible(new.open()).await.context(SUCCESSOR)?;
    let copied = match stage(old.header(), &new.load_rows().await?)? {
        Stage::CutOver => None,
        Stage::Copied | Stage::Copying(_) => Some(copy(&old, &new, &mut interrupts).await),
    };
    match copied {
        Some(Err(error)) => return Err(error),
        Some(Ok(copied)) if !copied.is_all() => {
            tokio::join!(old.close(), new.close()).1.context(SUCCESSOR)?;
            let Copied { blocks, of } = copied;
            print_line!("Stopped with {blocks} of {of} blocks copied: `ameles migrate` goes on from there.");
            return Err(Interrupted.into());
        }
        _ => {}
    }
    let rows = old.load_rows().await?;
    old.close().await?;
    let header = old.header().clone();
    take_over(settings, &header, rows, &new).await?;
    let receipt = new.close().await.context(SUCCESSOR)?;
    print_line!("Asked of the old store: {}.", requests_line(&old_meter.usage()));
    print_line!("Asked of the new one:   {}.\n", requests_line(&new_meter.usage()));
    let replaced = switch::finish(&settings.data)?.map(|predecessor| ReplacedVault {
        predecessor,
        store: old_home.store_name(),
        line: record.serve_line(settings),
    });
    let summary = summary(&parameters, new_home.store_name(), false, None, None, &settings.serve);
    Report::now(&summary, &new.status(), &new_meter.usage(), &Usage::default(), None)
        .write_or_warn(&settings.data);
    if let Some(replaced) = replaced {
        print_line!("{}", replaced.render());
    }
    print_line!("Receipt of its last checkpoint:\n{receipt}");
    Ok(Exit::Success)
}

/// Copies until the successor has all blocks, or Ctrl-C comes.
async fn copy(old: &Vault, new: &Vault, interrupts: &mut Interrupts) -> Result<Copied> {
    let (_, mut copier) = Succession::over(old.clone(), new.clone()).await?;
    let Copied { blocks, of } = copier.copied();
    if blocks > 0 {
        print_line!("Going on after {blocks} of {of} blocks.");
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
    /// Refuses what says nothing to `--cancel`.
    fn refuse_shape(&self) -> Result<(), SettingsError> {
        if self.shape == VaultConfig::default() {
            return Ok(());
        }
        Err(SettingsError::Successor("--cancel takes no flags of a vault".into()))
    }
}

/// Gives a successor up whose making was cut off before there was a vault, or a note of it.
fn cancel_preparation(settings: &Settings, task: &MigrateTask) -> Result<Exit> {
    let successor = settings.data.successor().trusted();
    let (unfinished, cancelled_before) =
        (MigrationRecord::load_unfinished(&settings.data)?, MigrationRecord::load_cancelled(&settings.data)?);
    if unfinished.is_none() && cancelled_before.is_none() && !successor.join(DATABASE).exists() {
        let why = "there is no successor to give up: none was made, or it has taken over";
        return Err(SettingsError::Successor(why.into()).into());
    }
    task.refuse_shape()?;
    // No other process may be at it.
    let lock = Home::new(settings).disk()?;
    if let Some(record) = &unfinished {
        record.save_cancelled(&settings.data)?;
    }
    remove_folder(&successor)?;
    drop(lock);
    match (unfinished, cancelled_before) {
        (Some(record), _) => print_line!(
            "The successor was not made yet, and is given up. The vault is as it was, and nothing was put into {}.",
            Home::new(&record.to.apply_to(settings)).store_name()
        ),
        // The last run may have been cut off before it had said so.
        (None, Some(record)) => print_cancelled(settings, &record),
        (None, None) => print_line!(
            "What was begun of a successor is given up, and the vault is as it was. Where its store was to be, \
             nothing needs the object `vault` any more."
        ),
    }
    Ok(Exit::Success)
}

/// Gives the successor up.
fn cancel(settings: &Settings, task: &MigrateTask, record: &MigrationRecord) -> Result<Exit> {
    task.refuse_shape()?;
    let (old, new) = record.settings_of_both(settings);
    // Neither may be in service meanwhile.
    let (lock, successor_lock) = (Home::new(&old).disk()?, Home::new(&new).disk());
    record.save_cancelled(&settings.data)?;
    drop((lock, successor_lock));
    remove_folder(&new.data.trusted())?;
    print_cancelled(settings, record);
    Ok(Exit::Success)
}

fn print_cancelled(settings: &Settings, record: &MigrationRecord) {
    print_line!(
        "The successor is given up, and the vault is as it was. Nothing of it needs what is below {} any more, and it may be \
         emptied.",
        Home::new(&record.to.apply_to(settings)).store_name()
    );
}
