// The schedule in an arbitrary environment: any requests, random words and reports of the stash at any times.
module schedule_among_requests
  import ameles_pkg::*;
#(
  parameter config_t Cfg = '0
) (
  input  logic         clk_i,
  input  logic [255:0] any_i,  // any behaviour of the environment in this cycle
  output logic         rst_no
);

  logic stop, request_valid, request_ready, random_valid, random_ready, done, job_valid, job_ready;
  request_t request;
  logic [31:0] random;
  logic [$clog2(Cfg.stash_blocks+2)-1:0] waiting;
  job_t job;
  assign {stop, request_valid, request, random_valid, random, done, waiting, job_ready} =
      any_i[36+$bits(request_t)+$bits(waiting):0];
  first_cycle_reset u_reset (.clk_i, .rst_no);
  ameles_schedule #(.Cfg(Cfg)) u_schedule (
    .clk_i, .rst_ni(rst_no), .stop_i(stop),
    .valid_i(request_valid), .ready_o(request_ready), .request_i(request),
    .random_ready_o(random_ready), .random_valid_i(random_valid), .random_i(random),
    .done_i(done), .waiting_i(waiting),
    .valid_o(job_valid), .ready_i(job_ready), .job_o(job), .emergencies_o()
  );

endmodule
