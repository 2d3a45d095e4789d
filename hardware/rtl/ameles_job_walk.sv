// A walk down the path of a job, one bucket after the other, from its first level in memory to its leaf.
//
// Interface: a job passes in when no other is walked. `next_i` goes on from a bucket, and ends the walk at the leaf.
//
// Timing: the first bucket is ready in the cycle after the job has passed. Between two jobs is a cycle without a bucket.
//
// Keeps: the walk.
module ameles_job_walk
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  ameles_stream_if.sink              job,  // `job_t`
  input  logic                       next_i,
  output logic                       valid_o,  // a bucket
  output logic [Cfg.leaf_level:0]    bucket_o,
  output logic [level_bits(Cfg)-1:0] level_o
);

  logic walking_q, last, unused_right;
  logic [63:0] unused_count;
  logic [leaf_bits(Cfg)-1:0] path;
  job_t asked;

  assign job.ready = !walking_q;
  assign valid_o = walking_q;
  assign asked = job.data;
  assign path = asked.path[leaf_bits(Cfg)-1:0];

  ameles_path_walk #(.LeafLevel(Cfg.leaf_level), .FirstLevel(Cfg.top_levels)) u_walk (
    .clk_i,
    .start_i(job.valid && job.ready), .path_i(path), .evictions_i('0),
    .next_i,
    .level_o, .last_o(last), .bucket_o, .right_o(unused_right), .count_o(unused_count)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) walking_q <= 1'b0;
    else if (!walking_q) walking_q <= job.valid;
    else if (next_i && last) walking_q <= 1'b0;
  end

endmodule
