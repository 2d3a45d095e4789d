//! DetWoORAM whose pages a second process carries.

use super::built::{Built, Equipment};
use crate::assembly::Platform;
use crate::error::Error;
use crate::linux::worker_process::WorkerProcess;
use crate::options::{HandlerProcessor, Options};
use crate::page::PAGE_BYTES;
use crate::scheme_error::SchemeError;
use crate::shared::SharedMapping;
use ameles_core::schemes::detworam::DetWoOram;
use ameles_seal::pages::{SealedSlots, PageKey, ScheduledVersions, SealedPages, Versions, WorkMode};
use rand_chacha::ChaCha20Rng;
use std::sync::Arc;

/// Builds it: eager, parallel or both, by the manner in which the process carries pages.
pub(super) fn build_with_worker(
    manner: WorkMode,
    options: &Options,
    shared: Arc<SharedMapping>,
    rng: &mut ChaCha20Rng,
) -> Result<Built, Error> {
    let (assembly, areas) = (options.assembly(), options.assembly().areas());
    areas.validate().map_err(SchemeError::from)?;
    let (layout, schedule) = (areas.layout(), areas.schedule().map_err(SchemeError::from)?);
    let [key, key_beside] = PageKey::draw_shared(options.cipher, rng);
    let mut slots = SealedSlots::new(shared.view(), &layout, key_beside).map_err(SchemeError::from)?;
    if let Some(meters) = options.listeners.meters {
        slots = slots.with_meter(meters.beside);
    }
    // As many turns may be under way as one write takes with those that are read ahead for the next one.
    let room = 4 * (schedule.max_refreshes() as usize + 1);
    let not_on = match options.handler.processor {
        HandlerProcessor::Bound(processor) => Some(processor),
        HandlerProcessor::Together | HandlerProcessor::Any => None,
    };
    let beside = WorkerProcess::start(room, slots, not_on)?;
    let versions = ScheduledVersions::new(&schedule);
    let bytes = versions.trusted_bytes() as usize + beside.bytes() + PAGE_BYTES + options.cipher.tag_bytes();
    let pages = SealedPages::new(shared, &layout, key, versions).map_err(SchemeError::from)?;
    let equipment = Equipment { pool: None, beside: 1, meters: options.listeners.meters };
    let pages = equipment.equip(pages.with_worker(Box::new(beside), manner));
    let oram = DetWoOram::new(areas, pages).map_err(SchemeError::from)?;
    let bytes = bytes + oram.trusted_bytes();
    Ok(assembly.end::<Arc<SharedMapping>, _, _>(oram, bytes, equipment)?)
}
