//! The memory of a whole process that serves a vault: usually, with a full, busy vault, and at most.
//!
//! The sum was measured for vaults of 256 MiB to 2 GiB (`tests/clients/bench_memory.py`, docs/reference/figures.md).

use super::trusted_memory::{TrustedMemory, buckets_on_paths};
use crate::config::ServeSettings;
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::ring::RingParameters;
use ameles_gateway::catalogue::MEMORY_PER_ROW_BYTE;
use ameles_gateway::http::server::Limits;
use ameles_vault::{DATABASE_CACHE, SchemeParameters, VaultParameters};

/// The program with its usual connections.
const PROGRAM: u64 = 28 << 20;
/// The maximum memory of a connection, without the blocks of its transfer.
pub const CONNECTION: u64 = 256 << 10;
/// The overhead of a sealed slot over its block, with a block's entry in a list.
const SEAL: u64 = 80;

/// Returns the usual bytes of memory of a process that serves a vault with these parameters.
pub fn process_memory(parameters: &VaultParameters) -> u64 {
    let TrustedMemory { usual, resting_blocks, .. } = TrustedMemory::of(parameters);
    let scheme = &parameters.scheme;
    // A checkpoint seals the payloads that entered the stash and stayed.
    let checkpoint = parameters.checkpoint_every.min(resting_blocks) * u64::from(scheme.block_bytes());
    let in_flight = match scheme {
        SchemeParameters::Ring(ring) => ring_in_flight(ring),
        SchemeParameters::Path(path) => path_in_flight(path),
        // The chunk in sealed form, and during its transfer.
        SchemeParameters::Trivial(trivial) => {
            2 * u64::from(trivial.chunk_blocks) * u64::from(trivial.block_bytes)
        }
    };
    usual + checkpoint + in_flight + DATABASE_CACHE + PROGRAM
}

/// Returns the maximum bytes of memory of a process that serves a vault with these parameters. The maximum has a full
/// catalogue of names, and all admitted transfers and connections.
pub fn max_process_memory(parameters: &VaultParameters, serve: &ServeSettings) -> u64 {
    let scheme = &parameters.scheme;
    let block = u64::from(scheme.block_bytes());
    let batches = 8 * u64::from(scheme.max_batches() * scheme.max_batch()) * (block + SEAL);
    let in_flight = match scheme {
        // For each of two steps, a slice in the clear and sealed.
        SchemeParameters::Ring(ring) => 4 * ring.largest_slice() * (block + SEAL),
        SchemeParameters::Path(path) => path_in_flight(path),
        SchemeParameters::Trivial(trivial) => 2 * u64::from(trivial.chunk_blocks) * (block + SEAL),
    };
    let listeners = 1 + u64::from(serve.swift.is_some());
    // TLS takes about the same amount in addition.
    let connection = CONNECTION << u64::from(serve.tls.is_some());
    let connections = listeners * Limits::default().connections as u64 * connection;
    let names = MEMORY_PER_ROW_BYTE * parameters.rows_bytes;
    let vault = TrustedMemory::of(parameters).max + in_flight + batches + parameters.checkpoint_memory();
    vault + names + serve.transfer_memory.0 + connections + DATABASE_CACHE + PROGRAM
}

/// Returns the bytes of the steps in flight. They are two slices in the clear and sealed, a copy of one in transfer,
/// and the sealed slots of a slice that is read.
fn ring_in_flight(ring: &RingParameters) -> u64 {
    let slots = ring.largest_slice();
    (5 * slots + slots.min(ring.blocks_on_path())) * u64::from(ring.block_bytes)
}

/// Returns the bytes of batches in flight, without the buffers that count as trusted memory. They are the paths of one
/// batch that is read and of one that is written, sealed and in transfer.
fn path_in_flight(path: &PathParameters) -> u64 {
    let bucket = u64::from(path.blocks_per_bucket) * u64::from(path.block_bytes);
    4 * buckets_on_paths(path, path.max_batch.into()) * bucket
}
