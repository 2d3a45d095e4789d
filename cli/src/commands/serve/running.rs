//! A gateway that serves: everything that runs while it does, begun in order and ended in order.

use super::administration::{Administration, owners_page, shows_page};
use super::expiry::sweep;
use super::ready::{Listeners, Ready};
use super::servers::Servers;
use super::status::Status;
use crate::demonstration::{Pattern, Switch};
use crate::report::page::{PagePrices, Sources};
use crate::report::public_figures::figures;
use crate::report::status_file::Report;
use crate::report::warnings::Watch;
use crate::runtime::exit::Exit;
use crate::runtime::interrupt::Interrupts;
use crate::runtime::output::say;
use crate::runtime::tls_watch;
use crate::users::watch;
use crate::vault::device::VaultDevice;
use crate::vault::open_vault::TellSuccessor;
use ameles_gateway::auth::identity::Users;
use ameles_gateway::http::admin;
use ameles_gateway::page::RequestCounters;
use ameles_gateway::{AnswerGuard, Gateway};
use anyhow::{Context, Result};
use axum::Router;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The parts of a demonstration beside its vault.
pub(super) struct DemonstrationParts {
    pub(super) pattern: Pattern,
    pub(super) switch: Switch,
    /// Reads objects of its own accord.
    pub(super) reading: JoinHandle<()>,
}

/// See the module.
pub(super) struct Running {
    pub(super) device: VaultDevice,
    pub(super) interrupts: Interrupts,
    gateway: Gateway,
    status: Arc<Status>,
    doors: Servers,
    administration: Administration,
    demonstrated: Option<DemonstrationParts>,
    /// Sweeps objects away whose time has come.
    sweeping: JoinHandle<()>,
    /// Tasks that only look, and may be cut off at any moment.
    looking: Vec<JoinHandle<()>>,
    /// Fills a successor, if there is one.
    copying: Option<JoinHandle<()>>,
    stop: CancellationToken,
    stop_copying: CancellationToken,
}

impl Running {
    /// Leaves the first figures, and opens the owner's page and the doors, in this order.
    ///
    /// # Errors
    /// A listener or a source of randomness that the system refuses; users that contradict each other.
    pub(super) fn start(
        ready: Ready,
        gateway: Gateway,
        counters: RequestCounters,
        demonstrated: Option<DemonstrationParts>,
    ) -> Result<Self> {
        let (stop, stop_copying) = (CancellationToken::new(), CancellationToken::new());
        let successor = ready.following.as_ref().map(|following| following.figures());
        let status = status(&ready, &gateway, successor.clone());
        for warning in status.warnings() {
            say!("WARNING: {warning}\n");
        }
        status.leave();
        let mut looking = vec![tokio::spawn({
            let status = Arc::clone(&status);
            async move { status.leave_on().await }
        })];
        let router = administrative(&ready, (counters, &status), demonstrated.as_ref(), successor, &stop)?;
        let Ready { settings, device, users, file, listeners, tls, interrupts, following, .. } = ready;
        let Listeners { clients, swift, administration } = listeners;
        let administration = Administration::open(administration, router, &stop)?;
        let users = Arc::new(Users::new(users)?);
        looking.push(tokio::spawn(watch::watch(file, Arc::clone(&users))));
        if let (Some(files), Some(tls)) = (settings.serve.tls.clone(), tls.clone()) {
            looking.push(tokio::spawn(tls_watch::watch(files, tls)));
        }
        let asked = device.clone();
        let answer_guard = AnswerGuard::new(move || asked.may_answer());
        let doors = Servers::open(&settings, (clients, swift), &gateway, answer_guard, &users, tls, &stop)?;
        let sweeping = tokio::spawn(sweep(gateway.clone()));
        let copying = following.map(|following| tokio::spawn(following.copy(stop_copying.clone())));
        Ok(Running {
            device,
            interrupts,
            gateway,
            status,
            doors,
            administration,
            demonstrated,
            sweeping,
            looking,
            copying,
            stop,
            stop_copying,
        })
    }

    /// Finishes the requests under way, flushes the vault and leaves the last figures.
    ///
    /// # Errors
    /// The vault has failed or fails now; a server panicked.
    pub(super) async fn stop(self) -> Result<Exit> {
        self.stop.cancel();
        self.doors.closed().await?;
        self.sweeping.abort();
        if let Some(demonstrated) = &self.demonstrated {
            demonstrated.reading.abort();
        }
        // Cut-off requests may have begun a write.
        self.gateway.settle().await;
        self.administration.closed().await?;
        self.stop_copying.cancel();
        if let Some(copying) = self.copying {
            copying.await.context("the copier")?;
        }
        self.looking.iter().for_each(JoinHandle::abort);
        if let Some(failure) = self.device.failure() {
            return Err(failure);
        }
        let receipt = self.device.close().await?;
        self.status.leave();
        if self.demonstrated.is_some() {
            say!("Stopped. The demonstration's vault goes with its folder.");
        } else if receipt.checkpoint == 0 {
            say!("Stopped. No checkpoint is in the store yet: `ameles backup` ships one.");
        } else {
            say!("Stopped. Receipt of the last checkpoint in the store:\n  {receipt}");
            if !self.device.vault().header().parameters.ships_at_stop() {
                say!("It is of before the stop: `ameles backup` ships what came after it.");
            }
        }
        Ok(Exit::Success)
    }
}

fn status(ready: &Ready, gateway: &Gateway, successor: Option<TellSuccessor>) -> Arc<Status> {
    let settings = ready.settings.clone();
    let earlier = Report::earlier(&settings.data).map(|report| report.usage()).unwrap_or_default();
    let watch = Watch::new(&ready.parameters, ready.versioning, &settings.data.trusted());
    Arc::new(Status {
        settings,
        summary: ready.summary.clone(),
        vault: ready.device.vault().clone(),
        gateway: gateway.clone(),
        meter: ready.provider.meter.clone(),
        earlier,
        watch: Mutex::new(watch),
        successor,
        is_left: AtomicBool::new(true),
    })
}

/// Health, metrics and, where it is shown, the owner's page.
fn administrative(
    ready: &Ready,
    (counters, status): (RequestCounters, &Arc<Status>),
    demonstrated: Option<&DemonstrationParts>,
    successor: Option<TellSuccessor>,
    stop: &CancellationToken,
) -> Result<Router> {
    let vault = ready.device.vault().clone();
    let page = if shows_page(&ready.settings) {
        let status = Arc::clone(status);
        let sources = Sources {
            vault: vault.clone(),
            provider: ready.provider.clone(),
            counters,
            prices: PagePrices::or_default(ready.prices.clone()),
            switch: demonstrated.map(|demonstrated| demonstrated.switch.clone()),
            warnings: Box::new(move || status.warnings()),
        };
        owners_page(&ready.settings, ready.listeners.addresses(&ready.settings)?.admin, sources, stop)?
    } else {
        Router::new()
    };
    let (healthy, meter, prices) = (ready.device.clone(), ready.provider.meter.clone(), ready.prices.clone());
    let router = admin::router(
        move || healthy.may_answer(),
        move || {
            let successor = successor.as_ref().map(|figures| figures());
            figures(&vault.status(), &meter.usage(), prices.as_ref(), successor.as_ref())
        },
    );
    Ok(router.merge(page))
}
