//! `ameles restore`

use crate::commands::vault_flags::VaultFlags;
use crate::config::{Config, Settings};
use crate::report::status_file::Report;
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
    CheckpointFigures, Receipt, Restore, Status, TrustedDisk, VaultError, VaultHeader, VaultParameters,
    raw_header_of_store, restore, restored,
};
use anyhow::{Context, Result};
use clap::Args;
use std::path::Path;

#[derive(Args)]
#[command(
    after_help = "Writes since the last shipped checkpoint are lost, unless the vault has its journal in the store. The whole \
vault is fetched once into a folder next to the trusted one, and rewritten with new random positions.

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
    #[command(flatten)]
    vault: VaultFlags,
}

pub(super) struct RestoreOptions {
    expect: Option<Receipt>,
    takeover: bool,
}

impl Arguments {
    pub(super) fn options(&self) -> Result<RestoreOptions> {
        let expect = self.expect.as_deref().map(str::parse).transpose().context("--expect")?;
        Ok(RestoreOptions { expect, takeover: self.takeover })
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
    let header = VaultHeader::decode(&raw, &master)?;
    let folder = settings.data.restoring();
    if let Some(receipt) = already_restored(&home, &folder, (header.vault, &master))? {
        print_restored(&settings, &header.parameters, &receipt, None);
        remove_folder(&folder)?;
        return Ok(Exit::Success);
    }
    let parameters = header.parameters;
    let layout = parameters.layout();
    let mut created = CreatedFiles::new();
    let restoring = async {
        let disk = home.new_disk(&mut created)?;
        remove_folder(&folder)?;
        let options = OpenOptions { create: true, ..OpenOptions::default() };
        let buckets = folder.join("buckets").display().to_string();
        let copy =
            Objects::open(&buckets, &options).await.map_err(local_copy_error)?.with_layout(layout.clone());
        let scratch = TrustedDisk::open(&folder.join("stash.redb"))?;
        let (store, meter, _) = home.instrumented(&objects, layout);
        let bar = progress::steps("", 0);
        let stage_bar = bar.clone();
        let progress = move |stage: &'static str, done, all| {
            stage_bar.set_message(stage);
            stage_bar.set_length(all);
            stage_bar.set_position(done);
        };
        let RestoreOptions { expect, takeover } = request;
        let options = Restore { copy, scratch, expect, takeover, progress: Box::new(progress) };
        let restored_vault = restore(home.setup(disk, store, master)?, options).await;
        bar.finish_and_clear();
        anyhow::Ok((restored_vault?, meter.usage()))
    };
    let (receipt, usage) = match restoring.await {
        Ok(restored) => restored,
        Err(error) => {
            remove_folder(&folder)?;
            // A restore that failed before it created a vault leaves no files behind.
            if !home.has_vault().unwrap_or(true) {
                created.remove_all();
            }
            return Err(match error.downcast_ref() {
                Some(VaultError::LocalCopy(_)) => error.context(folder.display().to_string()),
                _ => error,
            });
        }
    };
    print_restored(&settings, &parameters, &receipt, Some(&usage));
    // While the folder exists, a repeated restore prints the same result.
    remove_folder(&folder)?;
    Ok(Exit::Success)
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
    usage: Option<&Usage>,
) {
    let home = Home::new(settings);
    print_line!(
        "The vault is restored. To serve it:\n\n  {}\n\nReceipt of its new state:",
        home.serve_line()
    );
    print_line!("{receipt}");
    if usage.is_none() && Report::load_or_warn(&settings.data).is_some() {
        return;
    }
    let summary = summary(parameters, home.store_name(), false, None, None, &settings.serve);
    let batch = u64::from(parameters.scheme.max_batch());
    let blocks = parameters.scheme.capacity();
    let status = Status {
        epoch: receipt.epoch,
        // The restore wrote every block once.
        accesses: if parameters.pad_batches { blocks.next_multiple_of(batch) } else { blocks },
        checkpoints: CheckpointFigures { receipt: Some(receipt.to_string()), ..CheckpointFigures::default() },
        ..Status::default()
    };
    let none = Usage::default();
    Report::now(&summary, &status, usage.unwrap_or(&none), &none, None).write_or_warn(&settings.data);
}
