// The levels that two paths share: PushBack of Tiny ORAM (FCCM 2015), Algorithm 1, lines 13 to 15.
//
// Interface: the paper reads leaves from right to left: bit i is the direction of the path below level i. Here the
// highest bit of a leaf belongs to the root, so the words are mirrored, which costs nothing. Bit i of the result stands
// for level i.
//
// Timing: combinational. Keeps: nothing.
module ameles_shared_levels #(
  parameter int unsigned LeafLevel = 20,
  localparam int unsigned LeafBits = LeafLevel > 0 ? LeafLevel : 1
) (
  input  logic [LeafBits-1:0]  path_i,
  input  logic [LeafBits-1:0]  leaf_i,
  output logic [LeafLevel:0] shared_o
);

  logic [LeafLevel:0] t1;

  always_comb begin
    t1 = '0;
    for (int unsigned level = 0; level < LeafLevel; level++) begin
      t1[level+1] = path_i[LeafBits-1-level] ^ leaf_i[LeafBits-1-level];
    end
  end

  // Below the lowest bit of t1: line 15's (t1 & -t1) - 1, with one subtraction.
  assign shared_o = ~t1 & (t1 - 1'b1);

endmodule
