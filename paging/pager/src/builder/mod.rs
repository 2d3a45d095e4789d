//! A scheme over sealed pages in shared memory, with a fresh key.

mod built;
mod pool;
mod worker_process;
pub(crate) mod worth;

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

/// Builds the scheme with its key. Its traces on the stack go, so that no child has them.
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

/// The same on the caller's stack.
fn build_here(options: &Options, shared: Arc<SharedMapping>) -> Result<Built, Error> {
    let mut rng = ChaCha20Rng::try_from_os_rng().map_err(|error| Error::Entropy(error.into()))?;
    if let Some(manner) = options.manner() {
        return build_with_worker(manner, options, shared, &mut rng);
    }
    let pool = options.scheme.is_parallel().then(|| pool(options)).transpose()?;
    let equipment = Equipment { pool, beside: 0, meters: options.listeners.meters };
    Ok(options.assembly().build(shared, rng, equipment)?)
}
