// Refuses impossible choices at elaboration, with a sentence about the error and its remedy. It becomes no hardware.
//
// Interface: the problem that `ameles_pkg` has found, which also has the choices that replace the impossible ones.
//
// Timing: none. Keeps: nothing.
module ameles_check
  import ameles_pkg::*;
#(
  parameter problem_e Problem = NoProblem
) ();

  case (Problem)
    LeafLevelOver: begin : gen_leaf_level_over
      $error("leaf_level is over 31: leaves and buckets have 32 bits. Choose a lower tree.");
    end
    BlocksPerBucketRange: begin : gen_blocks_per_bucket_range
      $error("blocks_per_bucket is not 1 to 64. The paper takes 4 for Path ORAM, and 5 for RAW ORAM.");
    end
    EvictionRateNone: begin : gen_eviction_rate_none
      $error("eviction_rate is 0: RAW ORAM evicts after this number of accesses. Choose at least 1.");
    end
    EvictionRateOver: begin : gen_eviction_rate_over
      $error("eviction_rate is not below twice blocks_per_bucket, so that no stash is bounded. Evict more often.");
    end
    StashBlocksNone: begin : gen_stash_blocks_none
      $error("stash_blocks is 0: no access fits into the stash. Choose it by the bound of the scheme.");
    end
    BusBitsOther: begin : gen_bus_bits_other
      $error("bus_bits is not 128, 256 or 512: a beat is one, two or four blocks of AES.");
    end
    BlockBytesPower: begin : gen_block_bytes_power
      $error("block_bytes is not a power of two. Round it up.");
    end
    BlockBytesOver: begin : gen_block_bytes_over
      $error("block_bytes is over 4096. Split each block into several.");
    end
    BlockBytesUnder: begin : gen_block_bytes_under
      $error("block_bytes is less than a beat. Choose larger blocks or a narrower bus_bits.");
    end
    AesLanesNone: begin : gen_aes_lanes_none
      $error("aes_lanes is 0: nothing makes masks. Choose at least 1.");
    end
    AesLanesOver: begin : gen_aes_lanes_over
      $error("aes_lanes is more than the widest mask has chunks, so that some lanes would never work. Choose fewer.");
    end
    StashBlocksOver: begin : gen_stash_blocks_over
      $error("stash_blocks is above 4096: the scan of the stash would take longer than a path. Choose it by the bound of the scheme.");
    end
    MaskBeatsOver: begin : gen_mask_beats_over
      $error("mask_beats is above 65536. Choose at most the beats of two paths.");
    end
    MaskBeatsUnder: begin : gen_mask_beats_under
      $error("mask_beats is below 2: no eviction of RAW ORAM has its masks in time. Choose at least the beats of one path.");
    end
    TopLevelsOver: begin : gen_top_levels_over
      $error("top_levels is over leaf_level or over 16: the leaves are in memory. Choose fewer.");
    end
    LevelBlocksOver: begin : gen_level_blocks_over
      $error("level_blocks has more than blocks_per_bucket in some level. Choose the maximum as blocks_per_bucket.");
    end
    LevelBlocksRaw: begin : gen_level_blocks_raw
      $error("level_blocks is for Path ORAM: for RAW ORAM no bound of the stash is known with it. Leave it 0.");
    end
    SubtreeLevelsOver: begin : gen_subtree_levels_over
      $error("subtree_levels is over the levels that memory holds, or over 16. Choose the number whose buckets fill a row of DRAM.");
    end
    ScanLanesOther: begin : gen_scan_lanes_other
      $error("scan_lanes is not 1 or 2: PushToLeaf takes one or two blocks per cycle. Choose 2 if the scan takes longest.");
    end
    BlocksNone: begin : gen_blocks_none
      $error("blocks is 0. Choose at least 1.");
    end
    BlocksOver: begin : gen_blocks_over
      $error("blocks, with those of the PosMaps, is more than the tree has room for. Raise leaf_level or blocks_per_bucket.");
    end
    CapacityNone: begin : gen_capacity_none
      $error("capacity is 0: the user has no block. Choose at least 1.");
    end
    CapacityOver: begin : gen_capacity_over
      $error("capacity is over 2^30: all blocks, with those of the PosMaps, are counted in 32 bits. Choose larger blocks.");
    end
    LabelsPower: begin : gen_labels_power
      $error("labels is not a power of two of at least 2: the group of a block is found by shifting. Choose the next lower one.");
    end
    LabelBitsRange: begin : gen_label_bits_range
      $error("label_bits is not 2 to 63: it contains a bit of the group counter, and at least one more.");
    end
    GroupOver: begin : gen_group_over
      $error("labels of label_bits beside a group counter of 64 bits do not fit a block. Choose fewer or narrower ones.");
    end
    TrustedNone: begin : gen_trusted_none
      $error("trusted is 0: the last PosMap is on chip. Choose at least 1.");
    end
    LookAsidePower: begin : gen_look_aside_power
      $error("look_aside is not a power of two: lowest bits of a block choose its line. Choose the next lower one.");
    end
    TagBitsOther: begin : gen_tag_bits_other
      $error("tag_bits is neither 0 nor a number of whole bytes from 64 to 128. The tags of five blocks fit 512 bits with 96.");
    end
    LabelBitsUnder: begin : gen_label_bits_under
      $error("label_bits is too few: 2^(label_bits - 1) is below labels, so that counters are lost. Choose more bits or fewer labels.");
    end
    AesLanesOdd: begin : gen_aes_lanes_odd
      $error("aes_lanes is odd, but aes_double makes one pipeline of two lanes. Choose an even number, or no aes_double.");
    end
    AesRomRoundsOver: begin : gen_aes_rom_rounds_over
      $error("aes_rom_rounds is over 10: AES-128 has ten rounds.");
    end
    SlotCyclesOver: begin : gen_slot_cycles_over
      $error("slot_cycles is 2^31 or more. Choose about as many cycles as a path takes.");
    end
    StallCyclesOver: begin : gen_stall_cycles_over
      $error("stall_cycles is 2^31 or more. Choose many more cycles than memory ever takes for an answer.");
    end
    default: begin : gen_possible
    end
  endcase

endmodule
