// Addresses of reads stay until memory takes them. If what was written is counted as lethe_write_back counts it: level by
// level, a path at most as one that has begun, and never back.
module read_issue_handshakes_proof #(
  parameter bit Raw = 1'b1,
  parameter int unsigned LeafLevel = 2,
  parameter int unsigned BlocksPerBucket = 2,
  parameter bit Wrong = 1'b0,  // for a proof that must fail: levels may be forgotten
  localparam lethe_pkg::config_t Cfg = proof_pkg::tiny(Raw, LeafLevel, BlocksPerBucket, 4, 1),
  localparam int unsigned LevelBits = $clog2(LeafLevel + 2)
) (
  input logic                 clk_i,
  input logic                 valid_i,
  input lethe_pkg::job_t      job_i,
  input logic [39:0]          base_i,
  input logic                 path_written_i,
  input logic                 level_written_i,
  input logic                 forget_i,
  input logic                 ar_ready_i,
  input logic                 begun_ready_i,
  input logic                 arriving_ready_i,
  input logic                 masks_ready_i
);

  logic rst_n, ready, ar_valid;
  logic [39:0] ar_address, base_q;
  logic [7:0] ar_length;
  logic [1:0] paths_q;
  logic [LevelBits-1:0] levels_q;
  first_cycle_reset u_reset (.clk_i, .rst_no(rst_n));
  lethe_read_issue #(.Cfg(Cfg)) u_read_issue (
    .clk_i, .rst_ni(rst_n), .valid_i, .ready_o(ready), .job_i, .base_i(base_q),
    .written_paths_i(paths_q), .written_levels_i(levels_q),
    .ar_valid_o(ar_valid), .ar_ready_i, .ar_address_o(ar_address), .ar_length_o(ar_length),
    .begun_valid_o(), .begun_ready_i, .path_valid_o(), .arriving_ready_i, .masks_ready_i,
    .begun_job_o(), .begun_on_chip_o()
  );

  // A path is written after it was read: as one walks, it is still open.
  logic [1:0] open;
  assign open = u_read_issue.paths_q - paths_q;
  always_comb assume (!path_written_i || open > 2'(u_read_issue.walking_q));
  always_comb assume (!level_written_i || (open > 2'(u_read_issue.walking_q) && 32'(levels_q) < LeafLevel));
  always_ff @(posedge clk_i or negedge rst_n) begin
    if (!rst_n) {paths_q, levels_q} <= '0;
    else if (path_written_i) {paths_q, levels_q} <= {paths_q + 1'b1, LevelBits'(0)};
    else if (level_written_i) levels_q <= levels_q + 1'b1;
    else if (Wrong && forget_i) levels_q <= '0;
  end
  always_ff @(posedge clk_i) if (!rst_n) base_q <= base_i;

  stays_until_ready #(.Width(48)) u_stays (
    .clk_i, .rst_ni(rst_n), .valid_i(ar_valid), .ready_i(ar_ready_i), .payload_i({ar_address, ar_length})
  );
  always_comb begin
    if (rst_n) begin
      // By induction.
      assert (open <= 2'd2 && open >= 2'(u_read_issue.walking_q));
      assert (u_read_issue.walking_q || !u_read_issue.u_burst.begun_q);
    end
  end

endmodule
