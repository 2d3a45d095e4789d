//! Opening the vaults of `ameles serve`: one vault, or a vault with the successor that it fills. A complete successor
//! takes over here.

use crate::config::{Settings, VaultConfig};
use crate::migration::{record::MigrationRecord, switch};
use crate::report::provider::Provider;
use crate::report::status_file::SuccessorFigures;
use crate::runtime::interrupt::Interrupts;
use crate::runtime::output::print_line;
use crate::vault::device::VaultDevice;
use crate::vault::home::{Home, Opening};
use crate::vault::parameters::refuse_contradictions;
use ameles_store::{MeterReader, Versioning};
use ameles_vault::{
    Copier, CopyProgress, MigrationStage, MirroredVaults, Row, Standby, StandbyStage, Vault, VaultError,
    VaultParameters, cut_over, migration_stage, read_header, rows_at_rest,
};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The time before a batch is copied again after it found no space.
const ROOM_RETRY: Duration = Duration::from_secs(10);

/// The context of errors of a successor.
pub const SUCCESSOR: &str = "the successor";

/// An open vault, and its successor if there is one.
pub struct OpenVaults {
    /// The settings, with the store and the key that the vault has now.
    pub settings: Settings,
    /// The vault's parameters.
    pub parameters: VaultParameters,
    /// True if the vault was just created.
    pub fresh: bool,
    /// The vault, for the gateway.
    pub device: VaultDevice,
    /// the requests to the vault's store, and the counts of accesses.
    pub provider: Provider,
    /// The versioning of the provider's bucket, which may keep every rewrite.
    pub versioning: Versioning,
    /// The listener for Ctrl-C.
    pub interrupts: Interrupts,
    /// The successor that is being filled.
    pub successor: Option<Successor>,
    /// The old vault, if a successor has just taken over.
    pub replaced: Option<ReplacedVault>,
}

/// An open successor.
pub struct Successor {
    /// Copies the blocks.
    pub copier: Copier,
    /// The requests to the successor's store.
    pub meter: MeterReader,
    /// The location of the successor's store.
    pub store: String,
    /// The command that serves the successor after it has taken over.
    pub line: String,
}

/// An old vault whose successor has taken over.
pub struct ReplacedVault {
    /// The replaced vault's trusted disk.
    pub predecessor: PathBuf,
    /// The replaced vault's store.
    pub store: String,
    /// The command that serves the vault from now on.
    pub line: String,
}

/// A function that returns the current figures of a successor.
pub type SuccessorReader = Arc<dyn Fn() -> SuccessorFigures + Send + Sync>;

impl Successor {
    /// Returns the message at the start.
    pub fn render(&self) -> String {
        let CopyProgress { blocks, of } = self.copier.copied();
        format!(
            "The successor at {} is being filled: {blocks} of {of} blocks so far.\n\
             `ameles status` shows the progress. Once it is complete, it takes over at the next restart.\n",
            self.store
        )
    }

    /// Returns a function for the current figures.
    pub fn figures(&self) -> SuccessorReader {
        let (progress, meter, store) = (self.copier.vaults().clone(), self.meter.clone(), self.store.clone());
        Arc::new(move || {
            let (CopyProgress { blocks, of }, usage) = (progress.copied(), meter.usage());
            SuccessorFigures { store: store.clone(), blocks, of, usage }
        })
    }

    /// Fills the successor until it has all blocks, or until `stop`.
    pub async fn copy(self, stop: CancellationToken) {
        let Successor { mut copier, line, .. } = self;
        while !stop.is_cancelled() && !copier.copied().is_all() {
            if let Err(error) = copier.step().await {
                if matches!(error, VaultError::NoRoom | VaultError::StoreFull | VaultError::DiskFull)
                    && copier.vaults().failure().is_none()
                {
                    // The batch is copied again when there is space.
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = tokio::time::sleep(ROOM_RETRY) => {}
                    }
                    continue;
                }
                // The failed vault has stopped, and the server stops with it.
                tracing::error!(%error, "the successor is no longer filled");
                return;
            }
        }
        if !copier.copied().is_all() {
            if let Err(error) = copier.note().await {
                tracing::warn!(%error, "cannot record the progress of the successor");
            }
            return;
        }
        tracing::info!("the successor has all blocks: it takes over at the next restart");
        print_line!(
            "The successor has all blocks and takes over at the next restart. Then serve it with\n\n  {line}\n"
        );
    }
}

impl ReplacedVault {
    /// Returns the message to the owner: the state and the next step.
    pub fn render(&self) -> String {
        let ReplacedVault { predecessor, store, line } = self;
        format!(
            "The successor has taken over. From now on, serve the vault with\n\n  {line}\n\n\
             The old vault is no longer needed and must not be served. When you are sure, remove everything below {store}\n\
             and the folder {}.\n",
            predecessor.display()
        )
    }
}

/// Opens the vault and its successor, or creates a vault if there is none.
///
/// # Errors
/// Errors of folder, key, store or vault; an interruption by Ctrl-C.
pub async fn open(settings: &Settings, requested: &VaultConfig) -> Result<OpenVaults> {
    // An interrupted switch is finished first.
    switch::finish(&settings.data)?;
    match MigrationRecord::load_successor(settings)? {
        None => open_one(settings, requested).await,
        Some(record) => open_both(settings, requested, &record).await,
    }
}

async fn open_one(settings: &Settings, requested: &VaultConfig) -> Result<OpenVaults> {
    let home = Home::new(settings);
    let fresh = !home.has_vault()?;
    let (opening, interrupts) = if fresh {
        home.create().await?
    } else {
        // A passphrase is read before Ctrl-C is handled here.
        (home.find(requested).await?, Interrupts::listen()?)
    };
    let vaults = open_in_service(settings, opening, interrupts, fresh).await?;
    Ok(vaults)
}

/// Follows the vault as a standby, until it is taken over. A vault that is in the folder already is opened instead: this
/// machine has taken it over before, or was the first to serve it.
///
/// # Errors
/// The errors of [`open`].
pub async fn stand_by(
    settings: &Settings,
    requested: &VaultConfig,
    report: impl Fn(&StandbyStage) + Send + 'static,
) -> Result<OpenVaults> {
    let home = Home::new(settings);
    if home.has_vault()? && !home.is_being_restored() {
        return open(settings, requested).await;
    }
    if settings.data.restoring().exists() {
        return Err(VaultError::RestoreUnfinished).context(settings.data.restoring().display().to_string());
    }
    let opening = home.prepare_standby().await?;
    refuse_contradictions(settings, requested, &opening.header.parameters)?;
    let standby = Standby { expect: None, report: Box::new(report) };
    open_with(settings, opening, (Interrupts::listen()?, false), async |opening| {
        opening.stand_by(standby).await
    })
    .await
}

async fn open_in_service(
    settings: &Settings,
    opening: Opening,
    interrupts: Interrupts,
    fresh: bool,
) -> Result<OpenVaults> {
    open_with(settings, opening, (interrupts, fresh), Opening::open).await
}

/// Opens the vault in a way.
async fn open_with(
    settings: &Settings,
    opening: Opening,
    (mut interrupts, fresh): (Interrupts, bool),
    open: impl AsyncFnOnce(Opening) -> Result<(Vault, MeterReader)>,
) -> Result<OpenVaults> {
    let parameters = opening.header.parameters.clone();
    Home::new(settings).refuse_network_disk(&parameters)?;
    let opening = opening.with_pace(settings.serve.pace);
    let versioning = interrupts.interruptible(async { Ok(opening.objects().versioning().await) }).await?;
    let access_counts = opening.access_counts();
    // An interrupted opening is repeated by the next start.
    let (vault, meter) = interrupts.interruptible(open(opening)).await?;
    let device = VaultDevice::Single(vault);
    let settings = settings.clone();
    Ok(OpenVaults {
        settings,
        parameters,
        fresh,
        device,
        provider: Provider { meter, access_counts },
        versioning,
        interrupts,
        successor: None,
        replaced: None,
    })
}

async fn open_both(
    settings: &Settings,
    requested: &VaultConfig,
    record: &MigrationRecord,
) -> Result<OpenVaults> {
    let (old_settings, new_settings) = record.settings_of_both(settings);
    let (old, new) = (Home::new(&old_settings), Home::new(&new_settings));
    let (disk, master) = old.disk_and_key()?;
    let header = read_header(&disk, &master)?;
    let opening = new.find(&VaultConfig::default()).await.context(SUCCESSOR)?;
    new.refuse_network_disk(&opening.header.parameters).context(SUCCESSOR)?;
    if let MigrationStage::Copying(next) = migration_stage(&header, &opening.rows()?)? {
        let of = header.parameters.scheme.capacity();
        record.refuse_early(settings, next.0, of)?;
        let first = old.find_with(disk, master, requested).await?;
        let mut vaults = open_in_service(&old_settings, first, Interrupts::listen()?, false).await?;
        let opening = opening.with_pace(settings.serve.pace);
        let opened_new = vaults.interrupts.interruptible(opening.open()).await;
        let (new_vault, meter) = opened_new.context(SUCCESSOR)?;
        let (both, copier) = MirroredVaults::new(vaults.device.vault().clone(), new_vault).await?;
        vaults.device = VaultDevice::WithSuccessor(both);
        let (store, line) = (new.store_name(), record.serve_line(settings));
        vaults.successor = Some(Successor { copier, meter, store, line });
        return Ok(vaults);
    }
    // The flags may still be those of the old vault.
    let existing = &opening.header.parameters;
    refuse_contradictions(settings, requested, existing)
        .or_else(|error| refuse_contradictions(settings, requested, &header.parameters).map_err(|_| error))?;
    let settings = record.to.apply_to(settings);
    let mut vaults =
        open_in_service(&settings, opening, Interrupts::listen()?, false).await.context(SUCCESSOR)?;
    // The old store is not needed: all acknowledged data is in the successor or on this disk.
    let rows = rows_at_rest(&disk, &master)?;
    drop(disk);
    take_over(&settings, &header, rows, vaults.device.vault()).await?;
    vaults.replaced = switch::finish(&settings.data)?.map(|predecessor| ReplacedVault {
        predecessor,
        store: old.store_name(),
        line: record.serve_line(&settings),
    });
    Ok(vaults)
}

/// Copies the rows to the successor and marks it as complete. [`switch::finish`] must follow.
///
/// # Errors
/// The errors of [`cut_over`]; the trusted folder cannot be written.
pub async fn take_over(
    settings: &Settings,
    old: &ameles_vault::VaultHeader,
    rows: Vec<Row>,
    new: &Vault,
) -> Result<()> {
    cut_over(old, rows, new).await.context(SUCCESSOR)?;
    switch::mark_complete(&settings.data, old.vault)
}
