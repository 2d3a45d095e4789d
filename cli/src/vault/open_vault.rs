//! The vaults that `ameles serve` serves: one vault, or a vault and the successor that is being filled. A successor that
//! has all blocks takes over here.

use crate::config::{Settings, VaultConfig};
use crate::migration::{record::MigrationRecord, switch};
use crate::report::status_file::SuccessorFigures;
use crate::runtime::interrupt::Interrupts;
use crate::runtime::output::say;
use crate::vault::device::VaultDevice;
use crate::vault::home::{Home, Opening};
use crate::vault::parameters::refuse_contradictions;
use ameles_store::{MeterReader, Touches, Versioning};
use ameles_vault::{
    Copier, CopyProgress, MigrationStage, MirroredVaults, Row, Vault, VaultError, VaultParameters, cut_over,
    migration_stage, read_header, rows_at_rest,
};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The time after which a batch is copied again that found no room.
const FOR_ROOM: Duration = Duration::from_secs(10);

/// The name under which errors of a successor are told.
pub const OF_SUCCESSOR: &str = "the successor";

/// A vault in service, and its successor if there is one.
pub struct OpenVaults {
    /// The settings, with the store and the key that the vault has now.
    pub settings: Settings,
    /// The vault's parameters.
    pub parameters: VaultParameters,
    /// Tells whether it was made just now.
    pub fresh: bool,
    /// The vault, for the gateway.
    pub device: VaultDevice,
    /// The requests to its store.
    pub meter: MeterReader,
    /// The touches of its store.
    pub touches: Touches,
    /// Tells whether the provider's bucket keeps every rewrite.
    pub versioning: Versioning,
    /// Ctrl-C, listened for.
    pub interrupts: Interrupts,
    /// The successor that is being filled.
    pub following: Option<Successor>,
    /// The rest of a vault whose successor has just taken over.
    pub left: Option<ReplacedVault>,
}

/// A successor in service.
pub struct Successor {
    /// Brings the blocks over.
    pub copier: Copier,
    /// The requests to its store.
    pub meter: MeterReader,
    /// The place of its store.
    pub store: String,
    /// The line that serves it once it has taken over.
    pub line: String,
}

/// The rest of a vault whose successor has taken over.
pub struct ReplacedVault {
    /// Its trusted disk.
    pub predecessor: PathBuf,
    /// Its store.
    pub store: String,
    /// The line that serves the vault from now on.
    pub line: String,
}

/// Tells the figures of a successor, at any moment.
pub type TellSuccessor = Arc<dyn Fn() -> SuccessorFigures + Send + Sync>;

impl Successor {
    /// The message of the start.
    pub fn render(&self) -> String {
        let CopyProgress { blocks, of } = self.copier.copied();
        format!(
            "The successor at {} is being filled: {blocks} of {of} blocks so far.\n\
             `ameles status` shows how far it is; once it has all of them, a restart has it take over.\n",
            self.store
        )
    }

    /// Tells the figures of any later moment.
    pub fn figures(&self) -> TellSuccessor {
        let (progress, meter, store) = (self.copier.vaults().clone(), self.meter.clone(), self.store.clone());
        Arc::new(move || {
            let (CopyProgress { blocks, of }, usage) = (progress.copied(), meter.usage());
            SuccessorFigures { store: store.clone(), blocks, of, usage }
        })
    }

    /// Fills the successor until it has all blocks, or is told to stop.
    pub async fn copy(self, stop: CancellationToken) {
        let Successor { mut copier, line, .. } = self;
        while !stop.is_cancelled() && !copier.copied().is_all() {
            if let Err(error) = copier.step().await {
                if matches!(error, VaultError::NoRoom | VaultError::StoreFull | VaultError::DiskFull)
                    && copier.vaults().failure().is_none()
                {
                    // The batch is copied again when there is room.
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = tokio::time::sleep(FOR_ROOM) => {}
                    }
                    continue;
                }
                // The vault that failed has stopped, and the server ends with it.
                tracing::error!(%error, "the successor is not filled any further");
                return;
            }
        }
        if !copier.copied().is_all() {
            if let Err(error) = copier.note().await {
                tracing::warn!(%error, "how far the successor is could not be noted");
            }
            return;
        }
        tracing::info!("the successor has all blocks: a restart has it take over");
        say!(
            "The successor has all blocks: a restart has it take over. From then on serve it with\n\n  {line}\n"
        );
    }
}

impl ReplacedVault {
    /// The message to the owner: the state, and the next step.
    pub fn render(&self) -> String {
        let ReplacedVault { predecessor, store, line } = self;
        format!(
            "The successor has taken over. From now on the vault is served by\n\n  {line}\n\n\
             The old vault is not needed any more, and must not be written to. When you are sure, remove everything \
             below {store}\nand the folder {}.\n",
            predecessor.display()
        )
    }
}

/// Opens what is there, or makes a vault if there is none.
///
/// # Errors
/// Everything that can be wrong with folder, key, store or vault; Ctrl-C.
pub async fn open(settings: &Settings, asked: &VaultConfig) -> Result<OpenVaults> {
    // An interrupted switch is finished before anything is looked for.
    switch::finish(&settings.data)?;
    match MigrationRecord::of_successor(settings)? {
        None => open_one(settings, asked).await,
        Some(note) => open_both(settings, asked, &note).await,
    }
}

async fn open_one(settings: &Settings, asked: &VaultConfig) -> Result<OpenVaults> {
    let home = Home::new(settings);
    let fresh = !home.has_vault()?;
    let (opening, interrupts) = if fresh {
        home.make().await?
    } else {
        // A passphrase is asked for before Ctrl-C is taken over.
        (home.find(asked).await?, Interrupts::listen()?)
    };
    let opened = in_service(settings, opening, interrupts, fresh).await?;
    Ok(opened)
}

async fn in_service(
    settings: &Settings,
    opening: Opening,
    mut interrupts: Interrupts,
    fresh: bool,
) -> Result<OpenVaults> {
    let parameters = opening.header.parameters.clone();
    Home::new(settings).refuse_network_disk(&parameters)?;
    let opening = opening.paced(settings.serve.pace);
    let versioning = interrupts.cut_off(async { Ok(opening.objects().versioning().await) }).await?;
    let touches = opening.touches();
    // An opening that is cut off is repeated by the next one.
    let (vault, meter) = interrupts.cut_off(opening.open()).await?;
    let device = VaultDevice::Alone(vault);
    let settings = settings.clone();
    Ok(OpenVaults {
        settings,
        parameters,
        fresh,
        device,
        meter,
        touches,
        versioning,
        interrupts,
        following: None,
        left: None,
    })
}

async fn open_both(settings: &Settings, asked: &VaultConfig, note: &MigrationRecord) -> Result<OpenVaults> {
    let (old_settings, new_settings) = note.both(settings);
    let (old, new) = (Home::new(&old_settings), Home::new(&new_settings));
    let (disk, master) = old.disk_and_key()?;
    let header = read_header(&disk, &master)?;
    let opening = new.find(&VaultConfig::default()).await.context(OF_SUCCESSOR)?;
    new.refuse_network_disk(&opening.header.parameters).context(OF_SUCCESSOR)?;
    if let MigrationStage::Copying(next) = migration_stage(&header, &opening.rows()?)? {
        let of = header.parameters.scheme.capacity();
        note.refuse_early(settings, next.0, of)?;
        let first = old.find_with(disk, master, asked).await?;
        let mut opened = in_service(&old_settings, first, Interrupts::listen()?, false).await?;
        let opening = opening.paced(settings.serve.pace);
        let opened_new = opened.interrupts.cut_off(opening.open()).await;
        let (new_vault, meter) = opened_new.context(OF_SUCCESSOR)?;
        let (both, copier) = MirroredVaults::new(opened.device.vault().clone(), new_vault).await?;
        opened.device = VaultDevice::Followed(both);
        let (store, line) = (new.store_name(), note.serve_line(settings));
        opened.following = Some(Successor { copier, meter, store, line });
        return Ok(opened);
    }
    // The flags may still be those for the old vault.
    let made = &opening.header.parameters;
    refuse_contradictions(settings, asked, made)
        .or_else(|error| refuse_contradictions(settings, asked, &header.parameters).map_err(|_| error))?;
    let settings = note.to.over(settings);
    let mut opened =
        in_service(&settings, opening, Interrupts::listen()?, false).await.context(OF_SUCCESSOR)?;
    // The old store is not needed: everything that was acknowledged is in the successor, or on this disk.
    let rows = rows_at_rest(&disk, &master)?;
    drop(disk);
    take_over(&settings, &header, rows, opened.device.vault()).await?;
    opened.left = switch::finish(&settings.data)?.map(|predecessor| ReplacedVault {
        predecessor,
        store: old.store_name(),
        line: note.serve_line(&settings),
    });
    Ok(opened)
}

/// Gives the successor the rows, and marks that it holds everything: [`switch::finish`] is next.
///
/// # Errors
/// Those of [`cut_over`]; the trusted folder cannot be written.
pub async fn take_over(
    settings: &Settings,
    old: &ameles_vault::VaultHeader,
    rows: Vec<Row>,
    new: &Vault,
) -> Result<()> {
    cut_over(old, rows, new).await.context(OF_SUCCESSOR)?;
    switch::begin(&settings.data, old.vault)
}
