// The small controllers whose cells are proven: the narrowest bus, and as few blocks and buckets as a proof needs, unless it
// says otherwise.
package proof_pkg;

  import ameles_pkg::*;

  function automatic config_t tiny(
    bit raw, int unsigned leaf_level, int unsigned blocks_per_bucket, int unsigned stash_blocks, int unsigned block_beats,
    int unsigned top_levels = 0, int unsigned scan_lanes = 1, int unsigned tag_bits = 0, int unsigned eviction_rate = 1,
    int unsigned bus_bits = 128, int unsigned aes_lanes = 1, int unsigned slot_cycles = 0
  );
    return '{
      scheme: raw ? RawOram : PathOram,
      leaf_level: leaf_level,
      blocks_per_bucket: blocks_per_bucket,
      eviction_rate: eviction_rate,
      stash_blocks: stash_blocks,
      blocks: 1 << leaf_level,
      block_bytes: bus_bits / 8 * block_beats,
      bus_bits: bus_bits,
      aes_lanes: aes_lanes,
      aes_double: 1'b0,
      aes_rom_rounds: 0,
      mask_beats: 4,
      top_levels: top_levels,
      level_blocks: '0,
      subtree_levels: 0,
      scan_lanes: scan_lanes,
      capacity: 0,
      labels: 0,
      label_bits: 0,
      trusted: 0,
      look_aside: 0,
      tag_bits: tag_bits,
      slot_cycles: slot_cycles,
      stall_cycles: 0
    };
  endfunction

endpackage
