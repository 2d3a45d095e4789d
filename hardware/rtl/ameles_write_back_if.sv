// What the stash and the cell that writes paths back tell each other.
//
// Interface: a job passes when `valid` and `ready` are high. It has its bank of the plan and the number of blocks for
// each bucket. Then rows of the plan are read by bank and level, in the same cycle. A beat of a block is requested with
// `load`, and a slot is given back with `give`. While `busy` is high, no other cell may read blocks.
//
// Timing: a loaded beat, with the tag of its block, comes one cycle later. Keeps: nothing.
interface ameles_write_back_if
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Z = Cfg.blocks_per_bucket,
  localparam int unsigned SlotBits = slot_bits(Cfg)
) ();

  logic valid, ready, bank;
  job_t job;
  logic [levels(Cfg)-1:0][$clog2(Z+1)-1:0] occupied;

  logic plan_bank;
  logic [level_bits(Cfg)-1:0] plan_level;
  logic [Z-1:0][entry_bits(Cfg)-1:0] plan_entries;
  logic [Z-1:0][SlotBits-1:0] plan_slots;
  logic [1:0] plan_below;

  logic busy, load, give;
  logic [SlotBits-1:0] load_slot, give_slot;
  logic [at_least_one($clog2(block_beats(Cfg)))-1:0] load_beat;
  logic [Cfg.bus_bits-1:0] loaded;
  logic [at_least_one(Cfg.tag_bits)-1:0] loaded_tag;

  modport stash (
    output valid, bank, job, occupied, plan_entries, plan_slots, plan_below, loaded, loaded_tag,
    input ready, plan_bank, plan_level, busy, load, load_slot, load_beat, give, give_slot
  );
  modport writer (
    input valid, bank, job, occupied, plan_entries, plan_slots, plan_below, loaded, loaded_tag,
    output ready, plan_bank, plan_level, busy, load, load_slot, load_beat, give, give_slot
  );

endinterface
