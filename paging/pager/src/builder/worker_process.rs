//! DetWoORAM whose page jobs a second process runs.

use super::built::{Built, Equipment};
use crate::error::Error;
use crate::fault_path_builder::Platform;
use crate::linux::worker_process::WorkerProcess;
use crate::options::{HandlerProcessor, Options};
use crate::page::PAGE_BYTES;
use crate::scheme_error::SchemeError;
use crate::shared::SharedMapping;
use ameles_core::schemes::detworam::DetWoOram;
use ameles_seal::pages::{PageKey, ScheduledVersions, SealedPages, SealedSlots, Versions, WorkMode};
use rand_chacha::ChaCha20Rng;
use std::sync::Arc;

/// Builds the fault path: eager, parallel or both, by the mode of the second process.
pub(super) fn build_with_worker(
    mode: WorkMode,
    options: &Options,
    shared: Arc<SharedMapping>,
    rng: &mut ChaCha20Rng,
) -> Result<Built, Error> {
    let (fault_path, areas) = (options.fault_path_builder(), options.fault_path_builder().areas());
    areas.validate().map_err(SchemeError::from)?;
    let (layout, schedule) = (areas.layout(), areas.schedule().map_err(SchemeError::from)?);
    let [key, worker_key] = PageKey::draw_shared(options.cipher, rng);
    let mut slots = SealedSlots::new(shared.view(), &layout, worker_key).map_err(SchemeError::from)?;
    if let Some(meters) = options.listeners.meters {
        slots = slots.with_meter(meters.worker);
    }
    // The jobs of one write, and those that prefetch the pages of the next, may be in flight.
    let capacity = 4 * (schedule.max_refreshes() as usize + 1);
    let excluded = match options.handler.processor {
        HandlerProcessor::Bound(processor) => Some(processor),
        HandlerProcessor::Together | HandlerProcessor::Any => None,
    };
    let worker = WorkerProcess::start(capacity, slots, excluded)?;
    let versions = ScheduledVersions::new(&schedule);
    let bytes = versions.trusted_bytes() as usize + worker.bytes() + PAGE_BYTES + options.cipher.tag_bytes();
    let pages = SealedPages::new(shared, &layout, key, versions).map_err(SchemeError::from)?;
    let equipment = Equipment { pool: None, extra_threads: 1, meters: options.listeners.meters };
    let pages = equipment.equip(pages.with_worker(Box::new(worker), mode));
    let oram = DetWoOram::new(areas, pages).map_err(SchemeError::from)?;
    Ok(fault_path.end::<Arc<SharedMapping>, _, _>(bytes + oram.trusted_bytes(), oram, equipment)?)
}
