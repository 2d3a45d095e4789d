//! `ameles restore`

use crate::config::{Config, KeyConfig, Settings, StoreConfig};
use crate::report::status_file::Report;
use crate::runtime::exit::Exit;
use crate::runtime::output::{complain, say};
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
    after_help = "Writes since the last shipped checkpoint are gone, unless the vault has its journal in the store. The whole vault is fetched once into a \
folder beside the trusted one, and written anew, every position drawn again.

Examples:
  ameles restore --store s3://my-bucket/ameles --key-file master.key --takeover
  ameles restore --store s3://my-bucket/ameles --takeover --expect \"$(cat receipt.txt)\""
)]
pub(super) struct Arguments {
    /// The receipt of a state: what is restored must be that state or one after it
    #[arg(long, value_name = "RECEIPT")]
    expect: Option<String>,
    /// Displace the gateway that had the vault open: it can never write again
    #[arg(long)]
    takeover: bool,
    #[command(flatten)]
    store: StoreConfig,
    #[command(flatten)]
    key: KeyConfig,
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

    pub(super) fn over(self, config: Config) -> Config {
        config.overlaid(Config { store: self.store, key: self.key, ..Config::default() })
    }
}

pub(super) async fn run(settings: Settings, wanted: RestoreOptions) -> Result<Exit> {
    let home = Home::new(&settings);
    if wanted.expect.is_none() {
        complain!(
            "warning: without --expect RECEIPT, an older consistent state of the store cannot be told from the newest"
        );
    }
    let objects = home.objects_of_a_vault().await?;
    let raw = raw_header_of_store(&objects).await?;
    let master = home.key(&raw)?;
    let header = VaultHeader::decode(&raw, &master)?;
    let folder = settings.data.restoring();
    if let Some(receipt) = complete_before(&home, &folder, (header.vault, &master))? {
        tell(&settings, &header.parameters, &receipt, None);
        remove_folder(&folder)?;
        return Ok(Exit::Success);
    }
    let parameters = header.parameters;
    let layout = parameters.layout();
    let mut made = CreatedFiles::new();
    let restoring = async {
        let disk = home.new_disk(&mut made)?;
        remove_folder(&folder)?;
        let options = OpenOptions { create: true, ..OpenOptions::default() };
        let buckets = folder.join("buckets").display().to_string();
        let copy = Objects::open(&buckets, &options).await.map_err(not_a_store)?.with_layout(layout.clone());
        let scratch = TrustedDisk::open(&folder.join("stash.redb"))?;
        let (store, meter, _) = home.wrapped(&objects, layout);
        let bar = progress::steps("", 0);
        let shown = bar.clone();
        let progress = move |stage: &'static str, done, all| {
            shown.set_message(stage);
            shown.set_length(all);
            shown.set_position(done);
        };
        let RestoreOptions { expect, takeover } = wanted;
        let options = Restore { copy, scratch, expect, takeover, progress: Box::new(progress) };
        let brought = restore(home.setup(disk, store, master)?, options).await;
        bar.finish_and_clear();
        anyhow::Ok((brought?, meter.usage()))
    };
    let (receipt, usage) = match restoring.await {
        Ok(restored) => restored,
        Err(error) => {
            remove_folder(&folder)?;
            // A restore that was refused, or failed before there was anything to keep, leaves nothing behind.
            if !home.has_vault().unwrap_or(true) {
                made.take_back();
            }
            return Err(match error.downcast_ref() {
                Some(VaultError::LocalCopy(_)) => error.context(folder.display().to_string()),
                _ => error,
            });
        }
    };
    tell(&settings, &parameters, &receipt, Some(&usage));
    // As long as it is there, a restore that is repeated tells the same.
    remove_folder(&folder)?;
    Ok(Exit::Success)
}

/// The copy on this machine could not be made: nothing that the store did.
fn not_a_store(error: OpenError) -> VaultError {
    VaultError::LocalCopy(error.to_string().into())
}

/// The receipt of a vault that was restored here completely by a command that was cut off before it had said so.
fn complete_before(
    home: &Home<'_>,
    folder: &Path,
    (vault, master): (VaultId, &MasterKey),
) -> Result<Option<Receipt>> {
    if !folder.exists() || !home.database().exists() {
        return Ok(None);
    }
    match restored(&home.disk()?, master) {
        Ok(receipt) => Ok(receipt.filter(|receipt| receipt.vault == vault)),
        // There is another vault, and the restore says so.
        Err(VaultError::WrongKey) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Says that the vault is restored, and leaves its figures; those that it has left in service stay.
fn tell(settings: &Settings, parameters: &VaultParameters, receipt: &Receipt, usage: Option<&Usage>) {
    let home = Home::new(settings);
    say!("The vault is restored. To serve it:\n\n  {}\n\nReceipt of its new state:", home.serve_line());
    say!("{receipt}");
    if usage.is_none() && Report::earlier(&settings.data).is_some() {
        return;
    }
    let summary = summary(parameters, home.store_name(), false, None, None, &settings.serve);
    let batch = u64::from(parameters.scheme.max_batch());
    let written = parameters.scheme.capacity();
    let status = Status {
        epoch: receipt.epoch,
        // Every block was written once.
        accesses: if parameters.pad_batches { written.next_multiple_of(batch) } else { written },
        checkpoints: CheckpointFigures { receipt: Some(receipt.to_string()), ..CheckpointFigures::default() },
        ..Status::default()
    };
    let none = Usage::default();
    Report::now(&summary, &status, usage.unwrap_or(&none), &none, None).leave_or_warn(&settings.data);
}
