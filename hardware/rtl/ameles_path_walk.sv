// A walk down a path: the bucket of each level, and the number of RAW ORAM's evictions to it.
//
// Interface: `start_i` goes to the root, or to the first wanted level, and `next_i` one level down. Buckets are
// numbered level by level, and the root is 0. The count follows from G, because evictions come in reverse lexicographic
// order: g(i+1) = (g(i) + not l_i) >> 1 (Tiny ORAM, section IV-D). Down several levels this is g plus the number of
// ways to the left, with the highest level as the lowest bit, shifted.
//
// Timing: each level is ready from the next cycle. Keeps: the rest of the leaf, the bucket, the level and the count.
module ameles_path_walk #(
  parameter int unsigned LeafLevel = 20,
  parameter int unsigned FirstLevel = 0,
  localparam int unsigned LeafBits = LeafLevel > 0 ? LeafLevel : 1,
  localparam int unsigned LevelBits = LeafLevel > 0 ? $clog2(LeafLevel + 1) : 1
) (
  input  logic                 clk_i,
  input  logic                 start_i,
  input  logic [LeafBits-1:0]  path_i,
  input  logic [63:0]          evictions_i,
  input  logic                 next_i,
  output logic [LevelBits-1:0] level_o,
  output logic                 last_o,
  output logic [LeafLevel:0]   bucket_o,
  output logic                 right_o,  // the direction from this level
  output logic [63:0]          count_o
);

  logic [LeafBits-1:0] rest_q;
  logic [LevelBits-1:0] level_q;
  logic [LeafLevel:0] bucket_q;
  logic [63:0] count_q;

  logic [LeafBits-1:0] first_rest;
  logic [LeafLevel:0] first_bucket;
  logic [63:0] first_count;
  if (FirstLevel == 0) begin : gen_root
    assign first_rest = path_i;
    assign first_bucket = '0;
    assign first_count = evictions_i;
  end else begin : gen_below
    logic [FirstLevel-1:0] ways, lefts;
    assign ways = path_i[LeafBits-1-:FirstLevel];
    for (genvar level = 0; level < FirstLevel; level++) begin : gen_lefts
      assign lefts[level] = !ways[FirstLevel-1-level];
    end
    assign first_rest = path_i << FirstLevel;
    assign first_bucket = (LeafLevel + 1)'((1 << FirstLevel) - 1) + (LeafLevel + 1)'(ways);
    assign first_count = 64'((65'(evictions_i) + 65'(lefts)) >> FirstLevel);
  end

  assign right_o = rest_q[LeafBits-1];

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      rest_q <= first_rest;
      level_q <= LevelBits'(FirstLevel);
      bucket_q <= first_bucket;
      count_q <= first_count;
    end else if (next_i) begin
      rest_q <= rest_q << 1;
      level_q <= level_q + 1'b1;
      bucket_q <= (bucket_q << 1) + (LeafLevel + 1)'(1) + (LeafLevel + 1)'(right_o);
      count_q <= 64'((65'(count_q) + 65'(!right_o)) >> 1);
    end
  end

  assign level_o = level_q;
  assign last_o = level_q == LevelBits'(LeafLevel);
  assign bucket_o = bucket_q;
  assign count_o = count_q;

endmodule
