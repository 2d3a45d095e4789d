// The tags of a bucket on their way into the stash: they come behind the blocks, whose slots are kept here until then.
//
// `place_i` says that a place has come, with or without a block in a slot. Then come the beats of tags, and each tag is stored, one a
// cycle, for a place with a block: a beat passes when `busy_o` is low, and the places of the next bucket may come meanwhile.
module lethe_bucket_tags
  import lethe_pkg::*;
#(
  parameter config_t Cfg = '0,
  localparam int unsigned Z = Cfg.blocks_per_bucket,
  localparam int unsigned SlotBits = slot_bits(Cfg),
  localparam int unsigned PlaceBits = at_least_one($clog2(Z)),
  localparam int unsigned TagBits = Cfg.tag_bits
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    place_i,
  input  logic                    here_i,
  input  logic [SlotBits-1:0]     slot_i,
  input  logic                    beat_i,
  input  logic [Cfg.bus_bits-1:0] data_i,
  output logic                    done_o,  // this beat is the last one
  output logic [PlaceBits-1:0]    nth_o,   // the beat, from 0
  output logic                    busy_o,
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
  place_t [Z-1:0] come_q, stored_q;
  logic [PerBeat*TagBits-1:0] tags_q;
  logic [LeftBits-1:0] left_q;
  logic [PlaceBits-1:0] beat_q;

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
    end else begin
      if (beat_i) left_q <= LeftBits'(PerBeat);
      else if (busy_o) left_q <= left_q - 1'b1;
      if (beat_i) beat_q <= done_o ? '0 : beat_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (place_i) come_q <= (Z * $bits(place_t))'({here_i, slot_i, come_q} >> $bits(place_t));
    // Beyond the last place there is nothing.
    if (beat_i && beat_q == '0) stored_q <= come_q;
    else if (busy_o) stored_q <= stored_q >> $bits(place_t);
    if (beat_i) tags_q <= data_i[PerBeat*TagBits-1:0];
    else tags_q <= tags_q >> TagBits;
  end

endmodule
