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

  logic stop, done;
  ameles_stream_if #(.word_t(request_t)) request ();
  ameles_stream_if #(.word_t(job_t)) job ();
  ameles_stream_if #(.word_t(logic [31:0])) random ();
  logic [$clog2(Cfg.stash_blocks+2)-1:0] waiting;
  assign {stop, request.valid, request.data, random.valid, random.data, done, waiting, job.ready} =
      any_i[36+$bits(request_t)+$bits(waiting):0];
  first_cycle_reset u_reset (.clk_i, .rst_no);
  ameles_schedule #(.Cfg(Cfg)) u_schedule (
    .clk_i, .rst_ni(rst_no), .stop_i(stop),
    .request, .random, .done_i(done), .waiting_i(waiting), .job, .emergencies_o()
  );

endmodule
