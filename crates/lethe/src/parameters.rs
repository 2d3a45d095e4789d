//! From settings to the parameters of a vault, and from those to what its owner wants to know.

use crate::banner::VaultSummary;
use crate::config::{Cipher, Scheme, Settings};
use crate::size::Size;
use anyhow::{Context, Result};
use lethe_core::schemes::path::PathParameters;
use lethe_core::schemes::ring::RingParameters;
use lethe_core::schemes::trivial::TrivialParameters;
use lethe_seal::cipher;
use lethe_store::{Prices, Usage};
use lethe_vault::{SchemeParameters, VaultParameters};

/// The largest batch when nothing else is said: enough that sixteen clients share every round trip.
const MAX_BATCH: u32 = 16;
/// The share of the payload that the trusted side may hold when nothing else is said.
const TRUSTED_SHARE: u64 = 16;

/// The parameters that the settings ask for.
///
/// # Errors
/// What the scheme refuses, with what to change.
pub fn vault_parameters(settings: &Settings) -> Result<VaultParameters> {
    let (capacity, scheme) = (settings.blocks(), &settings.scheme);
    let block_bytes = u32::try_from(settings.block_size.0).context("--block-size is too large")?;
    let batch = scheme.max_batch.unwrap_or(MAX_BATCH);
    let top = scheme.tree_top.map_or(capacity / TRUSTED_SHARE, |top| top.0 / settings.block_size.0);
    let parameters = match scheme.scheme {
        Scheme::Ring => {
            let mut ring = RingParameters::for_capacity(capacity, block_bytes, top, batch);
            if scheme.a.is_some() || scheme.z.is_some() || scheme.s.is_some() {
                ring = ring.adjusted(scheme.z, scheme.s, scheme.a);
            }
            ring.validate()?;
            SchemeParameters::Ring(ring)
        }
        Scheme::Path => {
            let mut path = PathParameters::for_capacity(capacity, block_bytes, top, batch)?;
            if let Some(z) = scheme.z {
                path.blocks_per_bucket = z;
                path.validate()?;
            }
            SchemeParameters::Path(path)
        }
        Scheme::Trivial => {
            let trivial = TrivialParameters { capacity, block_bytes, chunk_blocks: batch, max_batch: batch };
            trivial.validate()?;
            SchemeParameters::Trivial(trivial)
        }
    };
    let cipher = match scheme.cipher {
        Cipher::Aes256Gcm => cipher::Cipher::Aes256Gcm,
        Cipher::Aegis256 => cipher::Cipher::Aegis256,
        Cipher::Aegis128L => cipher::Cipher::Aegis128L,
        Cipher::ChaCha20Poly1305 => cipher::Cipher::ChaCha20Poly1305,
    };
    Ok(VaultParameters {
        cipher: cipher.number(),
        pad_batches: scheme.pad_batches,
        ..VaultParameters::around(parameters)
    })
}

/// What the owner of such a vault wants to know.
pub fn summary(
    parameters: &VaultParameters,
    store: String,
    fresh: bool,
    prices: Option<&Prices>,
) -> VaultSummary {
    let scheme = &parameters.scheme;
    let block = u64::from(scheme.block_bytes());
    let stored = parameters.stored_bytes();
    let usage = Usage { stored_bytes: stored, ..Usage::default() };
    VaultSummary {
        fresh,
        scheme: scheme.name().into(),
        parameters: described(scheme),
        capacity: Size(scheme.capacity() * block),
        block_size: Size(block),
        store,
        stored: Size(stored),
        moved_per_byte: scheme.bytes_per_byte(),
        trusted: Size(parameters.trusted_bytes()),
        dollars_per_month: prices.map(|prices| prices.bill(&usage).storage_per_month),
    }
}

fn described(scheme: &SchemeParameters) -> Vec<(String, String)> {
    let named = |name: &str, value: u64| (name.to_owned(), value.to_string());
    match scheme {
        SchemeParameters::Ring(ring) => vec![
            named("Z", ring.inner.blocks.into()),
            named("leaf Z", ring.leaf.blocks.into()),
            named("S", ring.reads.into()),
            named("A", ring.eviction_rate.into()),
            named("L", ring.leaf_level.into()),
            named("tree top", ring.top.into()),
            named("batch", ring.max_batch.into()),
            ("position map".into(), "flat".into()),
        ],
        SchemeParameters::Path(path) => vec![
            named("Z", path.blocks_per_bucket.into()),
            named("L", path.leaf_level.0.into()),
            named("tree top", path.top.0.into()),
            named("batch", path.max_batch.into()),
            ("position map".into(), "flat".into()),
        ],
        SchemeParameters::Trivial(trivial) => {
            vec![named("chunk", trivial.chunk_blocks.into()), named("batch", trivial.max_batch.into())]
        }
    }
}
