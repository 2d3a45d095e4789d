// PushBack by bit tricks equals its description in Tiny ORAM's section III, for every path, leaf and filling. It is the
// deepest level of the path that is also on the block's path and has room.
module push_back_proof #(
  parameter int unsigned LeafLevel = 20,
  parameter bit Wrong = 1'b0,  // for a proof that must fail
  localparam int unsigned LeafBits = LeafLevel > 0 ? LeafLevel : 1
) (
  input logic [LeafBits-1:0] path_i,
  input logic [LeafBits-1:0] leaf_i,
  input logic [LeafLevel:0]  full_i
);

  logic [LeafLevel:0] shared, level, expected;
  ameles_shared_levels #(.LeafLevel(LeafLevel)) u_shared (.path_i, .leaf_i, .shared_o(shared));
  ameles_deepest_room #(.LeafLevel(LeafLevel)) u_room (.shared_i(shared), .full_i, .level_o(level));

  always_comb begin
    expected = '0;
    for (int unsigned nth = 0; nth <= LeafLevel; nth++) begin
      if ((nth == 0 || (path_i >> (LeafLevel - nth)) == (leaf_i >> (LeafLevel - nth))) && !full_i[nth]) begin
        expected = '0;
        expected[nth] = 1'b1;
      end
    end
    assert (level == (expected ^ (LeafLevel + 1)'(Wrong)));
  end

endmodule
