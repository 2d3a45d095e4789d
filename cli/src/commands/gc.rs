//! `ameles gc`

use super::vault_flags::VaultFlags;
use crate::config::size::Size;
use crate::config::{Config, PricesConfig, Settings, VaultConfig};
use crate::report::count::count;
use crate::runtime::exit::Exit;
use crate::runtime::output::{print_line, write};
use crate::vault::home::{Home, Opening};
use ameles_store::{Prices, Usage};
use ameles_vault::{Orphans, Removed, Tally, find_orphans};
use anyhow::Result;
use clap::Args;

/// The maximum number of names to print for each kind.
const MAX_NAMES: usize = 10;

#[derive(Args)]
#[command(
    after_help = "Finds objects that no state of the vault needs: leftovers of crashes, of an older vault, or of other programs. \
Without --remove, nothing is removed. --remove removes only objects that have a name of this vault and that are older than \
its newest state, or that no gateway of this vault wrote. With an older copy of the trusted folder, the command refuses: the \
store belongs to the other gateway. Do not delete objects by hand.

Examples:
  ameles gc
  ameles gc --remove"
)]
pub(super) struct Arguments {
    /// Remove this vault's unneeded objects
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    vault: VaultFlags,
    #[command(flatten)]
    prices: PricesConfig,
}

impl Arguments {
    pub(super) fn removes(&self) -> bool {
        self.remove
    }

    pub(super) fn apply_to(self, config: Config) -> Config {
        let Arguments { vault, prices, .. } = self;
        vault.apply_to(config).overlay(Config { prices, ..Config::default() })
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
    let print_requests = || print_line!("  {:<15} {}", "requests", requests(&meter.usage(), prices.as_ref()));
    let is_intact = found.spoilt.is_empty() && found.missing.is_empty();
    let exit = if is_intact { Exit::Success } else { Exit::Tampering };
    if !is_intact {
        print_line!("The store changed or lost objects in use: `ameles check` names them all.");
    }
    let dead = found.dead();
    if dead.objects == 0 {
        print_requests();
        return Ok(exit);
    }
    if !removes {
        print_requests();
        print_line!(
            "`ameles gc --remove` would take {}, {} and one or two lists.",
            count(dead.objects, "deletion"),
            count(found.dead_checkpoints.objects, "read")
        );
        return Ok(exit);
    }
    let Removed { buckets, checkpoints, unfinished, not_ours } =
        found.remove(&setup.store, &setup.master).await?;
    print_line!(
        "Removed {}, {} and {}.",
        count(buckets, "bucket"),
        count(checkpoints, "checkpoint"),
        count(unfinished, "unfinished file")
    );
    if not_ours > 0 {
        let kept = count(not_ours, "object");
        print_line!("Kept {kept}, named like a checkpoint but not sealed with this vault's key.");
    }
    print_requests();
    Ok(exit)
}

async fn foreign(opening: &Opening) -> Result<ForeignObjects> {
    let mut foreign = ForeignObjects::default();
    opening
        .objects()
        .list_unknown(&mut |name, bytes| {
            foreign.tally.add(bytes.0);
            if foreign.names.len() < MAX_NAMES {
                foreign.names.push(name.to_owned());
            }
        })
        .await?;
    Ok(foreign)
}

/// Renders the result, one line for each kind of object.
fn render(found: &Orphans, foreign: &ForeignObjects) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<15} {value}\n"));
    let size = |of: &Tally| format!("{}, {}", count(of.objects, "object"), Size(of.bytes));
    line("in use", size(&found.in_use));
    line("kept", format!("{}: replaced buckets that a recovery or a restore may need", size(&found.kept)));
    line("dead buckets", size(&found.dead_buckets));
    line("old checkpoints", size(&found.dead_checkpoints));
    line(
        "planted",
        format!(
            "{}: newer than the newest state, and not written by a gateway of this vault",
            size(&found.planted)
        ),
    );
    let name_list = |names: &[String], all: usize| {
        let names_shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| format!("{name:?}")).collect();
        let suffix = if all > names_shown.len() { ", …" } else { "" };
        if names_shown.is_empty() { String::new() } else { format!(": {}{suffix}", names_shown.join(", ")) }
    };
    let (spoilt, missing, newer) = (&found.spoilt, &found.missing, &found.newer);
    let spoilt_text = format!(
        "{} in use or kept, of the wrong size{}",
        count(spoilt.len() as u64, "object"),
        name_list(spoilt, spoilt.len())
    );
    line("spoilt", spoilt_text);
    let number = |names: &[String], noun: &str| count(names.len() as u64, noun);
    line("missing", format!("{} in use{}", number(missing, "bucket"), name_list(missing, missing.len())));
    line("newer", format!("{}, left alone{}", number(newer, "object"), name_list(newer, newer.len())));
    let names: Vec<String> = found.foreign.iter().chain(&foreign.names).cloned().collect();
    let all = found.foreign.len() + foreign.tally.objects as usize;
    line("foreign", format!("{}, left alone{}", count(all as u64, "object"), name_list(&names, all)));
    text
}

/// Renders the requests so far.
fn requests(usage: &Usage, prices: Option<&Prices>) -> String {
    let dollars = prices.map(|prices| format!(", ${:.4}", prices.bill(usage).spent())).unwrap_or_default();
    let [lists, reads, deletions] =
        [(usage.lists, "list"), (usage.gets(), "read"), (usage.deletes(), "deletion")]
            .map(|(of, noun)| count(of, noun));
    format!("{lists}, {reads}, {deletions}{dollars}")
}
