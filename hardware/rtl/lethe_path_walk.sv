// A walk down a path: the bucket of each level, and how often RAW ORAM has evicted to it.
//
// Interface: `start_i` goes to the root, `next_i` a level down. Buckets are numbered level by level, the root is 0. The count
// follows from G, because evictions come in reverse lexicographic order: g(i+1) = (g(i) + not l_i) >> 1 (Tiny ORAM,
// section IV-D).
//
// Timing: each level is there from the next cycle on. Keeps: the rest of the leaf, the bucket, the level and the count.
module lethe_path_walk #(
  parameter int unsigned LeafLevel = 20,
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
  output logic                 right_o,  // the way from this level down
  output logic [63:0]          count_o
);

  logic [LeafBits-1:0] rest_q;
  logic [LevelBits-1:0] level_q;
  logic [LeafLevel:0] bucket_q;
  logic [63:0] count_q;

  assign right_o = rest_q[LeafBits-1];

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      rest_q <= path_i;
      level_q <= '0;
      bucket_q <= '0;
      count_q <= evictions_i;
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
