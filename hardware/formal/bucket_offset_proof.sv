// No two buckets overlap in memory, neither in the order of a heap nor in subtrees. The place depends only on the bucket
// and not on the path, and the places of any two buckets are compared.
module bucket_offset_proof #(
  parameter int unsigned LeafLevel = 5,
  parameter int unsigned FirstLevel = 0,
  parameter int unsigned SubtreeLevels = 0,
  parameter int unsigned BucketBytes = 384,
  parameter bit Wrong = 1'b0,  // for a proof that must fail: buckets are larger by a byte
  localparam int unsigned LeafBits = LeafLevel > 0 ? LeafLevel : 1,
  // Bits of the end of the tree.
  localparam int unsigned Wide = LeafLevel + 2 + $clog2(BucketBytes)
) (
  input logic                clk_i,
  input logic                start_i,
  input logic [LeafBits-1:0] path_i,
  input logic                next_i,
  input logic [LeafLevel:0]  other_i
);

  logic rst_n, walks_q, right, last;
  logic [Wide-1:0] offset, mine, others;
  logic [LeafLevel:0] bucket;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_path_walk #(.LeafLevel(LeafLevel), .FirstLevel(FirstLevel)) u_walk (
    .clk_i, .start_i, .path_i, .evictions_i('0), .next_i,
    .level_o(), .last_o(last), .bucket_o(bucket), .right_o(right), .count_o()
  );
  ameles_bucket_offset #(
    .BucketBytes(BucketBytes), .OffsetBits(Wide), .LeafLevel(LeafLevel), .FirstLevel(FirstLevel),
    .SubtreeLevels(SubtreeLevels)
  ) u_offset (.clk_i, .start_i, .path_i, .next_i, .right_i(right), .offset_o(offset));

  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) walks_q <= 1'b0;
    else walks_q <= start_i || (walks_q && !(next_i && last));
  end

  // The right place of a bucket. With subtrees: layer by layer from the root, all with as many levels except the first, without gaps.
  localparam int unsigned Height = SubtreeLevels > 1 ? SubtreeLevels : 1;
  localparam int unsigned FirstHeight = (LeafLevel - FirstLevel) % Height + 1;
  function automatic logic [Wide-1:0] place(logic [LeafLevel:0] number);
    logic [Wide-1:0] found = '0;
    int unsigned root = FirstLevel;
    int unsigned height = FirstHeight;
    if (SubtreeLevels <= 1) return (Wide'(number) - Wide'((1 << FirstLevel) - 1)) * Wide'(BucketBytes);
    for (int unsigned level = FirstLevel; level <= LeafLevel; level++) begin
      logic [Wide-1:0] index = Wide'(number) + 1'b1 - (Wide'(1) << level);
      logic [Wide-1:0] above;
      if (level != FirstLevel && (level - FirstLevel + Height - FirstHeight) % Height == 0) begin
        root = level;
        height = Height;
      end
      above = index >> (level - root);
      if ((Wide'(number) + 1'b1) >> level == Wide'(1)) begin
        found = (Wide'((1 << root) - (1 << FirstLevel)) + above * Wide'((1 << height) - 1)
            + index - (above << (level - root)) + (Wide'(1) << (level - root)) - 1'b1) * Wide'(BucketBytes);
      end
    end
    return found;
  endfunction

  assign mine = place(bucket);
  assign others = place(other_i);
  localparam int unsigned Bytes = BucketBytes + 32'(Wrong);
  always_comb begin
    if (rst_n && walks_q) begin
      assert (offset == mine);
      assert (other_i == bucket || 32'(other_i) < (1 << FirstLevel) - 1 || other_i == '1
          || mine + Wide'(Bytes) <= others || others + Wide'(Bytes) <= mine);
      // For the induction.
      assert (32'(u_walk.level_q) <= LeafLevel && 32'(u_walk.level_q) >= FirstLevel);
      assert ((33'(bucket) + 33'd1) >> u_walk.level_q == 33'd1);
    end
  end
  if (SubtreeLevels > 1) begin : gen_subtrees
    int unsigned levels_down, depth;
    logic [LeafLevel:0] index, root;
    assign levels_down = 32'(u_walk.level_q) - FirstLevel + Height - FirstHeight;
    assign depth = levels_down < Height ? 32'(u_walk.level_q) - FirstLevel : levels_down % Height;
    assign index = (LeafLevel + 1)'(33'(bucket) + 33'd1 - (33'd1 << u_walk.level_q));
    assign root = (LeafLevel + 1)'(((33'(bucket) + 33'd1) >> depth) - 33'd1);
    always_comb begin
      if (rst_n && walks_q) begin
        assert (32'(u_offset.gen_subtrees.depth_q) == levels_down % Height);
        assert (32'(u_offset.gen_subtrees.layer_q) == levels_down / Height + 1);
        assert (u_offset.gen_subtrees.begins_q == Wide'(index) * Wide'(((1 << Height) - 1) * BucketBytes));
        assert (u_offset.gen_subtrees.subtree_q == place(root));
      end
    end
  end

endmodule
