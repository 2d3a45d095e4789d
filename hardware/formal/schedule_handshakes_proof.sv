// A job that is offered stays until it is taken, if requests and random words stay, no error stops the controller meanwhile,
// and a job adds at most one block to the stash. A wrong answer of memory can break the last condition.
module schedule_handshakes_proof #(
  parameter bit Raw = 1'b1,
  parameter bit Wrong = 1'b0  // for a proof that must fail: a job may add more blocks
) (
  input logic            clk_i,
  input logic            stop_i,
  input logic            valid_i,
  input ameles_pkg::op_e  op_i,
  input logic [31:0]     block_i,
  input logic [31:0]     path_i,
  input logic [31:0]     leaf_i,
  input logic            more_i,
  input logic            random_valid_i,
  input logic [31:0]     random_i,
  input logic            done_i,
  input logic [2:0]      waiting_i,
  input logic            ready_i
);

  import ameles_pkg::*;

  localparam config_t Cfg = proof_pkg::tiny(Raw, 3, 2, 4, 1);

  logic rst_n, ready, random_ready, valid;
  job_t job;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_schedule #(.Cfg(Cfg)) u_schedule (
    .clk_i, .rst_ni(rst_n), .stop_i, .valid_i, .ready_o(ready), .op_i, .block_i, .path_i, .leaf_i, .more_i,
    .random_ready_o(random_ready), .random_valid_i, .random_i, .done_i, .waiting_i,
    .valid_o(valid), .ready_i, .job_o(job), .emergencies_o()
  );

  stays_until_ready #(.Width(100), .Assumed(1'b1)) u_requests (
    .clk_i, .rst_ni(rst_n), .valid_i, .ready_i(ready), .payload_i({op_i, block_i, path_i, leaf_i, more_i})
  );
  stays_until_ready #(.Width(32), .Assumed(1'b1)) u_random (
    .clk_i, .rst_ni(rst_n), .valid_i(random_valid_i), .ready_i(random_ready), .payload_i(random_i)
  );
  logic waits_q;
  always_ff @(posedge clk_i) waits_q <= rst_n && valid && !ready_i;
  always_comb begin
    assume (!(waits_q && stop_i));
    assume (!done_i || (u_schedule.ahead_q != '0
        && (Wrong || 32'(waiting_i) <= 32'(u_schedule.waiting_q) + 32'd1)));
    // There is always a random word.
    assume (random_valid_i);
  end

  // An eviction has no block, and Path ORAM does not count evictions.
  logic [67:0] of_request;
  assign of_request = job.evict ? '0 : {job.op, job.more, job.block, job.leaf};
  stays_until_ready #(.Width(229)) u_stays (
    .clk_i, .rst_ni(rst_n), .valid_i(valid), .ready_i,
    .payload_i({job.evict, of_request, job.path, job.iv, Raw ? job.evictions : '0})
  );

endmodule
