// No IV is given twice until a count wraps around after 2^64: the paths of the schedule have the IVs 0, 1, 2 and so on, and
// its evictions the G 0, 1, 2 and so on, for any requests and any stash.
module schedule_masks_proof
  import ameles_pkg::*;
#(
  parameter bit Raw = 1'b1,
  parameter bit Wrong = 1'b0,  // for a proof that must fail: puts count as paths
  localparam config_t Cfg = '{
    scheme: Raw ? RawOram : PathOram, leaf_level: 3, blocks_per_bucket: 2, eviction_rate: 3,
    stash_blocks: 5, blocks: 8, block_bytes: 16, bus_bits: 128, aes_lanes: 1, mask_beats: 4,
    aes_double: 1'b0, aes_rom_rounds: 0, top_levels: 0, level_blocks: '0, subtree_levels: 0, scan_lanes: 1,
    capacity: 0, labels: 0, label_bits: 0, trusted: 0, look_aside: 0, tag_bits: 0, slot_cycles: 0, stall_cycles: 0
  }
) (
  input logic        clk_i,
  input logic        stop_i,
  input logic        valid_i,
  input op_e         op_i,
  input logic [31:0] block_i,
  input logic [31:0] path_i,
  input logic [31:0] leaf_i,
  input logic        more_i,
  input logic        random_valid_i,
  input logic [31:0] random_i,
  input logic        done_i,
  input logic [2:0]  waiting_i,
  input logic        ready_i
);

  logic rst_n, valid;
  job_t job;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  ameles_schedule #(.Cfg(Cfg)) u_schedule (
    .clk_i, .rst_ni(rst_n), .stop_i, .valid_i, .ready_o(), .op_i, .block_i, .path_i, .leaf_i, .more_i,
    .random_ready_o(), .random_valid_i, .random_i, .done_i, .waiting_i,
    .valid_o(valid), .ready_i, .job_o(job), .emergencies_o()
  );

  logic passes, is_path;
  logic [63:0] paths_q, evictions_q;
  assign passes = valid && ready_i;
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
    if (rst_n) assert (u_schedule.iv_q == paths_q && (!Raw || u_schedule.evictions_q == evictions_q));
    // An eviction of RAW ORAM takes the path of G.
    if (rst_n) assert (!(passes && Raw && job.evict) || job.path == eviction_path(Cfg, evictions_q));
  end

endmodule
