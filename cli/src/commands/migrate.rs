//! `ameles migrate`

use super::vault_flags::ShapeFlags;
use crate::config::folders::DATABASE;
use crate::config::size::Size;
use crate::config::{Config, KeySettings, Settings, SettingsError, StoreOptions, StoreSettings, VaultConfig};
use crate::migration::flags::{SuccessorFlags, named_as_successor};
use crate::migration::record::{MigrationRecord, VaultLocation, refuse_same_store};
use crate::migration::repeated_flags::{refuse_other_place, refuse_other_shape};
use crate::migration::shape::successor_parameters;
use crate::migration::switch;
use crate::report::status_file::{Report, asked};
use crate::runtime::exit::Exit;
use crate::runtime::interrupt::{Interrupted, Interrupts};
use crate::runtime::output::say;
use crate::runtime::progress;
use crate::runtime::remove_folder::remove_folder;
use crate::vault::created_files::CreatedFiles;
use crate::vault::home::{Home, Opening};
use crate::vault::open_vault::{OF_SUCCESSOR, ReplacedVault, take_over};
use crate::vault::parameters::summary;
use ameles_store::Usage;
use ameles_vault::{
    CopyProgress, ExistsIn, MigrationStage, MirroredVaults, Vault, VaultError, VaultParameters,
    migration_stage, raw_header, read_header,
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
    shaped: ShapeFlags,
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
    pub(super) fn over(self, config: Config) -> (Config, MigrateTask) {
        let Arguments { prepare, cancel, successor, shaped } = self;
        let ShapeFlags { vault, found } = shaped;
        (found.over(config), MigrateTask { prepare, cancel, successor, shape: vault })
    }
}

impl MigrateTask {
    /// Tells whether nothing is said of what the successor is to be.
    fn is_silent(&self) -> bool {
        self.successor.is_empty() && self.shape == VaultConfig::default()
    }
}

pub(super) async fn run(settings: Settings, wanted: MigrateTask) -> Result<Exit> {
    if let Some(predecessor) = switch::finish(&settings.data)? {
        say!("The successor had everything, and has taken over: {} is left.", predecessor.display());
        return Ok(Exit::Success);
    }
    let note = MigrationRecord::of_successor(&settings)?;
    match note {
        None if wanted.cancel => cancel_making(&settings, &wanted),
        Some(note) if wanted.cancel => cancel(&settings, &wanted, &note),
        Some(note) => {
            let key = successor_key(&settings, &wanted.successor);
            refuse_other_place(&settings, (&wanted.successor, &key), &note)?;
            if wanted.prepare {
                find_both(&settings, &note, &wanted.shape).await?;
                say!("The successor is made already. {HOW_TO_FILL}");
                return Ok(Exit::Success);
            }
            fill(&settings, &note, &wanted.shape, Interrupts::listen).await
        }
        None => {
            let (note, interrupts) = prepare(&settings, &wanted).await?;
            if wanted.prepare {
                say!("{HOW_TO_FILL}");
                return Ok(Exit::Success);
            }
            fill(&settings, &note, &wanted.shape, || Ok(interrupts)).await
        }
    }
}

/// Finds the vault and its successor, which must have the shape that is asked for.
async fn find_both(
    settings: &Settings,
    note: &MigrationRecord,
    shape: &VaultConfig,
) -> Result<(Opening, Opening)> {
    let (old_settings, new_settings) = note.both(settings);
    let old = Home::new(&old_settings).find(&VaultConfig::default()).await?;
    let new = Home::new(&new_settings).find(&VaultConfig::default()).await.context(OF_SUCCESSOR)?;
    refuse_other_shape(settings, shape, (&old.header.parameters, &new.header.parameters))?;
    Ok((old, new))
}

/// Makes the successor, empty.
async fn prepare(settings: &Settings, wanted: &MigrateTask) -> Result<(MigrationRecord, Interrupts)> {
    let old = Home::new(settings);
    let (disk, master) = old.disk_and_key()?;
    let header = read_header(&disk, &master)?;
    let begun = MigrationRecord::being_made(&settings.data)?;
    if wanted.is_silent() {
        return Err(silence(begun.as_ref()).into());
    }
    let (parameters, shaped) = successor_parameters(&wanted.shape, settings, &header.parameters)?;
    let (store, folder) = successor_store(settings, &wanted.successor, begun.as_ref())?;
    let key = successor_key(settings, &wanted.successor);
    let new = Settings { store, key, data: settings.data.of_successor(), ..shaped };
    let new = named_as_successor(new, wanted.successor.has_key());
    refuse_same_store(settings, &new, "--to")?;
    let home = Home::new(&new);
    if wanted.successor.has_key() && home.would_share_key_with(&raw_header(&disk)?)? {
        let why =
            "the new key is the vault's own: name another file or variable, or leave it out to keep the key";
        return Err(SettingsError::Successor(why.into()).into());
    }
    let given_up = MigrationRecord::given_up(&settings.data)?.filter(|_| begun.is_none());
    if given_up.is_some() {
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
    let note = MigrationRecord { from, to };
    let mut made = CreatedFiles::new();
    note.begin(&settings.data, &mut made)?;
    if let Some(folder) = &folder {
        made.will_fill_folder(folder);
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    let (opening, interrupts) = match home.make_of(parameters).await {
        Ok(made) => made,
        Err(error) => return Err(not_made(error, settings, &new, (&note, given_up.as_ref()), made)?),
    };
    let parameters = &opening.header.parameters;
    say!(
        "A successor\n{}",
        summary(parameters, home.store_name(), true, None, None, &settings.serve).render()
    );
    say!(
        "To fill it: {} of the store of now, and {} of its own.",
        to_copy(&header.parameters, &header.parameters),
        to_copy(parameters, &header.parameters)
    );
    if let KeySettings::File(file) = &new.key
        && wanted.successor.has_key()
    {
        say!("Keep its key, {}: without it, nothing can be read once it has taken over.", file.display());
    }
    note.leave(&settings.data)?;
    Ok((note, interrupts))
}

/// Takes back what was begun of a successor that could not be made, and what is known of one that was `given_up` before stays
/// known. Returns the error, and what follows from it.
fn not_made(
    error: anyhow::Error,
    settings: &Settings,
    new: &Settings,
    (note, given_up): (&MigrationRecord, Option<&MigrationRecord>),
    made: CreatedFiles,
) -> Result<anyhow::Error> {
    let home = Home::new(new);
    if home.has_vault().unwrap_or(false) {
        // The store may have its header: the next one goes on from here.
        note.leave(&settings.data)?;
        return Ok(error.context("the successor is made on this machine, and `ameles migrate` goes on"));
    }
    match given_up {
        Some(before) => before.give_up(&settings.data)?,
        None => MigrationRecord::forget(&settings.data)?,
    }
    made.take_back();
    let is_there = matches!(error.downcast_ref(), Some(VaultError::AlreadyExists(ExistsIn::Store)));
    if given_up.is_some_and(|before| is_there && before.is_for_new(new)) {
        let why = format!(
            "{} holds what the successor that was given up has left there: empty it, or name another place with --to",
            home.store_name()
        );
        return Ok(SettingsError::Successor(why).into());
    }
    Ok(error.context(OF_SUCCESSOR))
}

/// The refusal to make a successor of which nothing is said.
fn silence(begun: Option<&MigrationRecord>) -> SettingsError {
    let why = match begun {
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
fn to_copy(parameters: &VaultParameters, old: &VaultParameters) -> String {
    let accesses = old.scheme.capacity() as f64;
    let usage = parameters.usage_of(accesses / f64::from(parameters.scheme.max_batch()));
    format!("about {} requests and {}", usage.requests(), Size(usage.bytes_up + usage.bytes_down))
}

/// The place of the successor's store, and the folder that must be made for it first.
fn successor_store(
    settings: &Settings,
    asked: &SuccessorFlags,
    begun: Option<&MigrationRecord>,
) -> Result<(StoreSettings, Option<PathBuf>), SettingsError> {
    if let Some(url) = &asked.to {
        if !url.contains("://") {
            return Err(SettingsError::Store { name: "--to".into(), url: url.clone() });
        }
        let options = StoreOptions(asked.to_option.iter().cloned().collect());
        return Ok((
            StoreSettings { url: Some(url.clone()), endpoint: asked.to_endpoint.clone(), options },
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
    let at = |folder: &Path| {
        let url = Some(url_of(folder));
        StoreSettings { url, endpoint: None, options: StoreOptions::default() }
    };
    // The folder of a making that was cut off is taken again: nothing of a vault is in it yet.
    let is_free = |folder: &Path| {
        let is_its_own =
            |note: &MigrationRecord| note.to.is_named_by(&Settings { store: at(folder), ..settings.clone() });
        !folder.exists() || begun.is_some_and(is_its_own)
    };
    let mut numbers = 2..;
    let beside = numbers.find_map(|number: u32| {
        let folder = settings.data.root().join(format!("untrusted-{number}"));
        is_free(&folder).then_some(folder)
    });
    let folder = beside.unwrap_or_else(|| settings.data.root().join("untrusted-2"));
    Ok((at(&folder), Some(folder)))
}

/// The URL of a folder. Only what would end a path or begin an escape needs an escape.
fn url_of(folder: &Path) -> String {
    let path = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let path = path.display().to_string().replace('%', "%25").replace('?', "%3F").replace('#', "%23");
    format!("file://{path}")
}

/// The source of the successor's key.
fn successor_key(settings: &Settings, asked: &SuccessorFlags) -> KeySettings {
    match (&asked.new_key_file, &asked.new_key_env, asked.new_passphrase) {
        (Some(file), _, _) => KeySettings::File(file.clone()),
        (_, Some(variable), _) => KeySettings::Env(variable.clone()),
        (_, _, true) => KeySettings::Passphrase(NEW_PASSPHRASE.into()),
        _ => settings.key.clone(),
    }
}

/// Copies what is left to copy, and has the successor take over.
async fn fill(
    settings: &Settings,
    note: &MigrationRecord,
    shape: &VaultConfig,
    interrupts: impl FnOnce() -> Result<Interrupts>,
) -> Result<Exit> {
    let (old_settings, new_settings) = note.both(settings);
    let (old_home, new_home) = (Home::new(&old_settings), Home::new(&new_settings));
    let (old, new) = find_both(settings, note, shape).await?;
    let parameters = new.header.parameters.clone();
    // A passphrase is asked for before Ctrl-C is taken over.
    let mut interrupts = interrupts()?;
    let (old, old_meter) = interrupts.cut_off(old.open()).await?;
    let (new, new_meter) = interrupts.cut_off(new.open()).await.context(OF_SUCCESSOR)?;
    let copied = match migration_stage(old.header(), &new.load_rows().await?)? {
        MigrationStage::CutOver => None,
        MigrationStage::Copied | MigrationStage::Copying(_) => Some(copy(&old, &new, &mut interrupts).await),
    };
    match copied {
        Some(Err(error)) => return Err(error),
        Some(Ok(copied)) if !copied.is_all() => {
            tokio::join!(old.close(), new.close()).1.context(OF_SUCCESSOR)?;
            let CopyProgress { blocks, of } = copied;
            say!("Stopped with {blocks} of {of} blocks copied: `ameles migrate` goes on from there.");
            return Err(Interrupted.into());
        }
        _ => {}
    }
    let rows = old.load_rows().await?;
    old.close().await?;
    let header = old.header().clone();
    take_over(settings, &header, rows, &new).await?;
    let receipt = new.close().await.context(OF_SUCCESSOR)?;
    say!("Asked of the old store: {}.", asked(&old_meter.usage()));
    say!("Asked of the new one:   {}.\n", asked(&new_meter.usage()));
    let left = switch::finish(&settings.data)?.map(|predecessor| ReplacedVault {
        predecessor,
        store: old_home.store_name(),
        line: note.serve_line(settings),
    });
    let summary = summary(&parameters, new_home.store_name(), false, None, None, &settings.serve);
    Report::now(&summary, &new.status(), &new_meter.usage(), &Usage::default(), None)
        .leave_or_warn(&settings.data);
    if let Some(left) = left {
        say!("{}", left.render());
    }
    say!("Receipt of its last checkpoint:\n{receipt}");
    Ok(Exit::Success)
}

/// Copies until the successor has all blocks, or Ctrl-C comes.
async fn copy(old: &Vault, new: &Vault, interrupts: &mut Interrupts) -> Result<CopyProgress> {
    let (_, mut copier) = MirroredVaults::new(old.clone(), new.clone()).await?;
    let CopyProgress { blocks, of } = copier.copied();
    if blocks > 0 {
        say!("Going on after {blocks} of {of} blocks.");
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
fn cancel_making(settings: &Settings, wanted: &MigrateTask) -> Result<Exit> {
    let successor = settings.data.of_successor().trusted();
    let (begun, before) =
        (MigrationRecord::being_made(&settings.data)?, MigrationRecord::given_up(&settings.data)?);
    if begun.is_none() && before.is_none() && !successor.join(DATABASE).exists() {
        let why = "there is no successor to give up: none was made, or it has taken over";
        return Err(SettingsError::Successor(why.into()).into());
    }
    wanted.refuse_shape()?;
    // No other process may be at it.
    let held = Home::new(settings).disk()?;
    if let Some(note) = &begun {
        note.give_up(&settings.data)?;
    }
    remove_folder(&successor)?;
    drop(held);
    match (begun, before) {
        (Some(note), _) => say!(
            "The successor was not made yet, and is given up. The vault is as it was, and nothing was put into {}.",
            Home::new(&note.to.over(settings)).store_name()
        ),
        // The last run may have been cut off before it had said so.
        (None, Some(note)) => tell_given_up(settings, &note),
        (None, None) => say!(
            "What was begun of a successor is given up, and the vault is as it was. Where its store was to be, \
             nothing needs the object `vault` any more."
        ),
    }
    Ok(Exit::Success)
}

/// Gives the successor up.
fn cancel(settings: &Settings, wanted: &MigrateTask, note: &MigrationRecord) -> Result<Exit> {
    wanted.refuse_shape()?;
    let (old, new) = note.both(settings);
    // Neither may be in service meanwhile.
    let (held, held_too) = (Home::new(&old).disk()?, Home::new(&new).disk());
    note.give_up(&settings.data)?;
    drop((held, held_too));
    remove_folder(&new.data.trusted())?;
    tell_given_up(settings, note);
    Ok(Exit::Success)
}

fn tell_given_up(settings: &Settings, note: &MigrationRecord) {
    say!(
        "The successor is given up, and the vault is as it was. Nothing of it needs what is below {} any more, and it may be \
         emptied.",
        Home::new(&note.to.over(settings)).store_name()
    );
}
