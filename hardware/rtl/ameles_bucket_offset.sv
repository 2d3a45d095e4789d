// The place of each bucket of a path in memory, in bytes from the first bucket.
//
// Without subtrees, buckets are in the order of their numbers, from the first level in memory. One level down, the
// place is twice as far, plus as many buckets as the first level has, or one more.
//
// With subtrees of several levels, the buckets of a subtree are together, in the order of a heap. A path takes as many
// buckets from a stretch of memory as a subtree has levels (Ren et al., ISCA 2013). Subtrees follow each other without
// a gap, layer by layer, so that the tree takes as much memory as a heap. The first layer has the remaining levels, so
// that the layer of the leaves is full. One level down, the places of subtrees are twice as far apart.
//
// Interface: `start_i` goes to the first level in memory, and `next_i` one level down, to the side of `right_i`. Only
// the places in the first level are products.
//
// Timing: the place is ready from the next cycle. Keeps: the place, and with subtrees that of the subtree, and that of a
// subtree which begins here.
module ameles_bucket_offset #(
  parameter int unsigned BucketBytes = 384,
  parameter int unsigned OffsetBits = 40,
  parameter int unsigned LeafLevel = 20,
  parameter int unsigned FirstLevel = 0,
  parameter int unsigned SubtreeLevels = 0,  // 0 or 1 for none
  localparam int unsigned LeafBits = LeafLevel > 0 ? LeafLevel : 1
) (
  input  logic                  clk_i,
  input  logic                  start_i,
  input  logic [LeafBits-1:0]   path_i,
  input  logic                  next_i,
  input  logic                  right_i,
  output logic [OffsetBits-1:0] offset_o
);

  // The first bucket of the path: its number in the first level.
  logic [OffsetBits-1:0] first, offset_q;
  if (FirstLevel == 0) begin : gen_root
    logic unused_path;
    assign unused_path = ^path_i;
    assign first = '0;
  end else begin : gen_below
    assign first = OffsetBits'(path_i[LeafBits-1-:FirstLevel]);
  end
  assign offset_o = offset_q;

  if (SubtreeLevels <= 1) begin : gen_heap
    localparam logic [OffsetBits-1:0] Left = OffsetBits'(BucketBytes) << FirstLevel;
    localparam logic [OffsetBits-1:0] Right = Left + OffsetBits'(BucketBytes);
    always_ff @(posedge clk_i) begin
      if (start_i) offset_q <= first * OffsetBits'(BucketBytes);
      else if (next_i) offset_q <= (offset_q << 1) + (right_i ? Right : Left);
    end
  end else begin : gen_subtrees
    localparam int unsigned Levels = LeafLevel + 1 - FirstLevel;
    localparam int unsigned FirstHeight = (Levels - 1) % SubtreeLevels + 1;
    localparam int unsigned Layers = (Levels - 1) / SubtreeLevels + 1;
    localparam int unsigned LayerBits = $clog2(Layers + 1);
    localparam int unsigned DepthBits = $clog2(SubtreeLevels + 1);
    localparam logic [OffsetBits-1:0] Left = OffsetBits'(BucketBytes);
    localparam logic [OffsetBits-1:0] Right = OffsetBits'(2 * BucketBytes);
    localparam logic [OffsetBits-1:0] FirstBytes = OffsetBits'(((64'd1 << FirstHeight) - 1) * 64'(BucketBytes));
    localparam logic [OffsetBits-1:0] SubtreeBytes = OffsetBits'(((64'd1 << SubtreeLevels) - 1) * 64'(BucketBytes));

    // Each layer follows all buckets above it.
    logic [Layers:0][OffsetBits-1:0] layer_begins;
    assign layer_begins[0] = '0;
    for (genvar layer = 1; layer <= Layers; layer++) begin : gen_layer
      localparam int unsigned Level = FirstLevel + FirstHeight + (layer - 1) * SubtreeLevels;
      assign layer_begins[layer] = OffsetBits'(((64'd1 << Level) - (64'd1 << FirstLevel)) * 64'(BucketBytes));
    end

    logic [LayerBits-1:0] layer_q;
    logic [DepthBits-1:0] depth_q;
    logic [OffsetBits-1:0] subtree_q, begins_q, below, begins;
    logic is_lowest;

    // The place in the layer of a subtree whose root is the bucket below.
    assign below = (begins_q << 1) + (right_i ? SubtreeBytes : '0);
    assign begins = layer_begins[layer_q] + below;
    assign is_lowest = depth_q == DepthBits'(SubtreeLevels - 1);

    always_ff @(posedge clk_i) begin
      if (start_i) begin
        layer_q <= LayerBits'(1);
        depth_q <= DepthBits'(SubtreeLevels - FirstHeight);
        begins_q <= first * SubtreeBytes;
        subtree_q <= first * FirstBytes;
        offset_q <= first * FirstBytes;
      end else if (next_i) begin
        begins_q <= below;
        if (is_lowest) begin
          layer_q <= layer_q + 1'b1;
          depth_q <= '0;
          subtree_q <= begins;
          offset_q <= begins;
        end else begin
          depth_q <= depth_q + 1'b1;
          offset_q <= (offset_q << 1) - subtree_q + (right_i ? Right : Left);
        end
      end
    end
  end

endmodule
