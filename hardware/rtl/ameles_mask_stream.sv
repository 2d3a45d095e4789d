// The masks of one purpose, in the order of their requests, ahead of their use.
//
// Interface: a request is passed to the engine only when `has_room_o` says that there is room for its mask, so that the
// engine never waits. `first_i` says that a request passes on in this cycle, and `put_i` that its mask has come.
//
// Timing: a mask can be taken one cycle after it has come, or two cycles if it waits in block RAM.
//
// Keeps: `Depth` masks, and the number of requested masks that were not taken yet.
module ameles_mask_stream #(
  parameter int unsigned Width = 512,  // bits of a mask
  parameter int unsigned Depth = 16,   // masks that wait
  parameter bit BlockRam = 1'b0
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  output logic             has_room_o,
  input  logic             first_i,
  input  logic             put_i,
  input  logic [Width-1:0] mask_i,
  ameles_stream_if.source  mask
);

  localparam int unsigned CountBits = $clog2(Depth + 1);

  // Requested masks that were not taken yet.
  logic [CountBits-1:0] pending_q;
  logic taken, unused_ready;

  assign has_room_o = pending_q != CountBits'(Depth);
  assign taken = mask.valid && mask.ready;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pending_q <= '0;
    else pending_q <= pending_q + CountBits'(first_i) - CountBits'(taken);
  end

  ameles_fifo #(.Width(Width), .Depth(Depth), .BlockRam(BlockRam)) u_masks (
    .clk_i, .rst_ni,
    .valid_i(put_i), .ready_o(unused_ready), .data_i(mask_i),
    .valid_o(mask.valid), .ready_i(mask.ready), .data_o(mask.data)
  );

endmodule
