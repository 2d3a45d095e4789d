// The tags of a bucket on their way into the stash: they follow the blocks, whose slots are kept here until then.
//
// Interface: `place_i` says that a place has come, with or without a block in a slot. Then come the beats of tags: a
// beat passes when `busy_o` is low, and the places of the next bucket may come meanwhile.
//
// Timing: from the next cycle, each tag of the beat takes a cycle, in which it is stored if its place has a block.
//
// Keeps: the slots of two buckets, and the beat whose tags are being stored.
module ameles_bucket_tags
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Z = Cfg.blocks_per_bucket,
  localparam int unsigned SlotBits = slot_bits(Cfg),
  localparam int unsigned PlaceBits = at_least_one($clog2(Z)),
  localparam int unsigned TagBits = Cfg.tag_bits
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  // Places.
  input  logic                    place_i,
  input  logic [PlaceBits-1:0]    place_nth_i,
  input  logic                    here_i,
  input  logic [SlotBits-1:0]     slot_i,
  // Beats of tags.
  input  logic                    beat_i,
  input  logic [Cfg.bus_bits-1:0] data_i,
  output logic                    done_o,  // this beat is the last one
  output logic [PlaceBits-1:0]    nth_o,   // the beat, from 0
  output logic                    busy_o,
  // Tags for the stash.
  output logic                    store_o,
  output logic [SlotBits-1:0]     slot_o,
  output logic [TagBits-1:0]      tag_o
);

  localparam int unsigned PerBeat = tags_per_beat(Cfg);
  localparam int unsigned Beats = tag_beats(Cfg);
  localparam int unsigned LeftBits = $clog2(PerBeat + 1);

  typedef struct packed {
    logic                here;
    logic [SlotBits-1:0] slot;
  } place_t;

  // Places that have come, and those whose tags are being stored: the first is lowest.
  logic [Z-1:0] here_q;
  logic [Z-1:0][SlotBits-1:0] slots_q;
  place_t [Z-1:0] come, stored_q;
  logic [PerBeat*TagBits-1:0] tags_q;
  logic [LeftBits-1:0] left_q;
  logic [PlaceBits-1:0] beat_q;

  for (genvar nth = 0; nth < Z; nth++) begin : gen_come
    assign come[nth] = '{here: here_q[nth], slot: slots_q[nth]};
  end
  assign busy_o = left_q != '0;
  assign done_o = beat_i && beat_q == PlaceBits'(Beats - 1);
  assign nth_o = beat_q;
  assign store_o = busy_o && stored_q[0].here;
  assign slot_o = stored_q[0].slot;
  assign tag_o = tags_q[TagBits-1:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q <= '0;
      beat_q <= '0;
      here_q <= '0;
    end else begin
      if (beat_i) left_q <= LeftBits'(PerBeat);
      else if (busy_o) left_q <= left_q - 1'b1;
      if (beat_i) beat_q <= done_o ? '0 : beat_q + 1'b1;
      // Beyond the last place there is nothing: buckets of some levels are smaller.
      if (place_i) here_q[place_nth_i] <= here_i;
      else if (beat_i) here_q <= '0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (place_i) slots_q[place_nth_i] <= slot_i;
    if (beat_i && beat_q == '0) stored_q <= come;
    else if (busy_o) stored_q <= stored_q >> $bits(place_t);
    if (beat_i) tags_q <= data_i[PerBeat*TagBits-1:0];
    else tags_q <= tags_q >> TagBits;
  end

endmodule
