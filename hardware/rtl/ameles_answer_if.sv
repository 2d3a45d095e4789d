// The answers of the backend, or of the whole controller, beat by beat.
//
// Interface: a beat passes in each cycle in which `valid` and `ready` are high. `last` marks the last beat of a block.
// With tags, `tag` is the tag of the block in memory; the answers of the whole controller have none.
//
// Timing: that of both cells. Keeps: nothing.
interface ameles_answer_if
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0
) ();

  logic valid, ready, last;
  logic [Cfg.bus_bits-1:0] beat;
  logic [at_least_one(Cfg.tag_bits)-1:0] tag;

  modport source (output valid, beat, last, tag, input ready);
  modport sink (input valid, beat, last, tag, output ready);

endinterface
