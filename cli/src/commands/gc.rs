//! `ameles gc`

use super::vault_flags::VaultFlags;
use crate::config::size::Size;
use crate::config::{Config, PricesConfig, Settings, VaultConfig};
use crate::runtime::exit::Exit;
use crate::runtime::output::{say, write};
use crate::vault::home::{Home, Opening};
use ameles_store::{Prices, Usage};
use ameles_vault::{Orphans, Removed, Tally, find_orphans};
use anyhow::Result;
use clap::Args;

/// Names of a kind that are shown.
const SHOWN: usize = 10;

#[derive(Args)]
#[command(
    after_help = "Looks for what no live state of the vault names: left by crashes, by an older vault, by somebody \
else. Nothing is removed unless --remove is given; and then only what bears a name of this vault's own and is older than \
its newest state, or was written by no gateway of this vault. With an older copy of the trusted folder it refuses: what \
the store holds is the other gateway's. Delete nothing by hand.

Examples:
  ameles gc
  ameles gc --remove"
)]
pub(super) struct Arguments {
    /// Remove what is this vault's own and dead
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    found: VaultFlags,
    #[command(flatten)]
    prices: PricesConfig,
}

impl Arguments {
    pub(super) fn removes(&self) -> bool {
        self.remove
    }

    pub(super) fn over(self, config: Config) -> Config {
        let Arguments { found, prices, .. } = self;
        found.over(config).overlaid(Config { prices, ..Config::default() })
    }
}

/// The objects in the store that belong to no vault.
#[derive(Default)]
struct ForeignObjects {
    tally: Tally,
    names: Vec<String>,
}

pub(super) async fn run(settings: Settings, removes: bool) -> Result<Exit> {
    let home = Home::new(&settings);
    let prices = home.prices()?;
    let opening = home.find(&VaultConfig::default()).await?;
    let (setup, meter) = (opening.setup(), opening.meter());
    let found = find_orphans(&setup.disk, &setup.store, &setup.master).await?;
    let foreign = foreign(&opening).await?;
    write(format_args!("{}", render(&found, &foreign)));
    say!("  {:<15} {}", "requests", spent(&meter.usage(), prices.as_ref()));
    let dead = found.dead();
    if dead.objects == 0 {
        return Ok(Exit::Success);
    }
    if !removes {
        let reads = found.dead_checkpoints.objects;
        say!("`ameles gc --remove` takes {} deletions, {reads} reads and a list or two.", dead.objects);
        return Ok(Exit::Success);
    }
    let Removed { buckets, checkpoints, unfinished, not_ours } =
        found.remove(&setup.store, &setup.master).await?;
    say!("Removed {buckets} buckets, {checkpoints} checkpoints and {unfinished} unfinished files.");
    if not_ours > 0 {
        say!("{not_ours} under a checkpoint's name were not sealed with this vault's key, and stay.");
    }
    say!("  {:<15} {}", "requests", spent(&meter.usage(), prices.as_ref()));
    Ok(Exit::Success)
}

async fn foreign(opening: &Opening) -> Result<ForeignObjects> {
    let mut foreign = ForeignObjects::default();
    opening
        .objects()
        .list_unknown(&mut |name, bytes| {
            foreign.tally.add(bytes.0);
            if foreign.names.len() < SHOWN {
                foreign.names.push(name.to_owned());
            }
        })
        .await?;
    Ok(foreign)
}

/// The findings, a line a kind.
fn render(found: &Orphans, foreign: &ForeignObjects) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<15} {value}\n"));
    let size = |of: &Tally| format!("{} objects, {}", of.objects, Size(of.bytes));
    line("in use", size(&found.in_use));
    line("kept", format!("{}: replaced buckets that a recovery or a restore may read", size(&found.kept)));
    line("dead buckets", size(&found.dead_buckets));
    line("old checkpoints", size(&found.dead_checkpoints));
    line(
        "planted",
        format!(
            "{}: newer than the newest state, and no gateway of this vault wrote them",
            size(&found.planted)
        ),
    );
    let left = |names: &[String], all: usize| {
        let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect();
        let more = if all > shown.len() { ", …" } else { "" };
        if shown.is_empty() { String::new() } else { format!(": {}{more}", shown.join(", ")) }
    };
    let (spoilt, newer) = (&found.spoilt, &found.newer);
    let cut =
        format!("{} objects in use or kept, of the wrong size{}", spoilt.len(), left(spoilt, spoilt.len()));
    line("spoilt", cut);
    line("newer", format!("{} objects, left alone{}", newer.len(), left(newer, newer.len())));
    let names: Vec<String> = found.foreign.iter().chain(&foreign.names).cloned().collect();
    let all = found.foreign.len() + foreign.tally.objects as usize;
    line("foreign", format!("{all} objects, left alone{}", left(&names, all)));
    text
}

/// The requests so far.
fn spent(usage: &Usage, prices: Option<&Prices>) -> String {
    let dollars = prices.map(|prices| format!(", ${:.4}", prices.bill(usage).spent())).unwrap_or_default();
    format!("{} lists, {} reads, {} deletions{dollars}", usage.lists, usage.gets(), usage.deletes())
}
