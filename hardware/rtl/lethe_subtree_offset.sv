// The place of each bucket of a path in memory, in bytes from the first, where the buckets of a subtree of some levels lie
// together, in the order of a heap: a path takes as many buckets from a row of DRAM as a subtree has levels (Ren et al., ISCA 2013).
//
// A subtree has a power of two of bytes, so that it lies across no boundary of rows as large, and there is no multiplication.
// Subtrees lie layer by layer. The first layer has the levels that are left over, so that the leaves' is full.
//
// Interface: `start_i` goes to the first level that memory holds, `next_i` a level down.
//
// Timing: the place is there from the next cycle on. Keeps: the number of the subtree, and the place in it.
module lethe_subtree_offset #(
  parameter int unsigned BucketBytes = 384,
  parameter int unsigned OffsetBits = 40,
  parameter int unsigned LeafLevel = 20,
  parameter int unsigned FirstLevel = 0,
  parameter int unsigned SubtreeLevels = 4,
  localparam int unsigned LeafBits = LeafLevel > 0 ? LeafLevel : 1
) (
  input  logic                  clk_i,
  input  logic                  start_i,
  input  logic [LeafBits-1:0]   path_i,
  input  logic                  next_i,
  input  logic                  right_i,
  output logic [OffsetBits-1:0] offset_o
);

  localparam int unsigned Levels = LeafLevel + 1 - FirstLevel;
  localparam int unsigned FirstHeight = (Levels - 1) % SubtreeLevels + 1;
  localparam int unsigned Layers = (Levels - 1) / SubtreeLevels + 1;
  localparam int unsigned LayerBits = $clog2(Layers + 1);
  localparam int unsigned DepthBits = $clog2(SubtreeLevels + 1);
  localparam int unsigned PlaceBits = $clog2(((64'd1 << SubtreeLevels) - 1) * 64'(BucketBytes));
  // Not even a bit where the tree does not fit the address, which is refused elsewhere.
  localparam int unsigned SubtreeBits = OffsetBits > PlaceBits ? OffsetBits - PlaceBits : 1;

  // The first subtree of each layer.
  function automatic logic [Layers:0][SubtreeBits-1:0] firsts();
    logic [Layers:0][SubtreeBits-1:0] first = '0;
    for (int unsigned layer = 1; layer <= Layers; layer++) begin
      int unsigned level = layer == 1 ? FirstLevel : FirstLevel + FirstHeight + (layer - 2) * SubtreeLevels;
      first[layer] = first[layer-1] + (SubtreeBits'(1) << level);
    end
    return first;
  endfunction
  localparam logic [Layers:0][SubtreeBits-1:0] First = firsts();

  logic [LayerBits-1:0] layer_q;
  logic [DepthBits-1:0] depth_q;
  logic [LeafLevel:0] index_q, below, first;
  logic [SubtreeBits-1:0] subtree_q;
  logic [PlaceBits-1:0] place_q;
  logic is_lowest;

  if (FirstLevel == 0) begin : gen_root
    logic unused_path;
    assign unused_path = ^path_i;
    assign first = '0;
  end else begin : gen_below
    assign first = (LeafLevel + 1)'(path_i[LeafBits-1-:FirstLevel]);
  end

  assign below = (index_q << 1) | (LeafLevel + 1)'(right_i);
  assign is_lowest = depth_q == DepthBits'(SubtreeLevels - 1);
  assign offset_o = OffsetBits'({subtree_q, place_q});

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      layer_q <= LayerBits'(1);
      depth_q <= DepthBits'(SubtreeLevels - FirstHeight);
      index_q <= first;
      subtree_q <= SubtreeBits'(first);
      place_q <= '0;
    end else if (next_i) begin
      index_q <= below;
      if (is_lowest) begin
        layer_q <= layer_q + 1'b1;
        depth_q <= '0;
        subtree_q <= First[layer_q] + SubtreeBits'(below);
        place_q <= '0;
      end else begin
        depth_q <= depth_q + 1'b1;
        place_q <= (place_q << 1) + (right_i ? PlaceBits'(2 * BucketBytes) : PlaceBits'(BucketBytes));
      end
    end
  end

endmodule
