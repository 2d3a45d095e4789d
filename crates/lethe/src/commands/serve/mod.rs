//! `lethe serve`

mod administration;
mod doors;
mod ready;
mod status;
mod sweeping;

use crate::config::{
    Config, KeyConfig, Padding, PricesConfig, ServeConfig, Settings, StoreConfig, VaultConfig,
};
use crate::demonstration::{
    BareStore, OBJECTS, Oblivious, Pattern, Stage, Switch, Switched, put_objects, read_on,
};
use crate::report::banner::{self, Reader};
use crate::report::left::Report;
use crate::report::page::{Shown, Sources};
use crate::report::public_figures::figures;
use crate::report::warnings::Watch;
use crate::runtime::exit::Exit;
use crate::runtime::interrupt::Interrupts;
use crate::runtime::output::say;
use crate::runtime::progress;
use crate::runtime::tls_watch;
use crate::users::watch;
use crate::vault::device::VaultDevice;
use administration::{Administration, owners_page, shows_page};
use anyhow::{Context, Result};
use axum::Router;
use clap::Args;
use doors::Doors;
use lethe_gateway::auth::identity::Users;
use lethe_gateway::http::admin;
use lethe_gateway::page::Watched;
use lethe_gateway::{Device, Gateway, Options};
use ready::{Listeners, Ready, open};
use status::Status;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use sweeping::sweep;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

#[derive(Args)]
#[command(after_help = "Examples:
  lethe serve
  lethe serve --capacity 10GiB --store s3://my-bucket/lethe
  lethe serve --config lethe.toml --listen 127.0.0.1:9000
  lethe serve --pace 500ms --prices s3-standard
  lethe serve --demonstration")]
pub(super) struct Arguments {
    #[command(flatten)]
    serve: ServeConfig,
    #[command(flatten)]
    vault: VaultConfig,
    #[command(flatten)]
    store: StoreConfig,
    #[command(flatten)]
    key: KeyConfig,
    #[command(flatten)]
    prices: PricesConfig,
    /// Serve a small vault of its own that goes at the end, with a page on which its ORAM can be switched off; what is
    /// read of its own accord [without a value: sweep]
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "sweep")]
    #[arg(help_heading = "Gateway")]
    demonstration: Option<Pattern>,
}

impl Arguments {
    /// The pattern of the demonstration that was asked for, if any was.
    pub(super) fn demonstration(&self) -> Option<Pattern> {
        self.demonstration
    }

    pub(super) fn over(self, config: Config) -> Config {
        let Arguments { serve, vault, store, key, prices, demonstration: _ } = self;
        config.overlaid(Config { serve, vault, store, key, prices, ..Config::default() })
    }
}

/// The parts of a demonstration beside its vault.
struct Demonstrated {
    pattern: Pattern,
    switch: Switch,
    reading: JoinHandle<()>,
}

pub(super) async fn run(settings: Settings, asked: &VaultConfig) -> Result<Exit> {
    let ready = open(&settings, asked).await?;
    let gateway = gateway(&ready.settings, Watched::new(ready.device.clone())).await?;
    serve(ready, gateway, None).await
}

/// Serves a vault that goes when it ends, and whose ORAM can be switched off.
pub(super) async fn demonstrate(settings: Settings, stage: &Stage) -> Result<Exit> {
    say!("Making a small vault and {OBJECTS} objects to look at; the link to the page follows.");
    let mut ready = open(&settings, &VaultConfig::default()).await?;
    let vault = ready.device.vault().clone();
    let cipher = vault.header().parameters.cipher()?;
    let folder = stage.bare_folder();
    let making = BareStore::make(&folder, cipher, vault.capacity(), vault.block_bytes());
    let bare = ready.interrupts.cut_off(making).await?;
    let (oblivious, bare_provider) = (Oblivious::on(), bare.provider());
    let device = Watched::new(Switched::new(ready.device.clone(), bare, oblivious.clone()));
    let switch = Switch::new(oblivious, vault, ready.provider.clone(), bare_provider, device.asked());
    let gateway = gateway(&settings, device).await?;
    let bar = progress::steps("putting objects", OBJECTS);
    let putting =
        async { put_objects(&gateway, || bar.inc(1)).await.context("putting the demonstration's objects") };
    ready.interrupts.cut_off(putting).await?;
    bar.finish_and_clear();
    switch.count_anew();
    let reading = tokio::spawn(read_on(gateway.clone(), stage.pattern));
    let demonstrated = Demonstrated { pattern: stage.pattern, switch, reading };
    serve(ready, gateway, Some(demonstrated)).await
}

async fn gateway<D: Device>(settings: &Settings, device: Watched<D>) -> Result<Gateway<Watched<D>>> {
    let options = Options {
        padding: padding(&settings.serve.padding),
        memory: settings.serve.transfer_memory.0,
        asked: shows_page(settings).then(|| device.asked()),
        ..Options::default()
    };
    Ok(Gateway::open(device, options).await?)
}

/// Serves until Ctrl-C or the vault's end, and ends what was begun.
async fn serve<D: Device>(
    ready: Ready,
    gateway: Gateway<Watched<D>>,
    demonstrated: Option<Demonstrated>,
) -> Result<Exit> {
    announce(&ready, demonstrated.as_ref())?;
    let Ready {
        settings,
        device,
        parameters,
        provider,
        versioning,
        summary,
        prices,
        users,
        password,
        file,
        listeners,
        tls,
        mut interrupts,
        following,
        left: _,
    } = ready;
    drop(password);
    let admin_address = listeners.addresses(&settings)?.admin;
    let Listeners { clients, swift, administration } = listeners;
    let vault = device.vault().clone();
    let meter = provider.meter.clone();

    let successor = following.as_ref().map(|following| following.figures());
    let status = Arc::new(Status {
        settings: settings.clone(),
        summary,
        vault: vault.clone(),
        gateway: gateway.clone(),
        meter: meter.clone(),
        earlier: Report::load(&settings.data)?.map(|report| report.usage()).unwrap_or_default(),
        watch: Mutex::new(Watch::new(&parameters, versioning)),
        successor: successor.clone(),
    });
    for warning in status.warnings() {
        say!("WARNING: {warning}\n");
    }
    status.leave()?;
    let stop = CancellationToken::new();
    let mut beside: Vec<JoinHandle<()>> = Vec::new();
    beside.push(tokio::spawn({
        let status = Arc::clone(&status);
        async move { status.leave_on().await }
    }));

    let page = if shows_page(&settings) {
        let switch = demonstrated.as_ref().map(|demonstrated| demonstrated.switch.clone());
        let (vault, asked) = (vault.clone(), gateway.device().asked());
        let prices = Shown::or_default(prices.clone());
        let sources = Sources { vault, provider, asked, prices, switch };
        owners_page(&settings, admin_address, sources, &stop)?
    } else {
        Router::new()
    };
    let healthy = device.clone();
    let router = admin::router(
        move || healthy.failure().is_none(),
        move || {
            let successor = successor.as_ref().map(|figures| figures());
            figures(&vault.status(), &meter.usage(), prices.as_ref(), successor.as_ref())
        },
    );
    let administration = Administration::open(administration, router.merge(page), &stop)?;

    let users = Arc::new(Users::new(users)?);
    beside.push(tokio::spawn(watch::watch(file, Arc::clone(&users))));
    if let (Some(files), Some(tls)) = (settings.serve.tls.clone(), tls.clone()) {
        beside.push(tokio::spawn(tls_watch::watch(files, tls)));
    }
    let doors = Doors::open(&settings, clients, swift, &gateway, &users, tls, &stop)?;
    let sweeping = tokio::spawn(sweep(gateway.clone()));
    let stop_copying = CancellationToken::new();
    let copying = following.map(|following| tokio::spawn(following.copy(stop_copying.clone())));

    let failed = wait(&device, &mut interrupts).await;
    if failed {
        tracing::error!("the vault has stopped; the server ends");
    } else {
        say!("Stopping: requests under way are finished, the vault is flushed. Ctrl-C again stops at once.");
    }
    let stopping = async {
        stop.cancel();
        doors.closed().await?;
        sweeping.abort();
        let is_demonstration = demonstrated.is_some();
        demonstrated.inspect(|demonstrated| demonstrated.reading.abort());
        // Cut-off requests may have begun a write.
        gateway.settle().await;
        administration.closed().await?;
        stop_copying.cancel();
        if let Some(copying) = copying {
            copying.await.context("the copier")?;
        }
        beside.iter().for_each(JoinHandle::abort);
        if let Some(failure) = device.failure() {
            return Err(failure);
        }
        let receipt = device.close().await?;
        status.leave()?;
        if is_demonstration {
            say!("Stopped. The demonstration's vault goes with its folder.");
        } else {
            say!("Stopped. Receipt of the last checkpoint in the store:\n  {receipt}");
        }
        Ok(Exit::Success)
    };
    // Cut off, it is as after a crash: acknowledged changes are there at the next opening.
    Interrupts::unless_repeated(stopping).await
}

/// Says what is served, where, and what else there is to know.
fn announce(ready: &Ready, demonstrated: Option<&Demonstrated>) -> Result<()> {
    let addresses = ready.listeners.addresses(&ready.settings)?;
    let credentials = ready.settings.data.credentials();
    let reader = Reader::of_output(&credentials);
    let password = ready.password.as_deref().map(String::as_str);
    say!("{}", banner::serving(&ready.summary, &addresses, &ready.users, password, reader));
    if let Some(demonstrated) = demonstrated {
        say!("{}", banner::demonstration(ready.settings.data.root(), demonstrated.pattern));
    }
    if let Some(left) = &ready.left {
        say!("{}", left.render());
    }
    if let Some(following) = &ready.following {
        say!("{}", following.render());
    }
    Ok(())
}

/// Waits for Ctrl-C, a request to terminate, or the vault's end; `true` for the last.
async fn wait(device: &VaultDevice, interrupts: &mut Interrupts) -> bool {
    let failure = async {
        while device.failure().is_none() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::select! {
        () = interrupts.next() => false,
        () = failure => true,
    }
}

fn padding(asked: &Padding) -> lethe_gateway::Padding {
    match asked {
        Padding::None => lethe_gateway::Padding::None,
        Padding::Power2 => lethe_gateway::Padding::PowersOfTwo,
    }
}
