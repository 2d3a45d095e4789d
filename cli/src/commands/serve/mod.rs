//! `ameles serve`

mod administration;
mod device;
mod expiry;
mod running;
mod servers;
mod standby;
mod startup;
mod status;

use super::vault_flags::ShapeFlags;
use crate::config::{Config, Padding, PricesConfig, ServeConfig, Settings, VaultConfig};
use crate::demonstration::{
    BareStore, DemonstrationFolder, OBJECTS, ObliviousFlag, Pattern, Switch, put_objects, read_repeatedly,
};
use crate::report::banner::{self, Reader};
use crate::runtime::exit::Exit;
use crate::runtime::interrupt::{Interrupted, Interrupts};
use crate::runtime::output::print_line;
use crate::runtime::progress;
use crate::runtime::resume_events::Resumptions;
use crate::vault::device::VaultDevice;
use administration::shows_page;
use ameles_gateway::page::{CountingDevice, RequestCounters};
use ameles_gateway::{Gateway, Options};
use anyhow::{Context, Result};
use clap::Args;
use device::ServedDevice;
use running::{DemonstrationParts, Running};
pub(super) use startup::Role;
use startup::{PreparedServer, prepare};
use std::time::Duration;

#[derive(Args)]
#[command(after_help = "Examples:
  ameles serve
  ameles serve --capacity 10GiB --store s3://my-bucket/ameles
  ameles serve --config ameles.toml --listen 127.0.0.1:9000
  ameles serve --pace 500ms --prices s3-standard
  ameles serve --standby --store s3://my-bucket/ameles --key-file master.key
  ameles serve --demonstration")]
pub(super) struct Arguments {
    #[command(flatten)]
    serve: ServeConfig,
    #[command(flatten)]
    shape: ShapeFlags,
    #[command(flatten)]
    prices: PricesConfig,
    /// Serve a small temporary vault, with a page that can switch its ORAM off; it reads PATTERN by itself
    /// [without a value: sweep]
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "sweep")]
    #[arg(help_heading = "Gateway")]
    demonstration: Option<Pattern>,
    /// Follow a vault with `--journal standby` that another machine serves, and take it over when that machine is silent
    /// for 15 seconds. Needs a --data folder of its own, with the users of that machine
    #[arg(long, conflicts_with = "demonstration", help_heading = "Gateway")]
    standby: bool,
}

impl Arguments {
    /// Returns the part of this machine.
    pub(super) fn role(&self) -> Role {
        if self.standby { Role::Standby } else { Role::Gateway }
    }

    /// Returns the pattern of the requested demonstration.
    pub(super) fn demonstration(&self) -> Option<Pattern> {
        self.demonstration
    }

    pub(super) fn apply_to(self, config: Config) -> Config {
        let Arguments { serve, shape, prices, demonstration: _, standby: _ } = self;
        shape.apply_to(config).overlay(Config { serve, prices, ..Config::default() })
    }
}

pub(super) async fn run(settings: Settings, requested: &VaultConfig, role: Role) -> Result<Exit> {
    // It must listen before the claim: a copy of this machine would take the claim for its own.
    let resumptions = Resumptions::listen();
    let ready = match prepare(&settings, requested, role).await {
        Err(error) if role == Role::Standby && error.is::<Interrupted>() => {
            // A standby has nothing to lose.
            print_line!("Stopped before a takeover.");
            return Ok(Exit::Success);
        }
        ready => ready?,
    };
    let device = CountingDevice::new(ServedDevice::new(ready.vaults.device.clone()));
    let counters = device.counters();
    let gateway = gateway(&ready.vaults.settings, device).await?;
    serve(ready, gateway, counters, None, resumptions).await
}

/// Serves a temporary vault whose ORAM can be switched off.
pub(super) async fn demonstrate(
    settings: Settings,
    demonstration_folder: &DemonstrationFolder,
) -> Result<Exit> {
    print_line!("Creating a small vault with {OBJECTS} objects; the link to the page follows.");
    let mut ready = prepare(&settings, &VaultConfig::default(), Role::Gateway).await?;
    let vault = ready.vaults.device.vault().clone();
    let cipher = vault.header().parameters.cipher()?;
    let folder = demonstration_folder.bare_folder();
    let create_bare = BareStore::create(&folder, cipher, vault.capacity(), vault.block_bytes());
    let bare = ready.vaults.interrupts.interruptible(create_bare).await?;
    let (oblivious, bare_provider) = (ObliviousFlag::on(), bare.provider());
    let device = CountingDevice::new(ServedDevice::with_bare_store(
        ready.vaults.device.clone(),
        bare,
        oblivious.clone(),
    ));
    let counters = device.counters();
    let switch =
        Switch::new(oblivious, vault, ready.vaults.provider.clone(), bare_provider, counters.clone());
    let gateway = gateway(&settings, device).await?;
    let bar = progress::steps("creating objects", OBJECTS);
    let put_all =
        async { put_objects(&gateway, || bar.inc(1)).await.context("creating the demonstration's objects") };
    ready.vaults.interrupts.interruptible(put_all).await?;
    bar.finish_and_clear();
    switch.reset();
    let reading = tokio::spawn(read_repeatedly(gateway.clone(), demonstration_folder.pattern));
    let demonstration = DemonstrationParts { pattern: demonstration_folder.pattern, switch, reading };
    serve(ready, gateway, counters, Some(demonstration), None).await
}

async fn gateway(settings: &Settings, device: CountingDevice<ServedDevice>) -> Result<Gateway> {
    let options = Options {
        padding: padding(&settings.serve.padding),
        transfer_memory_bytes: settings.serve.transfer_memory.0,
        counters: shows_page(settings).then(|| device.counters()),
        region: settings.serve.region.as_deref().map(Into::into),
        ..Options::default()
    };
    Ok(Gateway::open(device, options).await?)
}

/// Serves until Ctrl-C or until the vault stops, then closes everything.
async fn serve(
    ready: PreparedServer,
    gateway: Gateway,
    counters: RequestCounters,
    demonstration: Option<DemonstrationParts>,
    mut resumptions: Option<Resumptions>,
) -> Result<Exit> {
    announce(&ready, demonstration.as_ref())?;
    let mut running = Running::start(ready, gateway, counters, demonstration)?;
    if wait(&running.device, &mut running.interrupts, resumptions.as_mut()).await {
        tracing::error!("the vault has stopped: the server stops too");
    } else {
        print_line!(
            "Stopping: finishing requests and flushing the vault. Press Ctrl-C again to stop at once."
        );
    }
    // A second Ctrl-C is like a crash: the next start has all acknowledged changes.
    Interrupts::finish_unless_repeated(running.stop()).await
}

/// Prints the vault, its addresses and other information for the owner.
fn announce(ready: &PreparedServer, demonstration: Option<&DemonstrationParts>) -> Result<()> {
    let data_flag = ready.vaults.settings.data.flag();
    let addresses = ready.listeners.addresses(&ready.vaults.settings, &data_flag)?;
    let credentials = ready.vaults.settings.data.credentials();
    let reader = Reader::of_output(&credentials);
    let password = ready.password.as_deref().map(String::as_str);
    print_line!("{}", banner::serving(&ready.summary, &addresses, &ready.users, password, reader));
    if let Some(demonstration) = demonstration {
        print_line!("{}", banner::demonstration(ready.vaults.settings.data.root(), demonstration.pattern));
    }
    if let Some(replaced) = &ready.vaults.replaced {
        print_line!("{}", replaced.render());
    }
    if let Some(successor) = &ready.vaults.successor {
        print_line!("{}", successor.render());
    }
    Ok(())
}

/// Waits for Ctrl-C, for a request to terminate, or until the vault stops. If the machine is resumed from a snapshot,
/// it stops the vault itself. Returns true if the vault has stopped.
async fn wait(
    device: &VaultDevice,
    interrupts: &mut Interrupts,
    resumptions: Option<&mut Resumptions>,
) -> bool {
    let failure = async {
        while device.failure().is_none() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    // A copy of this machine may serve the same vault, so this one must stop.
    let resumed = async {
        match resumptions {
            Some(resumptions) => resumptions.next().await,
            None => std::future::pending().await,
        }
        device.stop_after_resume().await;
    };
    tokio::select! {
        () = interrupts.next() => false,
        () = failure => true,
        () = resumed => true,
    }
}

fn padding(requested: &Padding) -> ameles_gateway::Padding {
    match requested {
        Padding::None => ameles_gateway::Padding::None,
        Padding::Power2 => ameles_gateway::Padding::PowersOfTwo,
    }
}
