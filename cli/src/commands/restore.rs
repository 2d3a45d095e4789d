//! `ameles restore`

use crate::commands::vault_flags::VaultFlags;
use crate::config::size::Size;
use crate::config::{Config, Settings};
use crate::report::count::count;
use crate::report::status_file::{Continued, Report};
use crate::runtime::exit::Exit;
use crate::runtime::output::{print_error, print_line};
use crate::runtime::progress;
use crate::runtime::remove_folder::remove_folder;
use crate::vault::created_files::CreatedFiles;
use crate::vault::home::Home;
use crate::vault::parameters::summary;
use ameles_seal::master_key::MasterKey;
use ameles_seal::versions::VaultId;
use ameles_store::{Objects, OpenError, OpenOptions, Usage};
use ameles_vault::{
    CheckpointFigures, ExistsIn, Receipt, Restore, RestorePlan, Status, TrustedDisk, VaultError, VaultHeader,
    VaultParameters, WAITING, is_unfinished, raw_header_of_store, restore, restored,
};
use anyhow::{Context, Result};
use clap::Args;
use indicatif::ProgressBar;
use std::cell::Cell;
use std::fmt;
use std::io::IsTerminal;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

#[derive(Args)]
#[command(
    after_help = "Writes since the last shipped checkpoint are lost, unless the vault has its journal in the store. The buckets \
that exist are fetched once into a folder next to the trusted one, and rewritten with new random positions. What will be \
moved is printed first. A restore that was interrupted and is run again fetches only what that folder lacks. With \
`--journal store-first` no bucket is moved: the next opening repeats what the lost machine has announced.

Examples:
  ameles restore --store s3://my-bucket/ameles --key-file master.key --takeover
  ameles restore --store s3://my-bucket/ameles --takeover --expect \"$(cat receipt.txt)\""
)]
pub(super) struct Arguments {
    /// The receipt of a state: the restored state must be this one or a later one
    #[arg(long, value_name = "RECEIPT")]
    expect: Option<String>,
    /// Displace the gateway that has the vault open: it can never write again
    #[arg(long)]
    takeover: bool,
    /// Draw all positions again although the vault has its journal in the store first: then a provider that hides the end
    /// of the journal cannot see a path read twice
    #[arg(long)]
    redraw: bool,
    #[command(flatten)]
    vault: VaultFlags,
}

pub(super) struct RestoreOptions {
    expect: Option<Receipt>,
    takeover: bool,
    redraw: bool,
}

impl Arguments {
    pub(super) fn options(&self) -> Result<RestoreOptions> {
        let expect = self.expect.as_deref().map(str::parse).transpose().context("--expect")?;
        Ok(RestoreOptions { expect, takeover: self.takeover, redraw: self.redraw })
    }

    pub(super) fn apply_to(self, config: Config) -> Config {
        self.vault.apply_to(config)
    }
}

pub(super) async fn run(settings: Settings, request: RestoreOptions) -> Result<Exit> {
    let home = Home::new(&settings);
    if request.expect.is_none() {
        print_error!(
            "warning: without --expect RECEIPT, a restore cannot detect that the store was rolled back to an older state"
        );
    }
    let objects = home.existing_objects().await?;
    let raw = raw_header_of_store(&objects).await?;
    let master = home.key(&raw)?;
    let header = VaultHeader::decode(&raw, &master).map_err(|error| home.name_wrong_key(error))?;
    let folder = settings.data.restoring();
    if let Some(receipt) = already_restored(&home, &folder, (header.vault, &master))? {
        print_restored(&settings, &header.parameters, &receipt, None);
        remove_folder(&folder)?;
        return Ok(Exit::Success);
    }
    let parameters = header.parameters;
    let layout = parameters.layout();
    let mut created = CreatedFiles::new();
    let is_begun = Cell::new(false);
    let restoring = async {
        let disk = home.new_disk(&mut created)?;
        is_begun.set(is_unfinished(&disk)?);
        remove_stash(&folder)?;
        let options = OpenOptions { create: true, ..OpenOptions::default() };
        let buckets = folder.join("buckets").display().to_string();
        let copy =
            Objects::open(&buckets, &options).await.map_err(local_copy_error)?.with_layout(layout.clone());
        let scratch = TrustedDisk::open(&folder.join("stash.redb"))?;
        let (store, meter, _) = home.instrumented(&objects, &parameters).await?;
        let bar = progress::bytes("", 0);
        let stage_bar = bar.clone();
        let progress = Box::new(move |stage: &'static str, done, all| show(&stage_bar, stage, done, all));
        let (plan_bar, planned) = (bar.clone(), Rc::new(Cell::new(RestorePlan::default())));
        let last = planned.clone();
        let announce =
            Box::new(move |plan: &RestorePlan| plan_bar.suspend(|| announce(plan, &last.replace(*plan))));
        let RestoreOptions { expect, takeover, redraw } = request;
        let options = Restore { copy, scratch, expect, takeover, redraw, announce, progress };
        let restored_vault = restore(home.setup(disk.clone(), store, master)?, options).await;
        bar.finish_and_clear();
        is_begun.set(is_unfinished(&disk).unwrap_or(true));
        anyhow::Ok((restored_vault?, (meter.usage(), planned.get().accesses_after)))
    };
    let (receipt, figures) = match restoring.await {
        Ok(restored) => restored,
        Err(error) => {
            // The next restore continues with the buckets that this one has fetched, once it has displaced the gateway.
            // A restore that failed before leaves no files behind.
            if !is_begun.get() {
                remove_folder(&folder)?;
                if !home.has_vault().unwrap_or(true) {
                    created.remove_all();
                }
            }
            return Err(with_folder(error, &settings, &folder));
        }
    };
    print_restored(&settings, &parameters, &receipt, Some(&figures));
    // While the folder exists, a repeated restore prints the same result.
    remove_folder(&folder)?;
    Ok(Exit::Success)
}

/// Adds the folder to an error that is about one of this machine's folders.
fn with_folder(error: anyhow::Error, settings: &Settings, copy: &Path) -> anyhow::Error {
    match error.downcast_ref() {
        Some(VaultError::LocalCopy(_)) => error.context(copy.display().to_string()),
        Some(VaultError::AlreadyExists(ExistsIn::TrustedFolder)) => {
            error.context(settings.data.trusted().display().to_string())
        }
        _ => error,
    }
}

/// The sentence about what a restore will move.
fn announcement(plan: &RestorePlan) -> String {
    let RestorePlan { buckets_read, bytes_read, buckets_written, accesses, bytes_written, may_grow, .. } =
        *plan;
    let rest = if may_grow { ", and more if the journal in the store has more" } else { "" };
    if plan.repeats {
        let accesses = count(plan.accesses_after, "access");
        return format!("The restore moves no bucket: the vault continues after {accesses}{rest}.");
    }
    let written = match accesses {
        0 => format!("it writes {}, {}", count(buckets_written, "bucket"), Size(bytes_written)),
        1 => format!("1 access writes {}", Size(bytes_written)),
        _ => format!("{accesses} accesses write {}", Size(bytes_written)),
    };
    let time = plan.estimate().map_or(String::new(), |time| {
        format!("; about {} at the speed at which the checkpoint came", Seconds(time))
    });
    let read = count(buckets_read, "bucket");
    format!("The restore fetches {} of {read}, and {written}{rest}{time}.", Size(bytes_read))
}

/// Prints what a restore will move, and how long it will wait, unless that was printed with the plan before.
fn announce(plan: &RestorePlan, before: &RestorePlan) {
    if announcement(plan) != announcement(before) {
        print_error!("{}", announcement(plan));
    }
    if before.wait.is_zero() && !plan.wait.is_zero() {
        print_error!("{}", waiting(plan.wait));
    }
}

/// The sentence about the time for which a displaced gateway may answer.
fn waiting(wait: Duration) -> String {
    format!("The old gateway may still answer for {0}: the restore takes at least {0}.", Seconds(wait))
}

/// Shows a stage: on a terminal as a bar, and without one only the wait, by a line at its start.
fn show(bar: &ProgressBar, stage: &'static str, done: u64, all: u64) {
    if stage != WAITING {
        return progress::update(bar, stage, done, all);
    }
    progress::update_wait(bar, stage, done, all);
    if done == 0 && !std::io::stderr().is_terminal() {
        print_error!("{stage}: {all} s left");
    }
}

/// A rough time.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs_f64().ceil() as u64 {
            seconds @ 0..=119 => write!(f, "{seconds} s"),
            seconds @ 120..=7199 => write!(f, "{} min", seconds.div_ceil(60)),
            seconds => write!(f, "{} h", seconds.div_ceil(3600)),
        }
    }
}

/// Removes the stash of an interrupted restore. The buckets that it has fetched stay.
fn remove_stash(folder: &Path) -> Result<()> {
    let Ok(files) = std::fs::read_dir(folder) else { return Ok(()) };
    for file in files {
        let file = file?.path();
        if file.is_file() {
            std::fs::remove_file(&file).with_context(|| format!("removing {}", file.display()))?;
        }
    }
    Ok(())
}

/// Returns the error of the local copy, which is not an error of the store.
fn local_copy_error(error: OpenError) -> VaultError {
    VaultError::LocalCopy(error.to_string().into())
}

/// Returns the receipt of a vault whose restore was complete before the last command was interrupted.
fn already_restored(
    home: &Home<'_>,
    folder: &Path,
    (vault, master): (VaultId, &MasterKey),
) -> Result<Option<Receipt>> {
    if !folder.exists() || !home.database().exists() {
        return Ok(None);
    }
    match restored(&home.disk()?, master) {
        Ok(receipt) => Ok(receipt.filter(|receipt| receipt.vault == vault)),
        // The folder holds another vault: the restore reports that.
        Err(VaultError::WrongKey) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Prints that the vault is restored, and writes its figures, unless it has figures from its time in service.
fn print_restored(
    settings: &Settings,
    parameters: &VaultParameters,
    receipt: &Receipt,
    figures: Option<&(Usage, u64)>,
) {
    let home = Home::new(settings);
    print_line!(
        "The vault is restored. To serve it:\n\n  {}\n\nReceipt of its new state:",
        home.serve_line()
    );
    print_line!("{receipt}");
    if figures.is_none() && Report::load_or_warn(&settings.data).is_some() {
        return;
    }
    let summary = summary(parameters, home.store_name(), false, None, None, &settings.serve);
    let none = (Usage::default(), 0);
    let (usage, accesses) = figures.unwrap_or(&none);
    let status = Status {
        epoch: receipt.epoch,
        accesses: *accesses,
        checkpoints: CheckpointFigures { receipt: Some(receipt.to_string()), ..CheckpointFigures::default() },
        ..Status::default()
    };
    Report::now(&summary, &status, usage, &Continued::default(), None).write_or_warn(&settings.data);
}
