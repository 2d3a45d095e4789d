//! Front ends that show which paths they save.

use crate::oram::{Access, Bounds, Oram, OramError};
use crate::schemes::freecursive::{FreecursiveOram, NextPath};
use crate::store::Store;
use rand_core::{RngCore, SeedableRng};

/// A Freecursive ORAM in which no dummies stand in for the paths that its buffer, its stash and its tree top save.
pub struct ShowsHits<S: Store, R>(pub FreecursiveOram<S, R>);

/// A Freecursive ORAM in which dummies stand in for paths of PosMap blocks only: an answer without a path shows.
pub struct ShowsAnswers<S: Store, R>(pub FreecursiveOram<S, R>);

/// A Freecursive ORAM with counters in which no dummy stands in for the remap turn that no group needs. Dummies stand
/// in for the other paths that are saved.
pub struct ShowsRemapTurns<S: Store, R>(pub FreecursiveOram<S, R>);

async fn settle<O: Oram>(oram: &O) -> Result<(), OramError<O::Error>> {
    while oram.pending_steps() > 0 {
        oram.step().await?;
    }
    Ok(())
}

macro_rules! front_end {
    ($name:ident, $oram:ident, $access:ident => $serve:expr) => {
        wraps!([S: Store, R: RngCore + SeedableRng] $name<S, R>, S::Error, 0, mutant, batch => {
            let $oram = &mutant.0;
            for $access in batch {
                settle($oram).await?;
                $serve
            }
            Ok(())
        });
    };
}
front_end!(ShowsHits, oram, access => {
    let Some(block) = access.block() else {
        oram.tree().dummy().await?;
        continue;
    };
    if oram.answer(block, |payload| access.serve(payload))?.is_some() {
        continue;
    }
    while let NextPath::PosMap(lacking) = oram.next(block)? {
        oram.fetch(lacking).await?;
        settle(oram).await?;
    }
    oram.access_block(block, |payload| access.serve(payload)).await?;
});
front_end!(ShowsRemapTurns, oram, access => {
    let mut paths = oram.parameters().paths_per_access() - 1;
    if let Some(block) = access.block() {
        let mut has_turned = false;
        loop {
            let next = oram.next(block)?;
            let renewed = if let NextPath::PosMap(lacking) = next { lacking } else { block };
            if !has_turned && oram.remap_straggler(renewed).await? {
                has_turned = true;
                settle(oram).await?;
            }
            paths -= 1;
            if next == NextPath::Block {
                break;
            }
            oram.fetch(renewed).await?;
            settle(oram).await?;
        }
        oram.access_block(block, |payload| access.serve(payload)).await?;
    }
    for _ in 0..paths {
        settle(oram).await?;
        oram.tree().dummy().await?;
    }
});
front_end!(ShowsAnswers, oram, access => {
    let answered = match access.block() {
        Some(block) => oram.answer(block, |payload| access.serve(payload))?.is_some(),
        None => false,
    };
    if !answered {
        oram.access(core::slice::from_mut(access)).await?;
    }
});
