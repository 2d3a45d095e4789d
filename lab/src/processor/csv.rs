//! All rows as comma-separated values.

use super::row::Row;
use crate::report::field;
use std::io::{self, Write};

pub(super) fn write<'a>(rows: impl IntoIterator<Item = &'a Row>, into: &mut impl Write) -> io::Result<()> {
    writeln!(
        into,
        "as,program,scheme,pace,path_blocks,cycles,instructions,loads,stores,written_back,paths,data,posmap1,posmap2,\
         posmap_all,dummy,background,evictions,early,stash_hits,top_hits,top_share,top_share_with_posmap,put_in,early_lines,reads,writes,nanojoules,seed,on_chip"
    )?;
    for row in rows {
        let (counts, processor, work) = (row.counts(), row.outcome.processor, row.outcome.work);
        let posmap = |level: usize| counts.posmap.get(level).copied().unwrap_or(0);
        let numbers = [
            row.path_blocks,
            row.outcome.cycles.0,
            processor.instructions,
            processor.loads,
            processor.stores,
            processor.written_back,
            counts.paths(),
            counts.data,
            posmap(0),
            posmap(1),
            counts.posmap_paths(),
            counts.dummy,
            counts.background,
            counts.evictions + counts.reshuffles,
            counts.early,
            counts.stash_hits,
            counts.top_hits.iter().sum(),
        ];
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        writeln!(
            into,
            "{},{},{},{},{},{:.6},{:.6},{},{},{},{},{:.0},{},{}",
            row.preset,
            field(&row.program),
            row.scheme,
            row.pace,
            numbers.join(","),
            row.top_share(),
            row.top_share_with_posmap(),
            counts.put_in,
            counts.early_lines,
            work.reads,
            work.writes,
            row.outcome.energy.total().0 / 1000.0,
            row.seed,
            row.on_chip
        )?;
    }
    Ok(())
}
