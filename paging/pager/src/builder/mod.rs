//! The builder of a scheme over sealed pages in shared memory, with a fresh key.

mod built;
mod pool;
pub(crate) mod thread_cost;
mod worker_process;

pub(crate) use built::Built;

use crate::error::Error;
#[cfg(target_env = "gnu")]
use crate::linux::own_stack::OwnStack;
use crate::options::Options;
use crate::shared::SharedMapping;
use built::Equipment;
use pool::pool;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::sync::Arc;
use worker_process::build_with_worker;

/// Builds the scheme with its key, on a stack that is dropped afterwards, so that no child inherits traces of the key.
pub(crate) fn build(options: &Options, shared: &Arc<SharedMapping>) -> Result<Built, Error> {
    #[cfg(target_env = "gnu")]
    {
        let refused = |errno| Error::System { what: "a stack", errno };
        let stack = OwnStack::inherited().map_err(refused)?;
        stack.run(|| build_here(options, Arc::clone(shared)))
    }
    #[cfg(not(target_env = "gnu"))]
    build_here(options, Arc::clone(shared))
}

/// Builds the scheme on the caller's stack.
fn build_here(options: &Options, shared: Arc<SharedMapping>) -> Result<Built, Error> {
    let mut rng = ChaCha20Rng::try_from_os_rng().map_err(|error| Error::Entropy(error.into()))?;
    if let Some(mode) = options.work_mode() {
        return build_with_worker(mode, options, shared, &mut rng);
    }
    let pool = options.scheme.is_parallel().then(|| pool(options)).transpose()?;
    let equipment = Equipment { pool, extra_threads: 0, meters: options.listeners.meters };
    Ok(options.fault_path_builder().build(shared, rng, equipment)?)
}
