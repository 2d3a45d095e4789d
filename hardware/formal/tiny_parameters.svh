  // The parameters of proofs about a tiny controller: its choices, and the controller.
  parameter bit Raw = 1'b1,
  parameter int unsigned LeafLevel = 1,
  parameter int unsigned BlocksPerBucket = 1,
  parameter int unsigned StashBlocks = 1,
  parameter int unsigned BlockBeats = 1,
  parameter int unsigned TopLevels = 0,
  parameter int unsigned ScanLanes = 1,
  parameter int unsigned TagBits = 0,
  localparam ameles_pkg::config_t Cfg =
      proof_pkg::tiny(Raw, LeafLevel, BlocksPerBucket, StashBlocks, BlockBeats, TopLevels, ScanLanes, TagBits),
