// The deepest of some levels that has room: PushBack of Tiny ORAM (FCCM 2015), Algorithm 1, lines 16 to 20.
//
// Interface: bit i stands for level i. At most one bit of the result is set, and none for a block that is stuck in the
// stash.
//
// Timing: combinational. Keeps: nothing.
module ameles_deepest_room #(
  parameter int unsigned LeafLevel = 20
) (
  input  logic [LeafLevel:0] shared_i,
  input  logic [LeafLevel:0] full_i,
  output logic [LeafLevel:0] level_o
);

  logic [LeafLevel:0] t4, t5, t6;

  assign t4 = shared_i & ~full_i;
  for (genvar level = 0; level <= LeafLevel; level++) begin : gen_mirror
    assign t5[level] = t4[LeafLevel-level];
    assign level_o[level] = t6[LeafLevel-level];
  end
  assign t6 = t5 & (~t5 + 1'b1);

endmodule
