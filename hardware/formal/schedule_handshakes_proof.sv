// An offered job stays until it is taken. This needs three conditions. Requests and random words stay, no error stops
// the controller meanwhile, and a job adds at most one block to the stash. A wrong answer of memory can break the last
// condition.
module schedule_handshakes_proof #(
  parameter bit Raw = 1'b1,
  parameter bit Wrong = 1'b0  // for a proof that must fail: a job may add more blocks
) (
  input logic         clk_i,
  input logic [255:0] any_i
);

  localparam ameles_pkg::config_t Cfg = proof_pkg::tiny(Raw, 3, 2, 4, 1);

  logic rst_n;
  schedule_among_requests #(.Cfg(Cfg)) u_env (.clk_i, .any_i, .rst_no(rst_n));

  stays_until_ready #(.Width(100), .Assumed(1'b1)) u_requests (
    .clk_i, .rst_ni(rst_n), .valid_i(u_env.request.valid), .ready_i(u_env.request.ready),
    .payload_i(u_env.request.data)
  );
  stays_until_ready #(.Width(32), .Assumed(1'b1)) u_random (
    .clk_i, .rst_ni(rst_n), .valid_i(u_env.random.valid), .ready_i(u_env.random.ready),
    .payload_i(u_env.random.data)
  );
  logic waits_q;
  always_ff @(posedge clk_i) waits_q <= rst_n && u_env.job.valid && !u_env.job.ready;
  always_comb begin
    assume (!(waits_q && u_env.stop));
    assume (!u_env.done || (u_env.u_schedule.ahead_q != '0
        && (Wrong || 32'(u_env.waiting) <= 32'(u_env.u_schedule.waiting_q) + 32'd1)));
    // There is always a random word.
    assume (u_env.random.valid);
  end

  // An eviction has no block, and Path ORAM does not count evictions.
  ameles_pkg::job_t job;
  logic [67:0] of_request;
  assign job = u_env.job.data;
  assign of_request = job.evict ? '0 : {job.op, job.more, job.block, job.leaf};
  stays_until_ready #(.Width(229)) u_stays (
    .clk_i, .rst_ni(rst_n), .valid_i(u_env.job.valid), .ready_i(u_env.job.ready),
    .payload_i({job.evict, of_request, job.path, job.iv, Raw ? job.evictions : '0})
  );

endmodule
