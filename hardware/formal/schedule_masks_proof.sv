// No IV is given twice until a count wraps around after 2^64. For any requests and any stash, the paths of the schedule
// have the IVs 0, 1, 2 and so on. Its evictions have the G 0, 1, 2 and so on.
module schedule_masks_proof
  import ameles_pkg::*;
#(
  parameter bit Raw = 1'b1,
  parameter bit Wrong = 1'b0,  // for a proof that must fail: puts count as paths
  localparam config_t Cfg = proof_pkg::tiny(Raw, 3, 2, 5, 1, .eviction_rate(3))
) (
  input logic         clk_i,
  input logic [255:0] any_i
);

  logic rst_n;
  job_t job;
  schedule_among_requests #(.Cfg(Cfg)) u_env (.clk_i, .any_i, .rst_no(rst_n));
  assign job = u_env.job.data;

  logic passes, is_path;
  logic [63:0] paths_q, evictions_q;
  assign passes = u_env.job.valid && u_env.job.ready;
  assign is_path = job.evict || has_path(job.op) || Wrong;
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) {paths_q, evictions_q} <= '0;
    else if (passes) begin
      paths_q <= paths_q + 64'(is_path);
      evictions_q <= evictions_q + 64'(job.evict && Raw);
    end
  end

  always_comb begin
    if (rst_n) assert (!passes || (job.iv == paths_q && (!Raw || job.evictions == evictions_q)));
    // For the induction.
    if (rst_n) assert (u_env.u_schedule.iv_q == paths_q && (!Raw || u_env.u_schedule.evictions_q == evictions_q));
    // An eviction of RAW ORAM takes the path of G.
    if (rst_n) assert (!(passes && Raw && job.evict) || job.path == eviction_path(Cfg, evictions_q));
  end

endmodule
