//! `ameles serve`

mod administration;
mod device;
mod expiry;
mod ready;
mod running;
mod servers;
mod status;

use super::vault_flags::ShapeFlags;
use crate::config::{Config, Padding, PricesConfig, ServeConfig, Settings, VaultConfig};
use crate::demonstration::{
    BareStore, DemonstrationFolder, OBJECTS, ObliviousFlag, Pattern, Switch, put_objects, read_on,
};
use crate::report::banner::{self, Reader};
use crate::runtime::exit::Exit;
use crate::runtime::interrupt::Interrupts;
use crate::runtime::output::say;
use crate::runtime::progress;
use crate::runtime::resume_events::Resumptions;
use crate::vault::device::VaultDevice;
use administration::shows_page;
use ameles_gateway::page::{CountingDevice, RequestCounters};
use ameles_gateway::{Gateway, Options};
use anyhow::{Context, Result};
use clap::Args;
use device::ServedDevice;
use ready::{Ready, open};
use running::{DemonstrationParts, Running};
use std::time::Duration;

#[derive(Args)]
#[command(after_help = "Examples:
  ameles serve
  ameles serve --capacity 10GiB --store s3://my-bucket/ameles
  ameles serve --config ameles.toml --listen 127.0.0.1:9000
  ameles serve --pace 500ms --prices s3-standard
  ameles serve --demonstration")]
pub(super) struct Arguments {
    #[command(flatten)]
    serve: ServeConfig,
    #[command(flatten)]
    shaped: ShapeFlags,
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
        let Arguments { serve, shaped, prices, demonstration: _ } = self;
        shaped.over(config).overlaid(Config { serve, prices, ..Config::default() })
    }
}

pub(super) async fn run(settings: Settings, asked: &VaultConfig) -> Result<Exit> {
    // From before the claim on: a copy of this machine would take the claim for its own.
    let resumptions = Resumptions::listen();
    let ready = open(&settings, asked).await?;
    let device = CountingDevice::new(ServedDevice::new(ready.device.clone()));
    let counters = device.counters();
    let gateway = gateway(&ready.settings, device).await?;
    serve(ready, gateway, counters, None, resumptions).await
}

/// Serves a vault that goes when it ends, and whose ORAM can be switched off.
pub(super) async fn demonstrate(settings: Settings, stage: &DemonstrationFolder) -> Result<Exit> {
    say!("Making a small vault and {OBJECTS} objects to look at; the link to the page follows.");
    let mut ready = open(&settings, &VaultConfig::default()).await?;
    let vault = ready.device.vault().clone();
    let cipher = vault.header().parameters.cipher()?;
    let folder = stage.bare_folder();
    let making = BareStore::make(&folder, cipher, vault.capacity(), vault.block_bytes());
    let bare = ready.interrupts.cut_off(making).await?;
    let (oblivious, bare_provider) = (ObliviousFlag::on(), bare.provider());
    let device = CountingDevice::new(ServedDevice::beside(ready.device.clone(), bare, oblivious.clone()));
    let counters = device.counters();
    let switch = Switch::new(oblivious, vault, ready.provider.clone(), bare_provider, counters.clone());
    let gateway = gateway(&settings, device).await?;
    let bar = progress::steps("putting objects", OBJECTS);
    let putting =
        async { put_objects(&gateway, || bar.inc(1)).await.context("putting the demonstration's objects") };
    ready.interrupts.cut_off(putting).await?;
    bar.finish_and_clear();
    switch.reset();
    let reading = tokio::spawn(read_on(gateway.clone(), stage.pattern));
    let demonstrated = DemonstrationParts { pattern: stage.pattern, switch, reading };
    serve(ready, gateway, counters, Some(demonstrated), None).await
}

async fn gateway(settings: &Settings, device: CountingDevice<ServedDevice>) -> Result<Gateway> {
    let options = Options {
        padding: padding(&settings.serve.padding),
        memory: settings.serve.transfer_memory.0,
        counters: shows_page(settings).then(|| device.counters()),
        region: settings.serve.region.as_deref().map(Into::into),
        ..Options::default()
    };
    Ok(Gateway::open(device, options).await?)
}

/// Serves until Ctrl-C or the vault's end, and ends what was begun.
async fn serve(
    ready: Ready,
    gateway: Gateway,
    counters: RequestCounters,
    demonstrated: Option<DemonstrationParts>,
    mut resumptions: Option<Resumptions>,
) -> Result<Exit> {
    announce(&ready, demonstrated.as_ref())?;
    let mut running = Running::start(ready, gateway, counters, demonstrated)?;
    if wait(&running.device, &mut running.interrupts, resumptions.as_mut()).await {
        tracing::error!("the vault has stopped; the server ends");
    } else {
        say!("Stopping: requests under way are finished, the vault is flushed. Ctrl-C again stops at once.");
    }
    // Cut off, it is as after a crash: acknowledged changes are there at the next opening.
    Interrupts::unless_repeated(running.stop()).await
}

/// Prints the vault that is served, its addresses, and whatever else there is to know.
fn announce(ready: &Ready, demonstrated: Option<&DemonstrationParts>) -> Result<()> {
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

/// Waits for Ctrl-C, a request to terminate, or the vault's end, be it because the machine was resumed from a snapshot;
/// `true` for the last.
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
    // A copy of this machine may serve the same vault: nothing more is answered.
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

fn padding(asked: &Padding) -> ameles_gateway::Padding {
    match asked {
        Padding::None => ameles_gateway::Padding::None,
        Padding::Power2 => ameles_gateway::Padding::PowersOfTwo,
    }
}
