// The requests for the masks of a path that will go back, made as soon as the path is known: those of each bucket, from
// the root.
//
// Interface: a job passes in; its requests pass out.
//
// Timing: the first request is ready in the cycle after the job has passed, and then there is a request per cycle as
// they are taken.
//
// Keeps: the walk down the path, and its IV.
module ameles_write_masks
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic valid_i,
  output logic ready_o,
  input  job_t job_i,
  ameles_stream_if.source request
);

  logic walking_q, bucket_done, last, unused_right;
  logic [Cfg.leaf_level:0] bucket;
  logic [level_bits(Cfg)-1:0] level;
  logic [63:0] unused_count;
  logic [63:0] iv_q;

  assign ready_o = !walking_q;

  ameles_path_walk #(.LeafLevel(Cfg.leaf_level), .FirstLevel(Cfg.top_levels)) u_walk (
    .clk_i,
    .start_i(valid_i && ready_o), .path_i(job_i.path[leaf_bits(Cfg)-1:0]), .evictions_i('0),
    .next_i(bucket_done),
    .level_o(level), .last_o(last), .bucket_o(bucket), .right_o(unused_right), .count_o(unused_count)
  );

  ameles_bucket_masks #(.Cfg(Cfg)) u_masks (
    .clk_i, .rst_ni,
    .valid_i(walking_q), .ready_o(bucket_done), .iv_i(iv_q), .bucket_i(32'(bucket)), .level_i(level),
    .request
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) walking_q <= 1'b0;
    else if (!walking_q) walking_q <= valid_i;
    else if (bucket_done && last) walking_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (ready_o) iv_q <= job_i.iv;
  end

endmodule
