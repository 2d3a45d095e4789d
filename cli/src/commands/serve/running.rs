//! The running gateway: its servers and background tasks, started and stopped in order.

use super::administration::{Administration, owners_page, shows_page};
use super::expiry::sweep;
use super::servers::Servers;
use super::startup::{Listeners, PreparedServer};
use super::status::Status;
use crate::demonstration::{Pattern, Switch};
use crate::report::page::{PagePrices, Sources};
use crate::report::public_figures::figures;
use crate::report::recovery_point::Unshipped;
use crate::report::status_file::Report;
use crate::report::warnings::WarningMonitor;
use crate::runtime::exit::Exit;
use crate::runtime::interrupt::Interrupts;
use crate::runtime::output::print_line;
use crate::runtime::tls_watch;
use crate::users::watch;
use crate::vault::closing::close_with_progress;
use crate::vault::device::VaultDevice;
use crate::vault::open_vault::{OpenVaults, Successor, SuccessorReader};
use ameles_gateway::auth::identity::Users;
use ameles_gateway::http::admin;
use ameles_gateway::page::RequestCounters;
use ameles_gateway::{AnswerCheck, Gateway};
use anyhow::{Context, Result};
use axum::Router;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The parts of a demonstration, in addition to its vault.
pub(super) struct DemonstrationParts {
    pub(super) pattern: Pattern,
    pub(super) switch: Switch,
    /// The task that reads objects by itself.
    pub(super) reading: JoinHandle<()>,
}

/// The running gateway, see the module.
pub(super) struct Running {
    pub(super) device: VaultDevice,
    pub(super) interrupts: Interrupts,
    gateway: Gateway,
    status: Arc<Status>,
    servers: Servers,
    administration: Administration,
    demonstration: Option<DemonstrationParts>,
    /// The task that removes expired objects.
    sweeper: JoinHandle<()>,
    /// Tasks that only read, and may be aborted at any time.
    watchers: Vec<JoinHandle<()>>,
    /// The task that fills a successor, if there is one.
    copier: Option<JoinHandle<()>>,
    stop: CancellationToken,
    stop_copying: CancellationToken,
}

impl Running {
    /// Writes the first figures, then opens the owner's page and the servers.
    ///
    /// # Errors
    /// The system refuses a listener or random numbers; two users contradict each other.
    pub(super) fn start(
        ready: PreparedServer,
        gateway: Gateway,
        counters: RequestCounters,
        demonstration: Option<DemonstrationParts>,
    ) -> Result<Self> {
        let (stop, stop_copying) = (CancellationToken::new(), CancellationToken::new());
        let successor_figures = ready.vaults.successor.as_ref().map(Successor::figures);
        let status = status(&ready, &gateway, successor_figures.clone());
        for warning in status.warnings() {
            print_line!("WARNING: {warning}\n");
        }
        status.write();
        let mut watchers = vec![tokio::spawn({
            let status = Arc::clone(&status);
            async move { status.write_repeatedly().await }
        })];
        let router =
            administrative(&ready, (counters, &status), demonstration.as_ref(), successor_figures, &stop)?;
        let PreparedServer { vaults, users, file, listeners, tls, .. } = ready;
        let OpenVaults { settings, device, interrupts, successor, .. } = vaults;
        let Listeners { clients, swift, administration } = listeners;
        let administration = Administration::open(administration, router, &stop)?;
        let users = Arc::new(Users::new(users)?);
        watchers.push(tokio::spawn(watch::watch(file, Arc::clone(&users))));
        if let (Some(files), Some(tls)) = (settings.serve.tls.clone(), tls.clone()) {
            watchers.push(tokio::spawn(tls_watch::watch(files, tls)));
        }
        let requested = device.clone();
        let answer_check = AnswerCheck::new(move || requested.may_answer());
        let servers = Servers::open(&settings, (clients, swift), &gateway, answer_check, &users, tls, &stop)?;
        let sweeper = tokio::spawn(sweep(gateway.clone()));
        let copier = successor.map(|successor| tokio::spawn(successor.copy(stop_copying.clone())));
        Ok(Running {
            device,
            interrupts,
            gateway,
            status,
            servers,
            administration,
            demonstration,
            sweeper,
            watchers,
            copier,
            stop,
            stop_copying,
        })
    }

    /// Finishes running requests, flushes the vault and writes the last figures. Returns an exit code that says whether
    /// requests were aborted.
    ///
    /// # Errors
    /// The vault has failed, or fails now; a server panicked.
    pub(super) async fn stop(self) -> Result<Exit> {
        self.stop.cancel();
        let have_finished = self.servers.wait_closed().await?;
        self.sweeper.abort();
        if let Some(demonstration) = &self.demonstration {
            demonstration.reading.abort();
        }
        // Aborted requests may have started a write.
        self.gateway.settle().await;
        self.administration.wait_closed().await?;
        self.stop_copying.cancel();
        if let Some(copier) = self.copier {
            copier.await.context("the task that fills the successor")?;
        }
        self.watchers.iter().for_each(JoinHandle::abort);
        if let Some(failure) = self.device.failure() {
            return Err(failure);
        }
        let (no_ship, data_flag) = (self.status.settings.serve.no_ship, self.status.settings.data.flag());
        let receipt = close_with_progress(self.device.vault(), self.device.close(no_ship)).await?;
        self.status.write();
        if self.demonstration.is_some() {
            print_line!("Stopped. The demonstration's folder is removed.");
        } else if receipt.checkpoint == 0 {
            print_line!(
                "Stopped. The store has no checkpoint yet: run `ameles backup{data_flag}` to ship one."
            );
        } else {
            print_line!("Stopped. Receipt of the last checkpoint in the store:\n  {receipt}");
        }
        let vault = self.device.vault();
        let unshipped = Unshipped::of(vault.status().checkpoints.unshipped, vault.block_bytes() as u64);
        let can_lose = !vault.header().parameters.journal.is_in_store();
        if no_ship && can_lose && unshipped.accesses > 0 {
            print_line!(
                "The store lacks the last {unshipped}. They are lost if this machine is lost: `ameles backup{data_flag}` ships them."
            );
        }
        Ok(if have_finished { Exit::Success } else { Exit::Interrupted })
    }
}

fn status(ready: &PreparedServer, gateway: &Gateway, successor: Option<SuccessorReader>) -> Arc<Status> {
    let settings = ready.vaults.settings.clone();
    let earlier = Report::load_or_warn(&settings.data).map(|report| report.continued()).unwrap_or_default();
    let watch =
        WarningMonitor::new(&ready.vaults.parameters, ready.vaults.versioning, &settings.data.trusted());
    Arc::new(Status {
        settings,
        summary: ready.summary.clone(),
        vault: ready.vaults.device.vault().clone(),
        gateway: gateway.clone(),
        meter: ready.vaults.provider.meter.clone(),
        earlier,
        watch: Mutex::new(watch),
        successor,
        is_writable: AtomicBool::new(true),
    })
}

/// Returns the routes for health, metrics and, if it is served, the owner's page.
fn administrative(
    ready: &PreparedServer,
    (counters, status): (RequestCounters, &Arc<Status>),
    demonstration: Option<&DemonstrationParts>,
    successor: Option<SuccessorReader>,
    stop: &CancellationToken,
) -> Result<Router> {
    let vault = ready.vaults.device.vault().clone();
    let page = if shows_page(&ready.vaults.settings) {
        let status = Arc::clone(status);
        let sources = Sources {
            vault: vault.clone(),
            provider: ready.vaults.provider.clone(),
            counters,
            prices: PagePrices::or_default(ready.prices.clone()),
            switch: demonstration.map(|demonstration| demonstration.switch.clone()),
            warnings: Box::new(move || status.warnings()),
        };
        owners_page(
            &ready.vaults.settings,
            ready.listeners.addresses(&ready.vaults.settings, "")?.admin,
            sources,
            stop,
        )?
    } else {
        Router::new()
    };
    let (healthy, meter, prices) =
        (ready.vaults.device.clone(), ready.vaults.provider.meter.clone(), ready.prices.clone());
    let router = admin::router(
        move || healthy.may_answer(),
        move || {
            let successor = successor.as_ref().map(|figures| figures());
            let parameters = &vault.header().parameters;
            figures((&vault.status(), parameters), &meter.usage(), prices.as_ref(), successor.as_ref())
        },
    );
    Ok(router.merge(page))
}
