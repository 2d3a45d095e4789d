// The place of each bucket of a path in memory, in bytes from the first bucket: buckets are in the order of their
// numbers, from the first level in memory. With subtrees of several levels `ameles_subtree_offset` replaces this cell.
//
// Interface: `start_i` goes to that first level, and `next_i` one level down, to the side of `right_i`. One level down,
// the place is twice as far, and as many buckets on as the first level has, or one more. Only the place in the first
// level is a product.
//
// Timing: the place is ready from the next cycle. Keeps: the place.
module ameles_bucket_offset #(
  parameter int unsigned BucketBytes = 384,
  parameter int unsigned OffsetBits = 40,
  parameter int unsigned LeafLevel = 20,
  parameter int unsigned FirstLevel = 0,
  parameter int unsigned SubtreeLevels = 0,
  localparam int unsigned LeafBits = LeafLevel > 0 ? LeafLevel : 1
) (
  input  logic                  clk_i,
  input  logic                  start_i,
  input  logic [LeafBits-1:0]   path_i,
  input  logic                  next_i,
  input  logic                  right_i,
  output logic [OffsetBits-1:0] offset_o
);

  if (SubtreeLevels > 1) begin : gen_subtrees
    ameles_subtree_offset #(
      .BucketBytes(BucketBytes), .OffsetBits(OffsetBits), .LeafLevel(LeafLevel), .FirstLevel(FirstLevel),
      .SubtreeLevels(SubtreeLevels)
    ) u_offset (.clk_i, .start_i, .path_i, .next_i, .right_i, .offset_o);
  end else begin : gen_heap
    localparam logic [OffsetBits-1:0] Left = OffsetBits'(BucketBytes) << FirstLevel;
    localparam logic [OffsetBits-1:0] Right = Left + OffsetBits'(BucketBytes);

    logic [OffsetBits-1:0] offset_q, first;

    if (FirstLevel == 0) begin : gen_root
      logic unused_path;
      assign unused_path = ^path_i;
      assign first = '0;
    end else begin : gen_below
      assign first = OffsetBits'(path_i[LeafBits-1-:FirstLevel]) * OffsetBits'(BucketBytes);
    end

    always_ff @(posedge clk_i) begin
      if (start_i) offset_q <= first;
      else if (next_i) offset_q <= (offset_q << 1) + (right_i ? Right : Left);
    end

    assign offset_o = offset_q;
  end

endmodule
