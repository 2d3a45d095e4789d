// The place of each bucket of a path in memory, in bytes from the first: buckets lie in the order of their numbers.
//
// Interface: `start_i` goes to the root, `next_i` a level down, where `right_i` says. There is no multiplication: a level down
// is twice as far, and one or two buckets on.
//
// Timing: the place is there from the next cycle on. Keeps: the place.
module lethe_bucket_offset #(
  parameter int unsigned BucketBytes = 384,
  parameter int unsigned OffsetBits = 40
) (
  input  logic                  clk_i,
  input  logic                  start_i,
  input  logic                  next_i,
  input  logic                  right_i,
  output logic [OffsetBits-1:0] offset_o
);

  localparam logic [OffsetBits-1:0] Left = OffsetBits'(BucketBytes);
  localparam logic [OffsetBits-1:0] Right = OffsetBits'(2 * BucketBytes);

  logic [OffsetBits-1:0] offset_q;

  always_ff @(posedge clk_i) begin
    if (start_i) offset_q <= '0;
    else if (next_i) offset_q <= (offset_q << 1) + (right_i ? Right : Left);
  end

  assign offset_o = offset_q;

endmodule
