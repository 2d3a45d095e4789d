// A twin in PushToLeaf gets the level and the place that it would get a cycle after the block that it came with. This is the
// deepest level of both paths that has room when that block has its place. No bucket gets more blocks than it has places.
module push_twin_proof #(
  parameter int unsigned LeafLevel = 5,
  parameter int unsigned BlocksPerBucket = 4,
  parameter logic [31:0][7:0] LevelBlocks = '0,
  parameter bit Wrong = 1'b0,  // for a proof that must fail: the twin is placed as if it came first
  localparam int unsigned Levels = LeafLevel + 1,
  localparam int unsigned LeafBits = LeafLevel > 0 ? LeafLevel : 1,
  localparam int unsigned CountBits = $clog2(BlocksPerBucket + 1)
) (
  input logic                     clk_i,
  input logic                     clear_i,
  input logic [LeafBits-1:0]      path_i,
  input logic [1:0]               valid_i,
  input logic                     keep_i,
  input logic [1:0][LeafBits-1:0] leaf_i
);

  logic rst_n;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_push_to_leaf #(
    .LeafLevel(LeafLevel), .BlocksPerBucket(BlocksPerBucket), .LevelBlocks(LevelBlocks), .DataBits(1)
  ) u_push (
    .clk_i, .rst_ni(rst_n), .clear_i, .path_i,
    .valid_i, .keep_i, .leaf_i, .data_i('0),
    .valid_o(), .stuck_o(), .level_o(), .place_o(), .data_o(), .occupied_o()
  );

  // The places that are taken after the block has its place, and the place of the twin then.
  logic [Levels-1:0][CountBits-1:0] occupied, most;
  logic [Levels-1:0] full, chosen;
  logic is_block, is_twin;
  assign is_block = u_push.second_valid_q[0] && !Wrong;
  assign is_twin = u_push.second_valid_q[1];
  always_comb begin
    for (int unsigned nth = 0; nth < Levels; nth++) begin
      most[nth] = LevelBlocks[nth] == '0 ? CountBits'(BlocksPerBucket) : CountBits'(LevelBlocks[nth]);
      occupied[nth] = u_push.occupied_q[nth] + CountBits'(is_block && u_push.chosen[nth]);
      full[nth] = occupied[nth] == most[nth];
    end
    chosen = '0;
    for (int unsigned nth = 0; nth < Levels; nth++) begin
      if (u_push.second_q[1].levels[nth] && !u_push.second_q[1].keep && !full[nth]) begin
        chosen = '0;
        chosen[nth] = 1'b1;
      end
    end
  end
  always_comb begin
    if (rst_n) begin
      for (int unsigned nth = 0; nth < Levels; nth++) begin
        assert (!is_twin || u_push.twin_chosen[nth] == chosen[nth]);
        assert (!is_twin || !chosen[nth] || (32'(u_push.twin_level) == nth && u_push.twin_place == occupied[nth]));
        assert (!u_push.second_valid_q[0] || !u_push.chosen[nth]
            || (32'(u_push.level) == nth && u_push.place == u_push.occupied_q[nth] && u_push.place < most[nth]));
        // For the induction.
        assert (u_push.occupied_q[nth] <= most[nth]);
      end
    end
  end

endmodule
