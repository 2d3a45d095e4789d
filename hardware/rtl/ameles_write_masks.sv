// The requests for the masks of a path that will go back, made as soon as the path is known. They are those of each
// bucket, from the root.
//
// Interface: a job passes in; its requests pass out.
//
// Timing: the first request is ready in the cycle after the job has passed. Then there is a request per cycle as they
// are taken.
//
// Keeps: the walk down the path, and its IV.
module ameles_write_masks
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0
) (
  input logic             clk_i,
  input logic             rst_ni,
  ameles_stream_if.sink   job,  // `job_t`
  ameles_stream_if.source request
);

  logic walking, bucket_done;
  logic [Cfg.leaf_level:0] bucket;
  logic [level_bits(Cfg)-1:0] level;
  logic [63:0] iv_q;
  job_t asked;

  assign asked = job.data;

  ameles_job_walk #(.Cfg(Cfg)) u_walk (
    .clk_i, .rst_ni, .job, .next_i(bucket_done),
    .valid_o(walking), .bucket_o(bucket), .level_o(level)
  );

  ameles_bucket_masks #(.Cfg(Cfg)) u_masks (
    .clk_i, .rst_ni,
    .valid_i(walking), .ready_o(bucket_done), .iv_i(iv_q), .bucket_i(32'(bucket)), .level_i(level),
    .request
  );

  always_ff @(posedge clk_i) begin
    if (job.ready) iv_q <= asked.iv;
  end

endmodule
