// The masks of one purpose, in the order in which they were asked for, ahead of their use.
//
// Interface: a request goes on to the engine only when `has_room_o` says that there is room for its mask, so that the engine never
// waits. Chunks come back in groups of as many as there are lanes, the first lowest, and are put together here. `first_i`
// says that a request passes on in this cycle.
//
// Timing: a mask can be taken a cycle after its last group, two cycles if it waits in block RAM.
//
// Keeps: `Depth` masks, the parts of the next, and how many were asked for and are not taken.
module lethe_mask_stream #(
  parameter int unsigned Chunks = 4,   // the most chunks of a mask
  parameter int unsigned Lanes = 2,
  parameter int unsigned Depth = 16,   // masks that wait
  parameter bit Deep = 1'b0,           // in block RAM
  localparam int unsigned Groups = (Chunks + Lanes - 1) / Lanes,
  localparam int unsigned GroupBits = Groups > 1 ? $clog2(Groups) : 1
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  output logic                          has_room_o,
  input  logic                          first_i,
  input  logic                          group_valid_i,
  input  logic                          group_last_i,
  input  logic [GroupBits-1:0]          group_i,
  input  logic [Lanes-1:0][127:0]       chunks_i,
  output logic                          valid_o,
  input  logic                          ready_i,
  output logic [Chunks*128-1:0]         mask_o
);

  localparam int unsigned CountBits = $clog2(Depth + 1);

  // Masks that were asked for and are not taken yet.
  logic [CountBits-1:0] owed_q;
  logic taken, put, unused_ready;
  logic [Groups-1:0][Lanes-1:0][127:0] parts_q, whole;
  logic [Chunks*128-1:0] mask;

  assign has_room_o = owed_q != CountBits'(Depth);
  assign taken = valid_o && ready_i;
  assign put = group_valid_i && group_last_i;
  assign mask = (Chunks * 128)'(whole);

  always_comb begin
    for (int unsigned nth = 0; nth < Groups; nth++) begin
      if (GroupBits'(nth) == group_i) whole[nth] = chunks_i;
      else whole[nth] = GroupBits'(nth) < group_i ? parts_q[nth] : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (group_valid_i) parts_q <= whole;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) owed_q <= '0;
    else owed_q <= owed_q + CountBits'(first_i) - CountBits'(taken);
  end

  if (Deep) begin : gen_deep
    lethe_deep_fifo #(.Width(Chunks * 128), .Depth(Depth)) u_masks (
      .clk_i, .rst_ni,
      .valid_i(put), .ready_o(unused_ready), .data_i(mask),
      .valid_o, .ready_i, .data_o(mask_o)
    );
  end else begin : gen_shallow
    lethe_fifo #(.Width(Chunks * 128), .Depth(Depth)) u_masks (
      .clk_i, .rst_ni,
      .valid_i(put), .ready_o(unused_ready), .data_i(mask),
      .valid_o, .ready_i, .data_o(mask_o)
    );
  end

endmodule
