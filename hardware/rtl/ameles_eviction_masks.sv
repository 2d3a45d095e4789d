// The requests for the masks of RAW ORAM's next evictions (Tiny ORAM, section IV-D). The paths of evictions, and the
// number of evictions to each bucket, depend only on G. So these masks are made before the path is read.
//
// Interface: for each eviction the cell requests the masks of all bodies that the path brings, under g. Then it
// requests those of all bodies that go back, under g + 1. This is the order of their use, without an end.
//
// Timing: a request per cycle as long as requests are taken, and a cycle without one between two paths.
//
// Keeps: G of the next eviction and the walk down its path.
module ameles_eviction_masks
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0
) (
  input  logic clk_i,
  input  logic rst_ni,
  ameles_stream_if.source request
);

  localparam int unsigned LeafBits = leaf_bits(Cfg);
  localparam int unsigned BeatBits = $clog2(most_body_beats(Cfg) + 1);

  logic [63:0] evictions_q;
  logic [LeafBits-1:0] path;
  logic walking_q, writing_q, taken, bucket_done, path_done, last, unused_right;
  logic [BeatBits-1:0] beat_q;
  logic [29:0] chunk_q;
  logic [Cfg.leaf_level:0] bucket;
  logic [63:0] count;
  logic [level_bits(Cfg)-1:0] level;

  assign path = LeafBits'(eviction_path(Cfg, evictions_q));

  ameles_path_walk #(.LeafLevel(Cfg.leaf_level), .FirstLevel(Cfg.top_levels)) u_walk (
    .clk_i,
    .start_i(!walking_q), .path_i(path), .evictions_i(evictions_q),
    .next_i(bucket_done),
    .level_o(level), .last_o(last), .bucket_o(bucket), .right_o(unused_right), .count_o(count)
  );

  assign request.valid = walking_q;
  assign taken = request.valid && request.ready;
  assign bucket_done = taken && beat_q == BeatBits'(body_beats(Cfg, 32'(level)) - 1);
  assign path_done = bucket_done && last;
  assign request.data = '{
    row: 1'b0, pad: '{mask: 1'b1, body: 1'b1, chunk: chunk_q, bucket: 32'(bucket), iv: count + 64'(writing_q)}
  };

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      evictions_q <= '0;
      walking_q <= 1'b0;
      writing_q <= 1'b0;
      beat_q <= '0;
      chunk_q <= '0;
    end else begin
      walking_q <= !path_done;
      if (taken) begin
        beat_q <= bucket_done ? '0 : beat_q + 1'b1;
        chunk_q <= bucket_done ? '0 : chunk_q + 30'(beat_chunks(Cfg));
      end
      if (path_done) begin
        writing_q <= !writing_q;
        evictions_q <= evictions_q + 64'(writing_q);
      end
    end
  end

endmodule
