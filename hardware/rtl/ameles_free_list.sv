// The free slots of the stash. Slots that were never used come first, in order, then those that were given back, the
// longest free slot first.
//
// Interface: `take_i` is for a cycle in which `valid_o` is high; `give_i` gives a slot back.
//
// Timing: a slot can be taken one cycle after it was given back. It takes three cycles if there are many and they are
// in block RAM.
//
// Keeps: the number of slots that were never used, and a queue of those that were given back.
module ameles_free_list #(
  parameter int unsigned Slots = 16,
  localparam int unsigned SlotBits = $clog2(Slots)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                take_i,
  output logic                valid_o,
  output logic [SlotBits-1:0] slot_o,
  input  logic                give_i,
  input  logic [SlotBits-1:0] slot_i
);

  localparam int unsigned CountBits = $clog2(Slots + 1);

  logic [CountBits-1:0] fresh_q;
  logic is_fresh, back_valid;
  logic [SlotBits-1:0] back_slot;
  logic unused_ready;

  assign is_fresh = fresh_q != CountBits'(Slots);
  assign valid_o = is_fresh || back_valid;
  assign slot_o = is_fresh ? fresh_q[SlotBits-1:0] : back_slot;

  ameles_fifo #(.Width(SlotBits), .Depth(Slots), .BlockRam(Slots > 256)) u_back (
    .clk_i, .rst_ni,
    .valid_i(give_i), .ready_o(unused_ready), .data_i(slot_i),
    .valid_o(back_valid), .ready_i(take_i && !is_fresh), .data_o(back_slot)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fresh_q <= '0;
    else if (take_i && is_fresh) fresh_q <= fresh_q + 1'b1;
  end

endmodule
